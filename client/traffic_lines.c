#include "traffic_lines.h"

#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)256 * 1024)

bool traffic_lines_open(struct traffic_lines *lines, const char *path)
{
    *lines = (struct traffic_lines){.fd = STDIN_FILENO};
    buf_init(&lines->buf, 0);
    if (path == NULL || strcmp(path, "-") == 0) {
        return true;
    }
    lines->fd = open(path, O_RDONLY | O_CLOEXEC);
    lines->owns_fd = lines->fd >= 0;
    return lines->owns_fd;
}

void traffic_lines_close(struct traffic_lines *lines)
{
    if (lines->owns_fd) {
        (void)close(lines->fd);
    }
    lines->owns_fd = false;
    buf_deinit(&lines->buf);
}

/* One more chunk behind what is there. False: failed. */
static bool fill(struct traffic_lines *lines)
{
    uint8_t *room = buf_reserve(&lines->buf, CHUNK_BYTES);
    if (room == NULL) {
        errno = ENOMEM;
        return false;
    }
    ssize_t got;
    do {
        got = read(lines->fd, room, CHUNK_BYTES);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return false;
    }
    lines->at_end = got == 0;
    lines->bytes_read += (uint64_t)got;
    buf_commit(&lines->buf, (size_t)got);
    return true;
}

bool traffic_lines_peek(struct traffic_lines *lines, struct slice *head)
{
    while (lines->buf.size < CHUNK_BYTES / 4 && !lines->at_end) {
        if (!fill(lines)) {
            return false;
        }
    }
    if (lines->buf.size >= 3 &&
        memcmp(lines->buf.data + lines->buf.start, "\xEF\xBB\xBF", 3) == 0) {
        buf_consume(&lines->buf, 3);
    }
    *head = buf_slice(&lines->buf);
    return true;
}

static struct slice without_return(const uint8_t *data, size_t size)
{
    return slice_make(data, size > 0 && data[size - 1] == '\r' ? size - 1 : size);
}

/* The line that ends `size` bytes in; `taken` counts its newline too. */
static enum traffic_lines_result take(struct traffic_lines *lines, size_t size, size_t taken,
                                      struct slice *line)
{
    lines->taken = taken;
    lines->scanned = 0;
    lines->number++;
    if (lines->skipping || size > LIMITS_TRAFFIC_LINE_BYTES_MAX) {
        lines->skipping = false;
        return TRAFFIC_LINES_TOO_LONG;
    }
    *line = without_return(lines->buf.data + lines->buf.start, size);
    return TRAFFIC_LINES_LINE;
}

enum traffic_lines_result traffic_lines_next(struct traffic_lines *lines, struct slice *line)
{
    buf_consume(&lines->buf, lines->taken);
    lines->taken = 0;
    for (;;) {
        struct slice rest = buf_slice(&lines->buf);
        size_t fresh = rest.size - lines->scanned;
        const uint8_t *end =
            fresh > 0 ? memchr(rest.data + lines->scanned, '\n', fresh) : NULL;
        if (end != NULL) {
            size_t size = (size_t)(end - rest.data);
            return take(lines, size, size + 1, line);
        }
        if (lines->at_end) {
            bool last = rest.size > 0 || lines->skipping;
            return last ? take(lines, rest.size, rest.size, line) : TRAFFIC_LINES_END;
        }
        lines->scanned = rest.size;
        if (rest.size > LIMITS_TRAFFIC_LINE_BYTES_MAX) {
            buf_consume(&lines->buf, rest.size);
            lines->scanned = 0;
            lines->skipping = true;
        }
        if (!fill(lines)) {
            return TRAFFIC_LINES_FAILED;
        }
    }
}
