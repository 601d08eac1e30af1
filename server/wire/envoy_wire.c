#include "wire/envoy_wire.h"

#include "base/utf8.h"
#include "wire/access.h"
#include "wire/envoy_headers.h"
#include "wire/pb_fields.h"

/* Field numbers, message by message. */
enum { REQUEST_DOMAIN = 1, REQUEST_DESCRIPTORS = 2, REQUEST_HITS = 3 };
enum { DESCRIPTOR_ENTRIES = 1, DESCRIPTOR_LIMIT = 2, DESCRIPTOR_HITS = 3, DESCRIPTOR_NEGATIVE = 4 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { OVERRIDE_REQUESTS = 1, OVERRIDE_UNIT = 2, OVERRIDE_MULTIPLIER = 3 };
enum { WRAPPER_VALUE = 1 };
enum { RESPONSE_OVERALL = 1, RESPONSE_STATUSES = 2, RESPONSE_HEADERS = 3 };
enum { HEADER_KEY = 1, HEADER_VALUE = 2 };
enum { STATUS_CODE = 1, STATUS_LIMIT = 2, STATUS_REMAINING = 3, STATUS_RESET = 4 };
enum { LIMIT_REQUESTS = 1, LIMIT_UNIT = 2, LIMIT_NAME = 3, LIMIT_MULTIPLIER = 4 };
enum { DURATION_SECONDS = 1 };

/* ---- reading ---- */

/* How many fields of that number the message has. False: it is none. */
static bool count_fields(struct slice message, uint32_t number, uint32_t *count)
{
    struct pb_field field;
    enum pb_fields_result result;
    *count = 0;
    while ((result = pb_fields_next(&message, &field)) == PB_FIELDS_ONE) {
        *count += field.number == number && field.is_bytes;
    }
    return result == PB_FIELDS_END;
}

static bool read_entry(struct slice message, struct envoy_entry *entry)
{
    struct pb_field field;
    enum pb_fields_result result;
    *entry = (struct envoy_entry){.key = slice_text(""), .value = slice_text("")};
    while ((result = pb_fields_next(&message, &field)) == PB_FIELDS_ONE) {
        if (field.is_bytes && field.number == ENTRY_KEY) {
            entry->key = field.bytes;
        } else if (field.is_bytes && field.number == ENTRY_VALUE) {
            entry->value = field.bytes;
        }
    }
    return result == PB_FIELDS_END && utf8_is_valid(entry->key) && utf8_is_valid(entry->value);
}

/* The number in a google.protobuf.UInt32Value or UInt64Value; 0 when it is left out. */
static bool read_wrapped(struct slice message, uint64_t *value)
{
    struct pb_field field;
    enum pb_fields_result result;
    *value = 0;
    while ((result = pb_fields_next(&message, &field)) == PB_FIELDS_ONE) {
        if (!field.is_bytes && field.number == WRAPPER_VALUE) {
            *value = field.value;
        }
    }
    return result == PB_FIELDS_END;
}

static bool read_override(struct slice message, struct envoy_descriptor *descriptor)
{
    struct pb_field field;
    enum pb_fields_result result;
    descriptor->has_override = true;
    while ((result = pb_fields_next(&message, &field)) == PB_FIELDS_ONE) {
        if (field.number == OVERRIDE_REQUESTS && !field.is_bytes) {
            descriptor->override_requests = (uint32_t)field.value;
        } else if (field.number == OVERRIDE_UNIT && !field.is_bytes) {
            descriptor->override_unit = (uint32_t)field.value;
        } else if (field.number == OVERRIDE_MULTIPLIER && field.is_bytes &&
                   !read_wrapped(field.bytes, &descriptor->override_multiplier)) {
            return false;
        }
    }
    return result == PB_FIELDS_END;
}

static bool read_hits(struct slice message, struct envoy_descriptor *descriptor)
{
    descriptor->has_hits = true;
    return read_wrapped(message, &descriptor->hits);
}

static enum envoy_wire_result read_descriptor(struct slice message, struct arena *arena,
                                              struct envoy_descriptor *descriptor)
{
    struct pb_field field;
    uint32_t count;
    *descriptor = (struct envoy_descriptor){.entry_count = 0};
    if (!count_fields(message, DESCRIPTOR_ENTRIES, &count)) {
        return ENVOY_WIRE_MALFORMED;
    }
    struct envoy_entry *entries = arena_alloc(arena, sizeof(*entries) * ((size_t)count + 1));
    if (entries == NULL) {
        return ENVOY_WIRE_NO_MEMORY;
    }
    descriptor->entries = entries;
    bool good = true;
    while (good && pb_fields_next(&message, &field) == PB_FIELDS_ONE) {
        if (field.number == DESCRIPTOR_ENTRIES && field.is_bytes) {
            good = read_entry(field.bytes, &entries[descriptor->entry_count++]);
        } else if (field.number == DESCRIPTOR_LIMIT && field.is_bytes) {
            good = read_override(field.bytes, descriptor);
        } else if (field.number == DESCRIPTOR_HITS && field.is_bytes) {
            good = read_hits(field.bytes, descriptor);
        } else if (field.number == DESCRIPTOR_NEGATIVE && !field.is_bytes) {
            descriptor->negative = field.value != 0;
        }
    }
    return good ? ENVOY_WIRE_OK : ENVOY_WIRE_MALFORMED;
}

enum envoy_wire_result envoy_wire_read(struct slice message, struct arena *arena,
                                       struct envoy_request *request)
{
    struct pb_field field;
    uint32_t count;
    *request = (struct envoy_request){.domain = slice_text("")};
    if (!count_fields(message, REQUEST_DESCRIPTORS, &count)) {
        return ENVOY_WIRE_MALFORMED;
    }
    /* Those past what a request may have are only counted: it is refused for them. */
    uint32_t kept = count < LIMITS_ENVOY_DESCRIPTORS_MAX ? count : LIMITS_ENVOY_DESCRIPTORS_MAX;
    struct envoy_descriptor *descriptors =
        arena_alloc(arena, sizeof(*descriptors) * ((size_t)kept + 1));
    if (descriptors == NULL) {
        return ENVOY_WIRE_NO_MEMORY;
    }
    request->descriptors = descriptors;
    enum envoy_wire_result result = ENVOY_WIRE_OK;
    while (result == ENVOY_WIRE_OK && pb_fields_next(&message, &field) == PB_FIELDS_ONE) {
        if (field.number == REQUEST_DOMAIN && field.is_bytes) {
            request->domain = field.bytes;
        } else if (field.number == REQUEST_DESCRIPTORS && field.is_bytes) {
            uint32_t at = request->descriptor_count++;
            result = at < kept ? read_descriptor(field.bytes, arena, &descriptors[at]) : result;
        } else if (field.number == REQUEST_HITS && !field.is_bytes) {
            request->hits = (uint32_t)field.value;
        }
    }
    if (result == ENVOY_WIRE_OK && !utf8_is_valid(request->domain)) {
        result = ENVOY_WIRE_MALFORMED;
    }
    return result;
}

/* ---- writing ---- */

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7) {
        size++;
    }
    return size;
}

