/* Recorded traffic, read one request at a time: what `sluice simulate` decides again and
 * `sluice bench --traffic` sends.
 *
 *   traffic.c         the iterator: tells the format, reports and skips what cannot be read
 *   traffic_lines.c   bytes -> lines, in bounded memory
 *   traffic_json.c    one NDJSON line -> one item
 *   traffic_csv.c     one CSV line -> one item
 *   traffic_log.c     one access-log line -> one item
 *   traffic_sorted.c  a whole access log in memory, by time
 *   traffic_fields.c  times, costs and base64, as all of them spell them
 *
 * NDJSON and CSV stream: ten million lines need no more memory than ten. Access logs are written
 * when an answer ends, so they are sorted by time (stable) and for that held in memory. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "base/buf.h"
#include "engine/request.h"

#include <stdio.h>

struct traffic;

enum traffic_format {
    TRAFFIC_DETECT, /* tell from the content */
    TRAFFIC_NDJSON,
    TRAFFIC_CSV,
    TRAFFIC_COMBINED,
    TRAFFIC_COMMON
};

/* What stands for the key in an access log. */
enum traffic_key { TRAFFIC_ADDRESS, TRAFFIC_USER, TRAFFIC_USER_AGENT };

/* What stands for the route in an access log: "GET /path" or "/path". */
enum traffic_route { TRAFFIC_METHOD_PATH, TRAFFIC_PATH };

enum traffic_op {
    TRAFFIC_ALLOW,
    TRAFFIC_REFUND,
    TRAFFIC_RESET,
    TRAFFIC_RELOAD,
    TRAFFIC_ACQUIRE,
    TRAFFIC_RENEW,
    TRAFFIC_RELEASE
};

struct traffic_options {
    const char *path; /* "-" or NULL: standard input */
    enum traffic_format format;
    enum traffic_key key;
    enum traffic_route route;
    bool has_cost;  /* `cost` for every access-log line; other formats name their own */
    uint64_t cost;
    FILE *complaints; /* a line for each line that cannot be read; NULL: none */
};

/* One line of traffic. Bytes belong to the reader and hold until the next traffic_next. */
struct traffic_item {
    uint64_t line; /* in the file, from 1 */
    int64_t t_ns;
    enum traffic_op op;
    struct request request; /* cost_invalid where the cost is a number that no request may have */
    struct slice lease_id;
    bool has_limits_file; /* reload: one of the two */
    bool has_limits;
    struct slice limits_file;
    struct slice limits;
};

enum traffic_result {
    TRAFFIC_ITEM,
    TRAFFIC_END,
    TRAFFIC_FAILED /* reading failed or memory ran out; *message says so */
};

/* NULL: *message says why in one sentence (no such file, an unknown format, a bad CSV header). */
struct traffic *traffic_open(const struct traffic_options *options, struct buf *message);
enum traffic_result traffic_next(struct traffic *traffic, struct traffic_item *item,
                                 struct buf *message);
void traffic_close(struct traffic **traffic);

/* Lines that were skipped so far because they could not be read. */
uint64_t traffic_unreadable(const struct traffic *traffic);
/* For a progress bar: bytes read so far, and of how many (0: not known). */
uint64_t traffic_bytes_read(const struct traffic *traffic);
uint64_t traffic_bytes_total(const struct traffic *traffic);

/* "ndjson" … -> format; false: not one of them. */
bool traffic_parse_format(const char *text, enum traffic_format *out);
/* "ndjson" … ; the format in use once opened. */
const char *traffic_format_name(enum traffic_format format);
enum traffic_format traffic_format_used(const struct traffic *traffic);
/* "allow", "refund" … */
const char *traffic_op_name(enum traffic_op op);

#endif
