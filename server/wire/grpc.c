#include "wire/grpc.h"

#include "base/clock.h"
#include "wire/envoy_wire.h"
#include "wire/grpc_health.h"
#include "wire/grpc_native.h"
#include "wire/grpc_reflection.h"

#define GRPC_TIMEOUT_DIGITS 8

/* A service's methods. */
struct grpc_service {
    const struct grpc_method *methods;
    uint32_t count;
};

#define GRPC_SERVICE(table) {table, sizeof(table) / sizeof((table)[0])}

static const struct grpc_service grpc_services[] = {
    GRPC_SERVICE(grpc_native_methods),
    GRPC_SERVICE(envoy_wire_methods),
    GRPC_SERVICE(grpc_health_methods),
    GRPC_SERVICE(grpc_reflection_methods),
};

#define GRPC_SERVICES (sizeof(grpc_services) / sizeof(grpc_services[0]))

const struct grpc_method *grpc_find(struct slice path)
{
    for (size_t i = 0; i < GRPC_SERVICES; i++) {
        for (uint32_t j = 0; j < grpc_services[i].count; j++) {
            if (slice_equal_text(path, grpc_services[i].methods[j].path)) {
                return &grpc_services[i].methods[j];
            }
        }
    }
    return NULL;
}

bool grpc_serves(struct slice service)
{
    for (size_t i = 0; i < GRPC_SERVICES; i++) {
        for (uint32_t j = 0; j < grpc_services[i].count; j++) {
            const char *path = grpc_services[i].methods[j].path + 1;
            const char *slash = strchr(path, '/');
            if (slash != NULL && slice_equal(service, slice_make(path, (size_t)(slash - path)))) {
                return true;
            }
        }
    }
    return false;
}

/* Nanoseconds in a unit of grpc-timeout; 0: no unit. */
static int64_t grpc_timeout_unit_ns(uint8_t unit)
{
    switch (unit) {
    case 'H':
        return 3600 * CLOCK_NS_PER_S;
    case 'M':
        return 60 * CLOCK_NS_PER_S;
    case 'S':
        return CLOCK_NS_PER_S;
    case 'm':
        return CLOCK_NS_PER_MS;
    case 'u':
        return CLOCK_NS_PER_MS / 1000;
    case 'n':
        return 1;
    default:
        return 0;
    }
}

bool grpc_timeout(struct slice text, int64_t *timeout_ns)
{
    int64_t number = 0;
    if (text.size < 2 || text.size > GRPC_TIMEOUT_DIGITS + 1) {
        return false;
    }
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        number = number * 10 + (text.data[i] - '0');
    }
    int64_t unit_ns = grpc_timeout_unit_ns(text.data[text.size - 1]);
    if (unit_ns == 0) {
        return false;
    }
    /* 99999999 hours are more than 64 bits of nanoseconds. */
    *timeout_ns = number > INT64_MAX / 2 / unit_ns ? INT64_MAX / 2 : number * unit_ns;
    return true;
}

enum grpc_frame grpc_frame(struct slice in, struct slice *message, size_t *used)
{
    if (in.size > 0 && in.data[0] > 1) {
        return GRPC_FRAME_BAD;
    }
    if (in.size < LIMITS_GRPC_PREFIX_BYTES) {
        return GRPC_FRAME_MORE;
    }
    size_t size = (size_t)in.data[1] << 24 | (size_t)in.data[2] << 16 | (size_t)in.data[3] << 8 |
                  in.data[4];
    if (size > LIMITS_GRPC_MESSAGE_BYTES_MAX) {
        return GRPC_FRAME_TOO_LONG;
    }
    if (in.data[0] == 1) {
        return GRPC_FRAME_COMPRESSED;
    }
    if (size > in.size - LIMITS_GRPC_PREFIX_BYTES) {
        return GRPC_FRAME_MORE;
    }
    *message = slice_make(in.data + LIMITS_GRPC_PREFIX_BYTES, size);
    *used = LIMITS_GRPC_PREFIX_BYTES + size;
    return GRPC_FRAME_WHOLE;
}

void grpc_frame_error(enum grpc_frame frame, struct request_error *error)
{
    switch (frame) {
    case GRPC_FRAME_COMPRESSED:
        request_error_set(error, REQUEST_UNIMPLEMENTED, "",
                          "the message is compressed; only grpc-encoding identity is taken");
        break;
    case GRPC_FRAME_TOO_LONG:
        request_error_set(error, REQUEST_RESOURCE_EXHAUSTED, "",
                          "the message is longer than the %u bytes allowed",
                          LIMITS_GRPC_MESSAGE_BYTES_MAX);
        break;
    case GRPC_FRAME_BAD:
        request_error_set(error, REQUEST_INVALID_ARGUMENT, "",
                          "the body does not begin with a message: its first byte is not 0");
        break;
    case GRPC_FRAME_WHOLE:
    case GRPC_FRAME_MORE:
        request_error_set(error, REQUEST_INVALID_ARGUMENT, "",
                          "the call ended before its message did");
        break;
    }
}

enum request_code grpc_answer(const struct grpc_method *method, struct grpc_call *call)
{
    struct buf *out = call->out;
    size_t begin = out->size;
    static const uint8_t prefix[LIMITS_GRPC_PREFIX_BYTES] = {0};
    buf_append(out, prefix, sizeof(prefix));
    enum request_code code = method->handle(call);
    if (code == REQUEST_OK && out->failed) {
        code = REQUEST_RESOURCE_EXHAUSTED;
        request_error_set(call->error, code, "", "no memory for the answer");
    }
    if (code != REQUEST_OK) {
        out->size = begin;
        return code;
    }
    uint8_t *at = out->data + out->start + begin;
    size_t size = out->size - begin - sizeof(prefix);
    for (int i = 0; i < 4; i++) {
        at[1 + i] = (uint8_t)(size >> (24 - 8 * i));
    }
    return REQUEST_OK;
}

static void grpc_percent(struct buf *out, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (const char *at = text; *at != '\0'; at++) {
        uint8_t byte = (uint8_t)*at;
        if (byte >= ' ' && byte <= '~' && byte != '%') {
            buf_append_byte(out, byte);
        } else {
            char coded[3] = {'%', digits[byte >> 4], digits[byte & 15]};
            buf_append(out, coded, sizeof(coded));
        }
    }
}

void grpc_sentence(const struct request_error *error, struct buf *out)
{
    if (error->field[0] != '\0' && strstr(error->message, error->field) == NULL) {
        grpc_percent(out, error->field);
        buf_append_text(out, ": ");
    }
    grpc_percent(out, error->message);
}