/* A field of a number below 16: absent where it is 0. */
static size_t number_size(uint64_t value)
{
    return value == 0 ? 0 : 1 + varint_size(value);
}

static void put_number(struct buf *out, uint32_t number, uint64_t value)
{
    if (value != 0) {
        pb_fields_put_number(out, number, value);
    }
}

static uint64_t multiplier_of(const struct envoy_status *status)
{
    return status->unit_multiplier > 1 ? status->unit_multiplier : 0;
}

static size_t limit_size(const struct envoy_status *status)
{
    size_t name = status->name.size;
    size_t wrapped = number_size(multiplier_of(status));
    return number_size(status->requests_per_unit) + number_size(status->unit) +
           (name == 0 ? 0 : 1 + varint_size(name) + name) + (wrapped == 0 ? 0 : 2 + wrapped);
}

static void put_limit(const struct envoy_status *status, struct buf *out)
{
    put_number(out, LIMIT_REQUESTS, status->requests_per_unit);
    put_number(out, LIMIT_UNIT, status->unit);
    if (status->name.size > 0) {
        pb_fields_put_bytes(out, LIMIT_NAME, status->name);
    }
    if (multiplier_of(status) != 0) {
        pb_fields_put_head(out, LIMIT_MULTIPLIER, number_size(multiplier_of(status)));
        put_number(out, WRAPPER_VALUE, multiplier_of(status));
    }
}

