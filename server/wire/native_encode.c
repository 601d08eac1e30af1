#include "wire/native_encode.h"

#include "base/clock.h"

#define NATIVE_TAG(number, type) ((uint8_t)((number) << 3 | (type)))

enum native_type { NATIVE_VARINT = 0, NATIVE_BYTES = 2 };

static inline uint8_t *native_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Fields that hold their default are not written: proto3. */
static inline uint8_t *native_number(uint8_t *at, unsigned field, uint64_t value)
{
    if (value == 0) {
        return at;
    }
    *at++ = NATIVE_TAG(field, NATIVE_VARINT);
    return native_varint(at, value);
}

static inline uint8_t *native_bytes(uint8_t *at, unsigned field, const void *data, size_t size)
{
    if (size == 0) {
        return at;
    }
    *at++ = NATIVE_TAG(field, NATIVE_BYTES);
    at = native_varint(at, size);
    memcpy(at, data, size);
    return at + size;
}

/* Starts a message: its content goes where this points. */
static inline uint8_t *native_open(uint8_t *at, unsigned field)
{
    *at = NATIVE_TAG(field, NATIVE_BYTES);
    return at + 2;
}

/* Puts the length in front of the content, which moves over when one byte is too little. */
static inline uint8_t *native_close(uint8_t *content, uint8_t *end)
{
    size_t size = (size_t)(end - content);
    if (size < 0x80) {
        content[-1] = (uint8_t)size;
        return end;
    }
    uint8_t length[LIMITS_VARINT_BYTES_MAX];
    size_t more = (size_t)(native_varint(length, size) - length) - 1;
    memmove(content + more, content, size);
    memcpy(content - 1, length, more + 1);
    return end + more;
}

static inline uint8_t *native_duration(uint8_t *at, unsigned field, int64_t ns)
{
    uint8_t *content = native_open(at, field);
    at = native_number(content, 1, (uint64_t)(ns / CLOCK_NS_PER_S));
    at = native_number(at, 2, (uint64_t)(ns % CLOCK_NS_PER_S));
    return native_close(content, at);
}

/* A duration that may be DECISION_ABSENT or DECISION_NEVER: neither is written. */
static inline uint8_t *native_optional_duration(uint8_t *at, unsigned field, int64_t ns)
{
    return ns < 0 ? at : native_duration(at, field, ns);
}

static uint8_t *native_row(uint8_t *at, const struct decision_row *row)
{
    const char *algorithm = limiter_algorithm_name(row->algorithm);
    uint8_t *content = native_open(at, 9);
    at = native_bytes(content, 1, row->limit_name.data, row->limit_name.size);
    at = native_number(at, 2, row->allowed);
    at = native_number(at, 3, row->limit);
    at = native_number(at, 4, row->remaining);
    at = native_optional_duration(at, 5, row->retry_after_ns);
    at = native_optional_duration(at, 6, row->reset_after_ns);
    if (row->delay_ns > 0) {
        at = native_duration(at, 7, row->delay_ns);
    }
    at = native_number(at, 8, row->shadow);
    at = native_duration(at, 9, row->window_ns);
    at = native_bytes(at, 10, algorithm, strlen(algorithm));
    return native_close(content, at);
}

/* The fields of a ShouldAllowResponse. */
static inline uint8_t *native_fields(uint8_t *at, const struct decision *decision)
{
    const struct decision_row *shown = &decision->shown;
    at = native_number(at, 1, shown->allowed);
    at = native_number(at, 2, shown->limit);
    at = native_number(at, 3, shown->remaining);
    at = native_optional_duration(at, 4, shown->retry_after_ns);
    at = native_optional_duration(at, 5, shown->reset_after_ns);
    if (shown->delay_ns > 0) {
        at = native_duration(at, 6, shown->delay_ns);
    }
    at = native_bytes(at, 7, shown->limit_name.data, shown->limit_name.size);
    at = native_number(at, 8, (uint64_t)shown->reason);
    for (uint32_t i = 0; i < decision->row_count; i++) {
        at = native_row(at, &decision->rows[i]);
    }
    return at;
}

static inline uint8_t *native_answer(uint8_t *at, unsigned field,
                                     const struct decision *decision)
{
    uint8_t *content = native_open(at, field);
    return native_close(content, native_fields(content, decision));
}

static uint8_t *native_failure(uint8_t *at, unsigned field, const struct request_error *error)
{
    uint8_t *content = native_open(at, field);
    at = native_number(content, 1, (uint64_t)error->code);
    at = native_bytes(at, 2, error->field, strlen(error->field));
    at = native_bytes(at, 3, error->message, strlen(error->message));
    return native_close(content, at);
}

uint8_t *native_encode_decision(uint8_t *at, uint64_t id, enum native_encode_body body,
                                const struct decision *decision)
{
    uint8_t *content = at + 1;
    return native_close(content, native_answer(native_number(content, 1, id), body, decision));
}

uint8_t *native_encode_error(uint8_t *at, uint64_t id, const struct request_error *error)
{
    uint8_t *content = at + 1;
    return native_close(content, native_failure(native_number(content, 1, id),
                                                NATIVE_ENCODE_ERROR, error));
}

uint8_t *native_encode_message(uint8_t *at, const struct decision *decision)
{
    return native_fields(at, decision);
}

uint8_t *native_encode_result(uint8_t *at, const struct decision *decision)
{
    uint8_t *content = native_open(at, 1);
    return native_close(content, native_answer(content, 1, decision));
}

uint8_t *native_encode_result_error(uint8_t *at, const struct request_error *error)
{
    uint8_t *content = native_open(at, 1);
    return native_close(content, native_failure(content, 2, error));
}

uint8_t *native_encode_batch_begin(uint8_t *at, uint64_t id)
{
    return native_open(native_number(at + 1, 1, id), NATIVE_ENCODE_BATCH);
}

uint8_t *native_encode_batch_end(uint8_t *begin, uint64_t id, uint8_t *end)
{
    uint8_t *content = begin + 1;
    uint8_t *results = native_open(native_number(content, 1, id), NATIVE_ENCODE_BATCH);
    return native_close(content, native_close(results, end));
}
