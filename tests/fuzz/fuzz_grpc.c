/* links: sluice_wire */
/* Any body to any method: the first byte chooses one, the rest is what a call carries. Never a
 * crash; a message that is refused leaves nothing behind; a gRPC batch and the same bytes twice
 * decide alike on fresh counters. */
#include "../wire/native_fixture.h"

#include "wire/grpc.h"
#include "wire/pb_fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOUR_NS (INT64_C(3600) * 1000000000)

static const char *const paths[] = {
    "/sluice.v1.RateLimiter/ShouldAllow",
    "/sluice.v1.RateLimiter/ShouldAllowBatch",
    "/sluice.v1.RateLimiter/Refund",
    "/sluice.v1.RateLimiter/Reset",
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/grpc.health.v1.Health/List",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
};

#define PATHS (sizeof(paths) / sizeof(paths[0]))

/* Every message of the body, answered; the codes and answers go to `out`. */
static void answer_all(struct fixture *fixture, const struct grpc_method *method,
                       struct slice body, struct buf *out)
{
    struct slice message;
    size_t used;
    struct request_error error;
    fixture->now_ns += HOUR_NS;
    for (int i = 0; i < 8 && engine_sweep(fixture->engine, fixture->now_ns, 256); i++) {
    }
    buf_clear(out);
    engine_enter(fixture->worker.engine);
    enum grpc_frame frame;
    while ((frame = grpc_frame(body, &message, &used)) == GRPC_FRAME_WHOLE) {
        size_t before = out->size;
        error = (struct request_error){0};
        struct grpc_call call = {.worker = &fixture->worker,
                                 .peer = &fixture->peer,
                                 .now_ns = fixture->now_ns,
                                 .message = message,
                                 .out = out,
                                 .answered = &fixture->answered,
                                 .error = &error};
        engine_rewind(fixture->worker.engine);
        enum request_code code = grpc_answer(method, &call);
        arena_reset(&fixture->arena);
        if (code != REQUEST_OK) {
            fixture_require(out->size == before, "a refusal leaves nothing behind");
            fixture_require(error.message[0] != '\0', "an error has a sentence");
            buf_append_byte(out, (uint8_t)code);
            grpc_sentence(&error, out);
        } else {
            struct slice answer;
            struct slice rest;
            fixture_require(grpc_frame(slice_make(out->data + out->start + before,
                                                  out->size - before),
                                       &answer, &used) != GRPC_FRAME_MORE, "an answer is whole");
            fixture_require(pb_fields_bytes(answer, 500, &rest) ||
                                used > LIMITS_GRPC_MESSAGE_BYTES_MAX, "and a message");
        }
        used = LIMITS_GRPC_PREFIX_BYTES + message.size;
        body = slice_make(body.data + used, body.size - used);
    }
    engine_leave(fixture->worker.engine);
    if (frame != GRPC_FRAME_MORE) {
        grpc_frame_error(frame, &error);
    }
    int64_t timeout_ns;
    (void)grpc_timeout(body, &timeout_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fixture fixture;
    static struct buf first;
    static struct buf second;
    if (size < 1) {
        return 0;
    }
    if (fixture.engine == NULL) {
        fixture_init(&fixture);
    }
    const struct grpc_method *method = grpc_find(slice_text(paths[data[0] % PATHS]));
    if (method == NULL) {
        return 0;
    }
    struct slice body = slice_make(data + 1, size - 1);
    answer_all(&fixture, method, body, &first);
    answer_all(&fixture, method, body, &second);
    fixture_require(slice_equal(buf_slice(&first), buf_slice(&second)),
                    "the same call on fresh counters differs");
    return 0;
}
