#include "wire/resp_reply.h"

#include "base/clock.h"
#include "base/text.h"

/* Two digits at a time: numbers are most of what is written here. */
static inline uint8_t *put_digits(uint8_t *at, uint64_t value)
{
    static const char pairs[] = "00010203040506070809" "10111213141516171819"
                                "20212223242526272829" "30313233343536373839"
                                "40414243444546474849" "50515253545556575859"
                                "60616263646566676869" "70717273747576777879"
                                "80818283848586878889" "90919293949596979899";
    uint8_t digits[20];
    uint8_t *first = digits + sizeof(digits);
    if (value < 10) {
        *at = (uint8_t)('0' + value);
        return at + 1;
    }
    while (value >= 100) {
        first -= 2;
        memcpy(first, &pairs[2 * (value % 100)], 2);
        value /= 100;
    }
    if (value >= 10) {
        first -= 2;
        memcpy(first, &pairs[2 * value], 2);
    } else {
        *--first = (uint8_t)('0' + value);
    }
    size_t size = (size_t)(digits + sizeof(digits) - first);
    memcpy(at, first, size);
    return at + size;
}

static inline uint8_t *put_end(uint8_t *at)
{
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

static inline uint8_t *put_counted(uint8_t *at, uint8_t type, uint64_t value)
{
    *at++ = type;
    return put_end(put_digits(at, value));
}

static uint8_t *put_number(uint8_t *at, uint64_t value)
{
    return put_counted(at, ':', value);
}

static uint8_t *put_none(uint8_t *at)
{
    memcpy(at, ":-1\r\n", 5);
    return at + 5;
}

static uint8_t *put_bulk(uint8_t *at, struct slice bytes)
{
    at = put_counted(at, '$', bytes.size);
    if (bytes.size > 0) {
        memcpy(at, bytes.data, bytes.size);
    }
    return put_end(at + bytes.size);
}

static uint64_t round_up(int64_t ns, int64_t unit_ns)
{
    return (uint64_t)(ns / unit_ns + (ns % unit_ns > 0));
}

uint8_t *resp_reply_throttle(uint8_t *at, const struct engine_throttle_answer *answer)
{
    at = put_counted(at, '*', 5);
    at = put_number(at, answer->limited);
    at = put_number(at, answer->limit);
    at = put_number(at, answer->remaining);
    at = answer->limited && !answer->never
             ? put_number(at, round_up(answer->retry_after_ns, CLOCK_NS_PER_S))
             : put_none(at);
    return put_number(at, round_up(answer->reset_after_ns, CLOCK_NS_PER_S));
}

/* Absent and never are -1. */
static uint8_t *put_ms(uint8_t *at, int64_t ns)
{
    return ns < 0 ? put_none(at) : put_number(at, round_up(ns, CLOCK_NS_PER_MS));
}

uint8_t *resp_reply_decision(uint8_t *at, const struct decision *decision)
{
    const struct decision_row *shown = &decision->shown;
    at = put_counted(at, '*', 8);
    at = put_number(at, shown->allowed);
    at = put_number(at, shown->limit);
    at = put_number(at, shown->remaining);
    at = put_ms(at, shown->retry_after_ns);
    at = put_ms(at, shown->reset_after_ns);
    at = put_ms(at, shown->delay_ns);
    at = put_bulk(at, shown->limit_name);
    return put_bulk(at, slice_text(request_reason_name(shown->reason)));
}

static void append_counted(struct buf *out, uint8_t type, uint64_t value)
{
    uint8_t bytes[RESP_REPLY_NUMBER_BYTES];
    buf_append(out, bytes, (size_t)(put_counted(bytes, type, value) - bytes));
}

void resp_reply_integer(struct buf *out, int64_t value)
{
    buf_printf(out, ":%lld\r\n", (long long)value);
}

void resp_reply_simple(struct buf *out, const char *text)
{
    buf_append_byte(out, '+');
    buf_append_text(out, text);
    buf_append_text(out, "\r\n");
}

void resp_reply_bulk(struct buf *out, struct slice bytes)
{
    append_counted(out, '$', bytes.size);
    buf_append_slice(out, bytes);
    buf_append_text(out, "\r\n");
}

void resp_reply_bulk_text(struct buf *out, const char *text)
{
    resp_reply_bulk(out, slice_text(text));
}

void resp_reply_array(struct buf *out, uint32_t count)
{
    append_counted(out, '*', count);
}

void resp_reply_map(struct buf *out, bool resp3, uint32_t pairs)
{
    append_counted(out, resp3 ? '%' : '*', resp3 ? pairs : 2 * (uint64_t)pairs);
}

void resp_reply_nil(struct buf *out, bool resp3)
{
    buf_append_text(out, resp3 ? "_\r\n" : "$-1\r\n");
}

static const char *word_of(enum request_code code)
{
    switch (code) {
    case REQUEST_PERMISSION_DENIED:
        return "NOPERM ";
    case REQUEST_UNAUTHENTICATED:
        return "NOAUTH ";
    default:
        return "ERR ";
    }
}

void resp_reply_error(struct buf *out, const struct request_error *error)
{
    buf_append_byte(out, '-');
    buf_append_text(out, word_of(error->code));
    if (error->field[0] != '\0') {
        text_append_escaped(out, slice_text(error->field), LIMITS_FIELD_BYTES_MAX);
        buf_append_text(out, ": ");
    }
    buf_append_text(out, error->message);
    buf_append_text(out, "\r\n");
}

void resp_reply_error_text(struct buf *out, const char *text)
{
    buf_append_byte(out, '-');
    buf_append_text(out, text);
    buf_append_text(out, "\r\n");
}
