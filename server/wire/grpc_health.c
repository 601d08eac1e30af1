/* A daemon that listens serves; one that was told to stop says so to whoever still asks and to
 * whoever watches. */
#include "wire/grpc_health.h"

#include "base/text.h"
#include "base/utf8.h"
#include "wire/pb_fields.h"

enum grpc_health_status {
    GRPC_HEALTH_SERVING = 1,
    GRPC_HEALTH_NOT_SERVING = 2,
    GRPC_HEALTH_SERVICE_UNKNOWN = 3
};

/* "" is the server as a whole; `ratelimit` is what envoyproxy/ratelimit calls itself. */
static const char *const grpc_health_names[] = {
    "",
    "ratelimit",
    "sluice.v1.RateLimiter",
    "envoy.service.ratelimit.v3.RateLimitService",
};

#define GRPC_HEALTH_NAMES (sizeof(grpc_health_names) / sizeof(grpc_health_names[0]))

static bool grpc_health_knows(struct slice name)
{
    for (size_t i = 0; i < GRPC_HEALTH_NAMES; i++) {
        if (slice_equal_text(name, grpc_health_names[i])) {
            return true;
        }
    }
    return false;
}

/* The name asked for. False: *call->error says why not. */
static bool grpc_health_name(struct grpc_call *call, struct slice *name)
{
    if (pb_fields_bytes(call->message, 1, name) && utf8_is_valid(*name)) {
        return true;
    }
    request_error_set(call->error, REQUEST_INVALID_ARGUMENT, "",
                      "the message is no HealthCheckRequest");
    return false;
}

static enum grpc_health_status grpc_health_now(const struct grpc_call *call)
{
    return call->draining ? GRPC_HEALTH_NOT_SERVING : GRPC_HEALTH_SERVING;
}

static enum request_code grpc_health_check(struct grpc_call *call)
{
    struct slice name;
    if (!grpc_health_name(call, &name)) {
        return REQUEST_INVALID_ARGUMENT;
    }
    if (!grpc_health_knows(name)) {
        struct buf shown;
        buf_init(&shown, 0);
        text_append_escaped(&shown, name, LIMITS_FIELD_BYTES_MAX);
        request_error_set(call->error, REQUEST_NOT_FOUND, "", "no service is called \"%.*s\"",
                          (int)shown.size, shown.data == NULL ? "" : (const char *)shown.data);
        buf_deinit(&shown);
        return REQUEST_NOT_FOUND;
    }
    pb_fields_put_number(call->out, 1, grpc_health_now(call));
    return REQUEST_OK;
}

static enum request_code grpc_health_watch(struct grpc_call *call)
{
    struct slice name;
    if (!grpc_health_name(call, &name)) {
        return REQUEST_INVALID_ARGUMENT;
    }
    pb_fields_put_number(call->out, 1, grpc_health_knows(name) ? grpc_health_now(call)
                                                               : GRPC_HEALTH_SERVICE_UNKNOWN);
    return REQUEST_OK;
}

static enum request_code grpc_health_list(struct grpc_call *call)
{
    for (size_t i = 0; i < GRPC_HEALTH_NAMES; i++) {
        const uint8_t status[2] = {1 << 3, (uint8_t)grpc_health_now(call)};
        struct slice name = slice_text(grpc_health_names[i]);
        pb_fields_put_head(call->out, 1, 2 + name.size + 2 + sizeof(status));
        pb_fields_put_bytes(call->out, 1, name);
        pb_fields_put_bytes(call->out, 2, slice_make(status, sizeof(status)));
    }
    return REQUEST_OK;
}

const struct grpc_method grpc_health_methods[GRPC_HEALTH_METHODS] = {
    {"/grpc.health.v1.Health/Check", GRPC_UNARY, 0, grpc_health_check},
    {"/grpc.health.v1.Health/Watch", GRPC_WATCH, 0, grpc_health_watch},
    {"/grpc.health.v1.Health/List", GRPC_UNARY, 0, grpc_health_list},
};
