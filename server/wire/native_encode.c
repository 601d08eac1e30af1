#include "wire/native_encode.h"

#include "base/clock.h"

#include <endian.h>

#define NATIVE_TAG(number, type) ((uint8_t)((number) << 3 | (type)))

enum native_type { NATIVE_VARINT = 0, NATIVE_BYTES = 2 };

static inline uint8_t *native_long_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* The low 56 bits, seven in each byte of eight. */
static inline uint64_t native_spread(uint64_t value)
{
    value = (value & UINT64_C(0x000000000fffffff)) | (value & UINT64_C(0x00fffffff0000000)) << 4;
    value = (value & UINT64_C(0x00003fff00003fff)) | (value & UINT64_C(0x0fffc0000fffc000)) << 2;
    return (value & UINT64_C(0x007f007f007f007f)) | (value & UINT64_C(0x3f803f803f803f80)) << 1;
}

/* Numbers of two to eight bytes are written all at once, with no branch on their size: that of a
 * count of nanoseconds cannot be foretold. The bytes behind it come next. */
static inline uint8_t *native_varint(uint8_t *at, uint64_t value)
{
    if (value < 0x80) {
        *at = (uint8_t)value;
        return at + 1;
    }
    if (value >> 56 != 0) {
        return native_long_varint(at, value);
    }
    unsigned size = ((63u - (unsigned)__builtin_clzll(value)) * 9 + 73) / 64;
    uint64_t more = UINT64_C(0x8080808080808080) >> (8 * (9 - size));
    uint64_t bytes = htole64(native_spread(value) | more);
    memcpy(at, &bytes, sizeof(bytes));
    return at + size;
}

/* Names are short, so two moves that overlap copy nearly all of them. */
static inline void native_copy(uint8_t *at, const uint8_t *data, size_t size)
{
    uint64_t words[2];
    uint32_t halves[2];
    if (size >= sizeof(words[0]) && size <= sizeof(words)) {
        memcpy(&words[0], data, sizeof(words[0]));
        memcpy(&words[1], data + size - sizeof(words[1]), sizeof(words[1]));
        memcpy(at, &words[0], sizeof(words[0]));
        memcpy(at + size - sizeof(words[1]), &words[1], sizeof(words[1]));
    } else if (size >= sizeof(halves[0]) && size < sizeof(words[0])) {
        memcpy(&halves[0], data, sizeof(halves[0]));
        memcpy(&halves[1], data + size - sizeof(halves[1]), sizeof(halves[1]));
        memcpy(at, &halves[0], sizeof(halves[0]));
        memcpy(at + size - sizeof(halves[1]), &halves[1], sizeof(halves[1]));
    } else {
        memcpy(at, data, size);
    }
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
    native_copy(at, data, size);
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
    at = native_number(content, 1, (uint64_t)ns / CLOCK_NS_PER_S);
    at = native_number(at, 2, (uint64_t)ns % CLOCK_NS_PER_S);
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
    uint8_t *at = content;
    /* The results stand behind it already: not a byte more than the number has. */
    if (id != 0) {
        *at = NATIVE_TAG(1, NATIVE_VARINT);
        at = native_long_varint(at + 1, id);
    }
    uint8_t *results = native_open(at, NATIVE_ENCODE_BATCH);
    return native_close(content, native_close(results, end));
}
