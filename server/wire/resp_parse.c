/* Redis's own reader, with firmer bounds: the phrases of its protocol errors are kept where it has
 * one. Unlike there, what stands behind a bulk string must be its end of line: otherwise a length
 * that is off by one would cut all further commands wrongly. */
#include "wire/resp_parse.h"

#include "wire/resp_inline.h"

#include <stdio.h>

/* "*64\r\n" or "$65536\r\n": what a header line may take before its end must have come. */
#define HEADER_BYTES 24

struct cursor {
    struct slice in;
    size_t at;
    char *why;
};

static enum resp_parse_result broken(const struct cursor *cursor, const char *why)
{
    (void)snprintf(cursor->why, RESP_PARSE_WHY_BYTES, "%s", why);
    return RESP_PARSE_BROKEN;
}

static enum resp_parse_result unexpected(const struct cursor *cursor, uint8_t got)
{
    const char *format = got > ' ' && got < 0x7f ? "expected '$', got '%c'"
                                                 : "expected '$', got '\\x%02x'";
    (void)snprintf(cursor->why, RESP_PARSE_WHY_BYTES, format, got);
    return RESP_PARSE_BROKEN;
}

/* A decimal number as Redis reads it: no plus, no leading zero, no blank. */
static bool read_number(struct slice text, int64_t *out)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    size_t first = negative ? 1 : 0;
    int64_t value = 0;
    if (text.size == first || text.size - first > 18 ||
        (text.data[first] == '0' && text.size > 1)) {
        return false;
    }
    for (size_t i = first; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        value = value * 10 + (text.data[i] - '0');
    }
    *out = negative ? -value : value;
    return true;
}

/* What nearly every header is: a type, a few digits, CRLF, all of it here. */
static inline bool read_plain_header(struct cursor *cursor, int64_t *out)
{
    const uint8_t *line = cursor->in.data + cursor->at;
    size_t left = cursor->in.size - cursor->at;
    uint32_t value = 0;
    size_t i = 1;
    while (i < left && i <= 6 && (uint8_t)(line[i] - '0') <= 9) {
        value = value * 10 + (uint32_t)(line[i++] - '0');
    }
    if (i == 1 || left - i < 2 || line[i] != '\r' || line[i + 1] != '\n' ||
        (line[1] == '0' && i > 2)) {
        return false;
    }
    *out = value;
    cursor->at += i + 2;
    return true;
}

/* The number of a header line; its first byte has been seen. `bad` and `endless` are the phrases
 * for what is no number and what does not end. */
static enum resp_parse_result read_header(struct cursor *cursor, const char *bad,
                                          const char *endless, int64_t *out)
{
    if (read_plain_header(cursor, out)) {
        return RESP_PARSE_COMMAND;
    }
    const uint8_t *line = cursor->in.data + cursor->at;
    size_t left = cursor->in.size - cursor->at;
    size_t most = left < HEADER_BYTES ? left : HEADER_BYTES;
    const uint8_t *end = memchr(line, '\r', most);
    if (end == NULL) {
        return left > HEADER_BYTES ? broken(cursor, endless) : RESP_PARSE_MORE;
    }
    size_t size = (size_t)(end - line);
    if (size + 1 == left) {
        return RESP_PARSE_MORE;
    }
    if (end[1] != '\n' || !read_number(slice_make(line + 1, size - 1), out)) {
        return broken(cursor, bad);
    }
    cursor->at += size + 2;
    return RESP_PARSE_COMMAND;
}

