/* Bytes of a file, line by line. A line may hold any byte but \n; \r before it is dropped. */
#ifndef TRAFFIC_LINES_H
#define TRAFFIC_LINES_H

#include "base/buf.h"

struct traffic_lines {
    int fd;
    bool owns_fd;
    bool at_end;    /* the file has no more bytes */
    bool skipping;  /* inside a line that was too long */
    size_t taken;   /* bytes of the latest line, to be dropped before the next */
    size_t scanned; /* bytes behind it already known to hold no newline */
    uint64_t number; /* of the latest line, from 1 */
    uint64_t bytes_read;
    struct buf buf;
};

enum traffic_lines_result {
    TRAFFIC_LINES_LINE,
    TRAFFIC_LINES_TOO_LONG, /* a line above LIMITS_TRAFFIC_LINE_BYTES_MAX was skipped */
    TRAFFIC_LINES_END,
    TRAFFIC_LINES_FAILED /* errno says why */
};

/* `path` NULL or "-": standard input. False: errno says why. */
bool traffic_lines_open(struct traffic_lines *lines, const char *path);
void traffic_lines_close(struct traffic_lines *lines);

/* *line holds until the next call. */
enum traffic_lines_result traffic_lines_next(struct traffic_lines *lines, struct slice *line);

/* The first bytes of the file, before any line is taken; a byte-order mark is dropped. False:
 * reading failed, errno says why. */
bool traffic_lines_peek(struct traffic_lines *lines, struct slice *head);

#endif
