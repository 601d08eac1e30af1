/* Reading and writing the small texts that people meet: whole numbers, durations, sizes,
 * instants, escaped bytes. Used by the limits file, options, logs and printed answers alike. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buf.h"
#include "base/slice.h"
#include "base/status.h"

/* Digits only ("0", "60"; no sign, no leading zero, no blank), at most UINT64_MAX.
 * STATUS_INVALID for anything else, STATUS_TOO_LARGE for digits above UINT64_MAX. */
STATUS_CHECKED enum status text_parse_u64(struct slice text, uint64_t *out);
/* The same with single `_` allowed between digits (the limits file's whole numbers). */
STATUS_CHECKED enum status text_parse_grouped_u64(struct slice text, uint64_t *out);

/* One or more <whole number><unit>, units falling: w d h m s ms us ns. On failure *why says what
 * was wrong in a static phrase that completes `window "10": `, such as "needs a unit, such as 10s";
 * STATUS_TOO_LARGE above 2^63 - 1 ns. */
STATUS_CHECKED enum status text_parse_duration_ns(struct slice text, int64_t *out,
                                                  const char **why);
/* "6.2s", "0s": always seconds, with up to 9 decimals and no trailing zeros. */
void text_append_seconds(struct buf *out, int64_t ns);
/* The limits file's own form: "1h30m", "250ms". */
void text_append_duration(struct buf *out, int64_t ns);

/* 1024-based: "512MiB", "1GiB", "64KiB", plain bytes "4096". */
STATUS_CHECKED enum status text_parse_size(struct slice text, uint64_t *out);

/* RFC 3339 with a zone and up to 9 decimals -> ns since the epoch. STATUS_INVALID otherwise
 * (a date alone, a local time, 30 February), which stores nothing. Outside what 64 bits of ns hold
 * (1677 … 2262): STATUS_TOO_LARGE and the nearest instant that they do. A leap second (60, at the
 * end of a UTC day) counts as the next second's start. */
STATUS_CHECKED enum status text_parse_time_ns(struct slice text, int64_t *out);
/* "2026-01-01T00:00:00Z", with decimals only when there are any. */
void text_append_time(struct buf *out, int64_t ns);

/* Appends "..." as JSON: control bytes, quote and backslash escaped; bytes that are not UTF-8
 * become U+FFFD. */
void text_append_json_string(struct buf *out, struct slice text);
/* Appends text for a log line or an error sentence: printable ASCII and valid UTF-8 letters as
 * they are, everything else (controls, quote, backslash, bad UTF-8) as \n \t \" \\ \xHH; cut
 * after max_bytes input bytes with "...". No byte from a peer can forge a line. */
void text_append_escaped(struct buf *out, struct slice text, size_t max_bytes);

/* The word of `words` (NULL-terminated) nearest to `text` by edit distance (at most 2, and less
 * than the word's length), or NULL: "did you mean ...?". */
const char *text_nearest(struct slice text, const char *const *words);

#endif