static enum resp_parse_result read_bulk(struct cursor *cursor, struct slice *out)
{
    static const char bad[] = "invalid bulk length";
    int64_t size;
    if (cursor->at == cursor->in.size) {
        return RESP_PARSE_MORE;
    }
    if (cursor->in.data[cursor->at] != '$') {
        return unexpected(cursor, cursor->in.data[cursor->at]);
    }
    enum resp_parse_result result =
        read_header(cursor, bad, "too big bulk count string", &size);
    if (result != RESP_PARSE_COMMAND) {
        return result;
    }
    if (size < 0 || size > (int64_t)LIMITS_RESP_COMMAND_BYTES_MAX ||
        (size_t)size + cursor->at > LIMITS_RESP_COMMAND_BYTES_MAX) {
        return broken(cursor, bad);
    }
    const uint8_t *end = cursor->in.data + cursor->at + size;
    size_t left = cursor->in.size - cursor->at;
    size_t behind = left > (size_t)size ? left - (size_t)size : 0;
    if ((behind > 0 && end[0] != '\r') || (behind > 1 && end[1] != '\n')) {
        return broken(cursor, "expected CRLF behind an argument; its length may be wrong");
    }
    if (behind < 2) {
        return RESP_PARSE_MORE;
    }
    *out = slice_make(cursor->in.data + cursor->at, (size_t)size);
    cursor->at += (size_t)size + 2;
    return RESP_PARSE_COMMAND;
}

static enum resp_parse_result read_array(struct cursor *cursor, struct resp_command *command)
{
    static const char bad[] = "invalid multibulk length";
    int64_t count;
    enum resp_parse_result result =
        read_header(cursor, bad, "too big mbulk count string", &count);
    if (result != RESP_PARSE_COMMAND) {
        return result;
    }
    if (count > LIMITS_RESP_ARGUMENTS_MAX) {
        return broken(cursor, "invalid multibulk length, a command has at most 64 arguments");
    }
    static_assert(LIMITS_RESP_ARGUMENTS_MAX == 64, "what the phrase says");
    if (count <= 0) {
        return RESP_PARSE_NOTHING;
    }
    command->count = (uint32_t)count;
    for (uint32_t i = 0; i < command->count; i++) {
        result = read_bulk(cursor, &command->arguments[i]);
        if (result != RESP_PARSE_COMMAND) {
            return result;
        }
    }
    return RESP_PARSE_COMMAND;
}

/* The first line of an HTTP request: a browser, or somebody who makes one send commands. */
static bool is_http(const struct resp_command *command)
{
    static const char version[] = "HTTP/";
    struct slice last = command->arguments[command->count == 3 ? 2 : 0];
    return command->count == 3 && last.size > sizeof(version) - 1 &&
           memcmp(last.data, version, sizeof(version) - 1) == 0;
}

/* A line of words. */
static enum resp_parse_result read_line(struct cursor *cursor, struct arena *arena,
                                        struct resp_command *command)
{
    size_t most = cursor->in.size < LIMITS_RESP_COMMAND_BYTES_MAX
                      ? cursor->in.size
                      : LIMITS_RESP_COMMAND_BYTES_MAX;
    const uint8_t *line = cursor->in.data;
    const uint8_t *end = memchr(line, '\n', most);
    if (line[0] < ' ' && line[0] != '\r' && line[0] != '\n' && line[0] != '\t') {
        return broken(cursor, "expected '*' or the name of a command");
    }
    if (end == NULL) {
        return most == LIMITS_RESP_COMMAND_BYTES_MAX ? broken(cursor, "too big inline request")
                                                     : RESP_PARSE_MORE;
    }
    cursor->at = (size_t)(end - line) + 1;
    size_t size = end > line && end[-1] == '\r' ? cursor->at - 2 : cursor->at - 1;
    const char *fault = resp_inline_split(slice_make(line, size), arena, command);
    if (fault != NULL) {
        return broken(cursor, fault);
    }
    if (is_http(command)) {
        return broken(cursor, "this address speaks the Redis protocol, not HTTP");
    }
    return command->count == 0 ? RESP_PARSE_NOTHING : RESP_PARSE_COMMAND;
}

enum resp_parse_result resp_parse_command(struct slice in, struct arena *arena,
                                          struct resp_command *command, size_t *used,
                                          char why[RESP_PARSE_WHY_BYTES])
{
    struct cursor cursor = {.in = in, .why = why};
    if (in.size == 0) {
        return RESP_PARSE_MORE;
    }
    enum resp_parse_result result = in.data[0] == '*' ? read_array(&cursor, command)
                                                      : read_line(&cursor, arena, command);
    if (result == RESP_PARSE_COMMAND || result == RESP_PARSE_NOTHING) {
        *used = cursor.at;
    }
    return result;
}
