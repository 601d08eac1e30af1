#include "wire/http1_chunked.h"

#include "wire/http1_head.h"

/* The most that a body takes with its framing; what its adapter's input has to hold. */
#define CHUNKED_BYTES_MAX(bytes_max) (2 * (bytes_max))

static enum http1_chunked_result chunked_bad(struct http1_chunked *chunked, const char *detail)
{
    chunked->detail = detail;
    return HTTP1_CHUNKED_BAD;
}

/* The line at chunked->at, without its CR LF. */
static enum http1_chunked_result chunked_line(struct http1_chunked *chunked, struct slice in,
                                              size_t most, struct slice *line)
{
    size_t left = in.size - chunked->at;
    size_t look = left < most ? left : most;
    const uint8_t *from = in.data + chunked->at;
    const uint8_t *end = look == 0 ? NULL : memchr(from, '\n', look);
    if (end == NULL) {
        return left < most ? HTTP1_CHUNKED_MORE
                           : chunked_bad(chunked, "a chunk's line is too long");
    }
    size_t size = (size_t)(end - from);
    if (size == 0 || from[size - 1] != '\r') {
        return chunked_bad(chunked, "a chunk's line must end in CR LF");
    }
    *line = slice_make(from, size - 1);
    return HTTP1_CHUNKED_OK;
}

static int chunked_hex(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Hexadecimal digits, then nothing or a semicolon and extensions, which say nothing to us. */
static bool chunked_size(struct slice line, size_t *size)
{
    size_t at = 0;
    *size = 0;
    while (at < line.size && at < 8 && chunked_hex(line.data[at]) >= 0) {
        *size = *size * 16 + (size_t)chunked_hex(line.data[at++]);
    }
    if (at == 0 || (at < line.size && line.data[at] != ';')) {
        return false;
    }
    for (; at < line.size; at++) {
        if (line.data[at] < 0x20 && line.data[at] != '\t') {
            return false;
        }
    }
    return true;
}

/* One chunk with its data. */
static enum http1_chunked_result chunked_one(struct http1_chunked *chunked, struct slice in,
                                             size_t bytes_max)
{
    struct slice line;
    size_t size;
    enum http1_chunked_result result =
        chunked_line(chunked, in, LIMITS_HTTP_CHUNK_LINE_BYTES_MAX, &line);
    if (result != HTTP1_CHUNKED_OK) {
        return result;
    }
    if (!chunked_size(line, &size)) {
        return chunked_bad(chunked, "a chunk begins with its size in hexadecimal digits");
    }
    if (size > bytes_max - chunked->bytes ||
        chunked->at + size > CHUNKED_BYTES_MAX(bytes_max)) {
        return HTTP1_CHUNKED_TOO_LONG;
    }
    size_t data = chunked->at + line.size + 2;
    if (size == 0) {
        chunked->trailer = true;
        chunked->at = data;
        return HTTP1_CHUNKED_OK;
    }
    size_t here = in.size - data;
    bool wrong = (here > size && in.data[data + size] != '\r') ||
                 (here > size + 1 && in.data[data + size + 1] != '\n');
    if (wrong) {
        return chunked_bad(chunked, "a chunk's data must end in CR LF");
    }
    if (here < size + 2) {
        return HTTP1_CHUNKED_MORE;
    }
    chunked->bytes += size;
    chunked->at = data + size + 2;
    return HTTP1_CHUNKED_OK;
}

/* Trailers are read as fields are, and forgotten. */
static enum http1_chunked_result chunked_trailer(struct http1_chunked *chunked, struct slice in,
                                                 bool *ended)
{
    uint8_t name[LIMITS_HTTP_HEAD_BYTES_MAX];
    struct http_header field;
    struct slice line;
    enum http1_chunked_result result =
        chunked_line(chunked, in, LIMITS_HTTP_HEAD_BYTES_MAX, &line);
    if (result != HTTP1_CHUNKED_OK) {
        return result;
    }
    *ended = line.size == 0;
    if (!*ended && !http1_head_field(line, name, &field)) {
        return chunked_bad(chunked, "a trailer must be NAME: VALUE");
    }
    chunked->at += line.size + 2;
    return HTTP1_CHUNKED_OK;
}

enum http1_chunked_result http1_chunked_look(struct http1_chunked *chunked, struct slice in,
                                             size_t bytes_max)
{
    enum http1_chunked_result result = HTTP1_CHUNKED_OK;
    bool ended = false;
    while (result == HTTP1_CHUNKED_OK && !ended) {
        if (chunked->at > CHUNKED_BYTES_MAX(bytes_max)) {
            return HTTP1_CHUNKED_TOO_LONG;
        }
        result = chunked->trailer ? chunked_trailer(chunked, in, &ended)
                                  : chunked_one(chunked, in, bytes_max);
    }
    return result;
}

void http1_chunked_join(struct slice in, uint8_t *to)
{
    struct http1_chunked chunked = {0};
    struct slice line;
    size_t size;
    while (chunked_line(&chunked, in, LIMITS_HTTP_CHUNK_LINE_BYTES_MAX, &line) ==
               HTTP1_CHUNKED_OK &&
           chunked_size(line, &size) && size > 0) {
        memcpy(to, line.data + line.size + 2, size);
        to += size;
        chunked.at += line.size + 2 + size + 2;
    }
}
