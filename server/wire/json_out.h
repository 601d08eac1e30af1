/* The JSON of the HTTP API, written straight into memory that is known to be large enough: each
 * function writes at `at` and returns the end. Times are whole milliseconds, rounded up. */
#ifndef WIRE_JSON_OUT_H
#define WIRE_JSON_OUT_H

#include "base/limits.h"
#include "engine/request.h"

#define JSON_OUT_NUMBER_BYTES 20u /* the digits of 2^64 - 1 */
/* The most that one byte becomes: \u001f. */
#define JSON_OUT_ESCAPED_BYTES 6u
/* Every member's name with its quotes and commas, 4 durations, 2 numbers, 2 names. */
#define JSON_OUT_ROW_BYTES (384u + LIMITS_LIMIT_NAME_BYTES_MAX)
#define JSON_OUT_ERROR_BYTES \
    (64u + JSON_OUT_ESCAPED_BYTES * (LIMITS_FIELD_BYTES_MAX + LIMITS_MESSAGE_BYTES_MAX))

/* The most that json_out_decision writes. */
static inline size_t json_out_decision_bytes(const struct decision *decision)
{
    return JSON_OUT_ROW_BYTES * (size_t)(1 + decision->row_count);
}

/* As it stands, no quotes. Here, so that a literal's length is known to the compiler. */
static inline uint8_t *json_out_text(uint8_t *at, const char *text)
{
    size_t size = strlen(text);
    memcpy(at, text, size);
    return at + size;
}

uint8_t *json_out_number(uint8_t *at, uint64_t number);
/* With quotes, escaped; bytes that are not UTF-8 become U+FFFD. Needs JSON_OUT_ESCAPED_BYTES a
 * byte, and 2. */
uint8_t *json_out_string(uint8_t *at, struct slice text);

/* {"allowed":…,"reason":…}, with its rows only if `details`. */
uint8_t *json_out_decision(uint8_t *at, const struct decision *decision, bool details);
/* The members alone, without the braces. */
uint8_t *json_out_decision_members(uint8_t *at, const struct decision *decision, bool details);
/* [{"limit_name":…},…]. */
uint8_t *json_out_rows(uint8_t *at, const struct decision *decision);

/* {"code":"INVALID_ARGUMENT","field":"key","message":"…"}, as a batch's member has it. */
uint8_t *json_out_error(uint8_t *at, const struct request_error *error);

#endif
