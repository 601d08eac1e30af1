#include "traffic_fields.h"

#include "base/limits.h"
#include "base/text.h"

#define SHOWN_BYTES 60u

static const char *const op_names[] = {
    [TRAFFIC_ALLOW] = "allow",     [TRAFFIC_REFUND] = "refund", [TRAFFIC_RESET] = "reset",
    [TRAFFIC_RELOAD] = "reload",   [TRAFFIC_ACQUIRE] = "acquire", [TRAFFIC_RENEW] = "renew",
    [TRAFFIC_RELEASE] = "release", [TRAFFIC_RELEASE + 1] = NULL,
};

const char *traffic_op_name(enum traffic_op op)
{
    return op_names[op];
}

void traffic_fields_quote(struct buf *out, struct slice text)
{
    buf_append_byte(out, '"');
    text_append_escaped(out, text, SHOWN_BYTES);
    buf_append_byte(out, '"');
}

bool traffic_fields_t_ns(struct slice text, int64_t *out, struct buf *why)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    struct slice digits = negative ? slice_make(text.data + 1, text.size - 1) : text;
    uint64_t value;
    if (text_parse_u64(digits, &value) == STATUS_OK && value <= (uint64_t)INT64_MAX) {
        *out = negative ? -(int64_t)value : (int64_t)value;
        return true;
    }
    buf_append_text(why, "t_ns is ");
    traffic_fields_quote(why, text);
    buf_append_text(why, ", expected whole nanoseconds since 1970, such as 1767225600000000000");
    return false;
}

bool traffic_fields_time(struct slice text, int64_t *out, struct buf *why)
{
    if (text_parse_time_ns(text, out) == STATUS_OK) {
        return true;
    }
    buf_append_text(why, "time is ");
    traffic_fields_quote(why, text);
    buf_append_text(why, ", expected RFC 3339 with a zone, such as 2026-01-01T00:00:00Z");
    return false;
}

static size_t skip_digits(struct slice text, size_t at)
{
    while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') {
        at++;
    }
    return at;
}

/* -?digits[.digits][e[+-]digits], leading zeros taken too. */
static bool looks_like_number(struct slice text)
{
    size_t at = text.size > 0 && text.data[0] == '-' ? 1 : 0;
    size_t end = skip_digits(text, at);
    bool valid = end > at;
    if (end < text.size && text.data[end] == '.') {
        at = end + 1;
        end = skip_digits(text, at);
        valid = valid && end > at;
    }
    if (end < text.size && (text.data[end] == 'e' || text.data[end] == 'E')) {
        at = end + 1;
        at += at < text.size && (text.data[at] == '+' || text.data[at] == '-') ? 1 : 0;
        end = skip_digits(text, at);
        valid = valid && end > at;
    }
    return valid && end == text.size;
}

bool traffic_fields_cost(struct slice text, struct request *request, struct buf *why)
{
    uint64_t value;
    request->has_cost = true;
    if (text_parse_u64(text, &value) == STATUS_OK && value <= LIMITS_COST_MAX) {
        request->cost = value;
        return true;
    }
    if (looks_like_number(text)) {
        request->cost_invalid = true;
        return true;
    }
    buf_append_text(why, "cost is ");
    traffic_fields_quote(why, text);
    buf_append_text(why, ", expected a whole number from 0 to 9223372036854775807");
    return false;
}

bool traffic_fields_op(struct slice text, enum traffic_op *out, struct buf *why)
{
    for (int op = 0; op_names[op] != NULL; op++) {
        if (slice_equal_text(text, op_names[op])) {
            *out = (enum traffic_op)op;
            return true;
        }
    }
    buf_append_text(why, "op is ");
    traffic_fields_quote(why, text);
    const char *near = text_nearest(text, op_names);
    if (near != NULL) {
        buf_printf(why, "; did you mean \"%s\"?", near);
    } else {
        buf_append_text(why, ", expected allow, refund, reset, reload, acquire, renew or release");
    }
    return false;
}

/* 0 … 63, or -1 for what is not in the alphabet. */
static int base64_value(uint8_t byte)
{
    if (byte >= 'A' && byte <= 'Z') {
        return byte - 'A';
    }
    if (byte >= 'a' && byte <= 'z') {
        return byte - 'a' + 26;
    }
    if (byte >= '0' && byte <= '9') {
        return byte - '0' + 52;
    }
    return byte == '+' ? 62 : byte == '/' ? 63 : -1;
}

/* Four characters, the last `padding` of them '='. */
static bool base64_quad(const uint8_t *quad, size_t padding, struct buf *out)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i < 4 - padding ? base64_value(quad[i]) : 0;
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
    }
    uint8_t bytes[3] = {(uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits};
    buf_append(out, bytes, 3 - padding);
    return (bits & ((1u << (8 * padding)) - 1)) == 0; /* no bits hidden behind the padding */
}

bool traffic_fields_base64(struct slice text, struct buf *out, struct buf *why)
{
    bool valid = text.size % 4 == 0;
    for (size_t at = 0; valid && at < text.size; at += 4) {
        const uint8_t *quad = text.data + at;
        bool last = at + 4 == text.size;
        size_t padding = !last || quad[3] != '=' ? 0 : quad[2] == '=' ? 2 : 1;
        valid = base64_quad(quad, padding, out);
    }
    if (!valid) {
        buf_append_text(why, "key_base64 is ");
        traffic_fields_quote(why, text);
        buf_append_text(why, ", expected padded base64, such as /w8=");
    }
    return valid;
}

void traffic_fields_attribute(struct request *request, struct slice name, struct slice value)
{
    if (request->attribute_count < LIMITS_ATTRIBUTES_MAX) {
        request->attributes[request->attribute_count] =
            (struct request_attribute){.name = name, .value = value};
    }
    request->attribute_count++;
}

bool traffic_fields_check(const struct traffic_item *item, struct buf *why)
{
    if (item->op != TRAFFIC_RELOAD) {
        if (item->has_limits || item->has_limits_file) {
            buf_printf(why, "%s beside op %s, expected it only with op reload",
                       item->has_limits ? "limits" : "limits_file", op_names[item->op]);
            return false;
        }
        return true;
    }
    if (item->has_limits == item->has_limits_file) {
        buf_printf(why, "op reload names %s, expected either limits_file or limits",
                   item->has_limits ? "two sources of limits" : "no limits");
        return false;
    }
    return true;
}
