/* The daemon's log: one line an event on stderr, `key=value` (or JSON), safe from any thread.
 * No byte from a peer appears unescaped: every value passes through text_append_escaped. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/slice.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* One key and its value. */
struct log_field {
    const char *key;
    struct slice value;
};

/* Before other threads run. */
void log_setup(enum log_level level, bool json);

/* time=2026-01-01T00:00:00.123Z level=info event="limits reloaded" file=... */
void log_event(enum log_level level, const char *event, const struct log_field *fields,
               uint32_t count);

#define LOG_EVENT(level, event, ...) \
    log_event((level), (event), (const struct log_field[]){__VA_ARGS__}, \
              (uint32_t)(sizeof((const struct log_field[]){__VA_ARGS__}) / \
                         sizeof(struct log_field)))

bool log_parse_level(const char *text, enum log_level *out); /* error warn info debug */

#endif