static void put_status(const struct envoy_status *status, struct buf *out)
{
    size_t limit = limit_size(status);
    size_t reset = number_size((uint64_t)status->reset_s);
    size_t size = number_size(status->code) + number_size(status->remaining) +
                  (status->has_limit ? 1 + varint_size(limit) + limit : 0) +
                  (status->has_reset ? 1 + varint_size(reset) + reset : 0);
    pb_fields_put_head(out, RESPONSE_STATUSES, size);
    put_number(out, STATUS_CODE, status->code);
    if (status->has_limit) {
        pb_fields_put_head(out, STATUS_LIMIT, limit);
        put_limit(status, out);
    }
    put_number(out, STATUS_REMAINING, status->remaining);
    if (status->has_reset) {
        pb_fields_put_head(out, STATUS_RESET, reset);
        put_number(out, DURATION_SECONDS, (uint64_t)status->reset_s);
    }
}

static void put_header(const struct envoy_header *header, struct buf *out)
{
    struct slice name = slice_text(header->name);
    struct slice value = slice_text(header->value);
    pb_fields_put_head(out, RESPONSE_HEADERS, 2 + name.size + 2 + value.size);
    pb_fields_put_bytes(out, HEADER_KEY, name);
    pb_fields_put_bytes(out, HEADER_VALUE, value);
}

void envoy_wire_write(const struct envoy_answer *answer, bool headers, struct buf *out)
{
    struct envoy_header list[ENVOY_HEADERS];
    uint32_t count = headers ? envoy_headers_of(answer, list) : 0;
    put_number(out, RESPONSE_OVERALL, answer->overall);
    for (uint32_t i = 0; i < answer->count; i++) {
        put_status(&answer->statuses[i], out);
    }
    for (uint32_t i = 0; i < count; i++) {
        put_header(&list[i], out);
    }
}

/* ---- the call ---- */

static enum request_code fail(struct grpc_call *call, enum request_code code, const char *message)
{
    request_error_set(call->error, code, "", "%s", message);
    return code;
}

static enum request_code should_rate_limit(struct grpc_call *call)
{
    struct envoy_request request;
    struct envoy_answer answer;
    metrics_request(call->worker->metrics, METRICS_GRPC, METRICS_SHOULD_ALLOW, 1);
    switch (envoy_wire_read(call->message, call->worker->arena, &request)) {
    case ENVOY_WIRE_OK:
        break;
    case ENVOY_WIRE_MALFORMED:
        return fail(call, REQUEST_INVALID_ARGUMENT, "the message is no RateLimitRequest");
    case ENVOY_WIRE_NO_MEMORY:
        return fail(call, REQUEST_RESOURCE_EXHAUSTED,
                    "the message takes more memory to read than a message may");
    }
    if (!envoy_decide(call->worker->engine, &request, call->now_ns, &answer, call->error)) {
        return call->error->code;
    }
    envoy_wire_write(&answer, call->worker->config->x_ratelimit_headers, call->out);
    *call->answered += 1;
    return REQUEST_OK;
}

const struct grpc_method envoy_wire_methods[ENVOY_WIRE_METHODS] = {
    {"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", GRPC_UNARY, ACCESS_ASK,
     should_rate_limit},
};
