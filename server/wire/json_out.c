#include "wire/json_out.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <stdio.h>

uint8_t *json_out_number(uint8_t *at, uint64_t number)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    uint8_t digits[JSON_OUT_NUMBER_BYTES];
    size_t first = sizeof(digits);
    while (number >= 100) {
        first -= 2;
        memcpy(digits + first, pairs + 2 * (number % 100), 2);
        number /= 100;
    }
    if (number >= 10) {
        first -= 2;
        memcpy(digits + first, pairs + 2 * number, 2);
    } else {
        digits[--first] = (uint8_t)('0' + number);
    }
    memcpy(at, digits + first, sizeof(digits) - first);
    return at + sizeof(digits) - first;
}

/* One character of the text; returns how many bytes of it that were. */
static size_t put_character(uint8_t **at, struct slice text)
{
    uint8_t byte = text.data[0];
    if (byte == '"' || byte == '\\') {
        *(*at)++ = '\\';
        *(*at)++ = byte;
        return 1;
    }
    if (byte < 0x20) {
        static const char hex[] = "0123456789abcdef";
        *at = json_out_text(*at, "\\u00");
        *(*at)++ = (uint8_t)hex[byte >> 4];
        *(*at)++ = (uint8_t)hex[byte & 15];
        return 1;
    }
    size_t size = utf8_sequence(text);
    if (size == 0) {
        *at = json_out_text(*at, "\xEF\xBF\xBD");
        return 1;
    }
    memcpy(*at, text.data, size);
    *at += size;
    return size;
}

uint8_t *json_out_string(uint8_t *at, struct slice text)
{
    *at++ = '"';
    while (text.size > 0) {
        size_t size = put_character(&at, text);
        text = slice_make(text.data + size, text.size - size);
    }
    *at++ = '"';
    return at;
}

static uint8_t *put_ms(uint8_t *at, int64_t ns)
{
    return json_out_number(at, (uint64_t)(ns / CLOCK_NS_PER_MS + (ns % CLOCK_NS_PER_MS != 0)));
}

static uint8_t *put_slice(uint8_t *at, struct slice text)
{
    if (text.size > 0) {
        memcpy(at, text.data, text.size);
    }
    return at + text.size;
}

/* What the answer and each of its rows have in common. */
static uint8_t *put_numbers(uint8_t *at, const struct decision_row *row)
{
    at = row->allowed ? json_out_text(at, "\"allowed\":true,\"limit\":")
                      : json_out_text(at, "\"allowed\":false,\"limit\":");
    at = json_out_number(at, row->limit);
    at = json_out_text(at, ",\"remaining\":");
    at = json_out_number(at, row->remaining);
    if (row->retry_after_ns == DECISION_NEVER) {
        at = json_out_text(at, ",\"retry_after_ms\":null");
    } else if (row->retry_after_ns != DECISION_ABSENT) {
        at = json_out_text(at, ",\"retry_after_ms\":");
        at = put_ms(at, row->retry_after_ns);
    }
    if (row->reset_after_ns != DECISION_ABSENT) {
        at = json_out_text(at, ",\"reset_after_ms\":");
        at = put_ms(at, row->reset_after_ns);
    }
    if (row->delay_ns > 0) {
        at = json_out_text(at, ",\"delay_ms\":");
        at = put_ms(at, row->delay_ns);
    }
    return at;
}

/* A limit's name is of [A-Za-z0-9_.-]: the limits file sees to it. */
static uint8_t *put_row(uint8_t *at, const struct decision_row *row)
{
    at = json_out_text(at, "{\"limit_name\":\"");
    at = put_slice(at, row->limit_name);
    at = json_out_text(at, "\",");
    at = put_numbers(at, row);
    at = row->shadow ? json_out_text(at, ",\"shadow\":true,\"window_ms\":")
                     : json_out_text(at, ",\"shadow\":false,\"window_ms\":");
    at = put_ms(at, row->window_ns);
    at = json_out_text(at, ",\"algorithm\":\"");
    at = json_out_text(at, limiter_algorithm_name(row->algorithm));
    return json_out_text(at, "\"}");
}

uint8_t *json_out_rows(uint8_t *at, const struct decision *decision)
{
    *at++ = '[';
    for (uint32_t i = 0; i < decision->row_count; i++) {
        if (i > 0) {
            *at++ = ',';
        }
        at = put_row(at, &decision->rows[i]);
    }
    *at++ = ']';
    return at;
}

uint8_t *json_out_decision_members(uint8_t *at, const struct decision *decision, bool details)
{
    const struct decision_row *shown = &decision->shown;
    at = put_numbers(at, shown);
    if (shown->limit_name.size > 0) {
        at = json_out_text(at, ",\"limit_name\":\"");
        at = put_slice(at, shown->limit_name);
        *at++ = '"';
    }
    at = json_out_text(at, ",\"reason\":\"");
    at = json_out_text(at, request_reason_name(shown->reason));
    *at++ = '"';
    if (details && decision->row_count > 0) {
        at = json_out_text(at, ",\"details\":");
        at = json_out_rows(at, decision);
    }
    return at;
}

uint8_t *json_out_decision(uint8_t *at, const struct decision *decision, bool details)
{
    *at++ = '{';
    at = json_out_decision_members(at, decision, details);
    *at++ = '}';
    return at;
}

uint8_t *json_out_error(uint8_t *at, const struct request_error *error)
{
    at = json_out_text(at, "{\"code\":\"");
    at = json_out_text(at, request_code_name(error->code));
    *at++ = '"';
    if (error->field[0] != '\0') {
        at = json_out_text(at, ",\"field\":");
        at = json_out_string(at, slice_text(error->field));
    }
    at = json_out_text(at, ",\"message\":");
    at = json_out_string(at, slice_text(error->message));
    *at++ = '}';
    return at;
}
