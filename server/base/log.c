/* A line is put together on the caller's stack and leaves in one write(2), so lines of several
 * threads do not mix: no lock is needed, and nothing is allocated. */
#include "base/log.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"

#include <errno.h>
#include <unistd.h>

/* What a pipe takes in one piece (PIPE_BUF on Linux). */
#define LINE_BYTES 4096u
/* Kept free for what ends a line that had no room for all its fields. */
#define LINE_END_BYTES 32u
/* A value is cut after so many bytes: each takes at most six when escaped, so one always fits. */
#define VALUE_BYTES 600u

static struct {
    enum log_level level;
    bool json;
} log_config = {.level = LOG_LEVEL_INFO};

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};

void log_setup(enum log_level level, bool json)
{
    log_config.level = level;
    log_config.json = json;
}

bool log_parse_level(const char *text, enum log_level *out)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *out = (enum log_level)i;
            return true;
        }
    }
    return false;
}

/* Milliseconds always have three digits, so that lines sort and align. */
static void append_now(struct buf *line)
{
    int64_t now_ns = clock_now_ns();
    int64_t whole_ns = now_ns - now_ns % CLOCK_NS_PER_S;
    text_append_time(line, whole_ns);
    line->size -= 1; /* the Z goes behind the milliseconds */
    buf_printf(line, ".%03dZ", (int)((now_ns - whole_ns) / CLOCK_NS_PER_MS));
}

static bool needs_quotes(struct slice value)
{
    for (size_t i = 0; i < value.size; i++) {
        uint8_t byte = value.data[i];
        if (byte <= ' ' || byte >= 0x7F || byte == '"' || byte == '\\' || byte == '=') {
            return true;
        }
    }
    return value.size == 0;
}

static void append_text_value(struct buf *line, struct slice value)
{
    bool quoted = needs_quotes(value);
    if (quoted) {
        buf_append_byte(line, '"');
    }
    text_append_escaped(line, value, VALUE_BYTES);
    if (quoted) {
        buf_append_byte(line, '"');
    }
}

static void append_json_value(struct buf *line, struct slice value)
{
    if (value.size <= VALUE_BYTES) {
        text_append_json_string(line, value);
        return;
    }
    /* Cut between two characters, not inside one. */
    size_t size = VALUE_BYTES;
    while (size > VALUE_BYTES - 4 && (value.data[size] & 0xC0) == 0x80) {
        size--;
    }
    text_append_json_string(line, slice_make(value.data, size));
    line->size -= 1; /* the closing quote */
    buf_append_text(line, "...\"");
}

/* Appends one field whole, or nothing and says false. */
static bool append_field(struct buf *line, const char *key, struct slice value)
{
    size_t before = line->size;
    if (log_config.json) {
        buf_printf(line, ",\"%s\":", key);
        append_json_value(line, value);
    } else {
        buf_printf(line, " %s=", key);
        append_text_value(line, value);
    }
    if (line->failed) {
        line->failed = false;
        line->size = before;
        return false;
    }
    return true;
}

static void write_line(const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(STDERR_FILENO, data, size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return; /* There is nowhere left to complain to. */
        }
        data += written;
        size -= (size_t)written;
    }
}

void log_event(enum log_level level, const char *event, const struct log_field *fields,
               uint32_t count)
{
    if (level > log_config.level) {
        return;
    }
    int saved_errno = errno;
    uint8_t bytes[LINE_BYTES];
    /* With its ceiling at its capacity the buffer never asks for memory. */
    struct buf line = {
        .data = bytes, .capacity = sizeof(bytes), .max_bytes = sizeof(bytes) - LINE_END_BYTES};

    buf_append_text(&line, log_config.json ? "{\"time\":\"" : "time=");
    append_now(&line);
    buf_append_text(&line, log_config.json ? "\"" : "");
    (void)append_field(&line, "level", slice_text(level_names[level]));
    bool whole = append_field(&line, "event", slice_text(event));
    for (uint32_t i = 0; i < count; i++) {
        whole &= append_field(&line, fields[i].key, fields[i].value);
    }

    line.max_bytes = sizeof(bytes);
    if (!whole) {
        buf_append_text(&line, log_config.json ? ",\"truncated\":true" : " truncated=true");
    }
    buf_append_text(&line, log_config.json ? "}\n" : "\n");
    write_line(line.data, line.size);
    errno = saved_errno;
}
