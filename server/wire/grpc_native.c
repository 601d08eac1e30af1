/* The messages are the native protocol's own, so its decoder and encoder do the work: the hot ones
 * by hand, whatever is unusual by protobuf-c. */
#include "wire/grpc_native.h"

#include "wire/access.h"
#include "wire/native_batch.h"
#include "wire/native_decode.h"

static enum request_code grpc_native_fail(struct grpc_call *call, enum request_code code,
                                          const char *message)
{
    request_error_set(call->error, code, "", "%s", message);
    return code;
}

/* Unpacks the call's message. REQUEST_OK: it is in *message. */
static enum request_code grpc_native_unpack(struct grpc_call *call,
                                            const ProtobufCMessageDescriptor *type,
                                            void **message)
{
    switch (pb_unpack(type, call->worker->arena, call->message, message)) {
    case PB_OK:
        return REQUEST_OK;
    case PB_TOO_LARGE:
        return grpc_native_fail(call, REQUEST_RESOURCE_EXHAUSTED,
                                "the message takes more memory to read than a message may");
    case PB_MALFORMED:
        break;
    }
    request_error_set(call->error, REQUEST_INVALID_ARGUMENT, "", "the message is no %s",
                      type->short_name);
    return REQUEST_INVALID_ARGUMENT;
}

static enum request_code grpc_native_no_room(struct grpc_call *call)
{
    return grpc_native_fail(call, REQUEST_RESOURCE_EXHAUSTED, "no memory for the answer");
}

static enum request_code grpc_native_decided(struct grpc_call *call,
                                             const struct decision *decision)
{
    size_t most = decision->row_count == 0 ? NATIVE_ENCODE_PLAIN_BYTES
                                           : NATIVE_ENCODE_ANSWER_BYTES;
    uint8_t *at = buf_reserve(call->out, most);
    if (at == NULL) {
        return grpc_native_no_room(call);
    }
    buf_commit(call->out, (size_t)(native_encode_message(at, decision) - at));
    *call->answered += 1;
    return REQUEST_OK;
}

static enum request_code grpc_native_should_allow(struct grpc_call *call)
{
    struct wire_scratch *scratch = call->worker->scratch;
    struct wire_scratch_entry *entry = &scratch->entries[0];
    void *message;
    metrics_request(call->worker->metrics, METRICS_GRPC, METRICS_SHOULD_ALLOW, 1);
    if (!native_decode_request(call->message, &entry->request)) {
        enum request_code code = grpc_native_unpack(
            call, &sluice__v1__should_allow_request__descriptor, &message);
        if (code != REQUEST_OK) {
            return code;
        }
        pb_request_should_allow(message, &entry->request);
    }
    if (!engine_prepare(call->worker->engine, &entry->request, ENGINE_DECIDE, call->now_ns,
                        &entry->plan, call->error) ||
        !engine_decide(call->worker->engine, &entry->plan, call->now_ns, &scratch->decision,
                       call->error)) {
        return call->error->code;
    }
    return grpc_native_decided(call, &scratch->decision);
}

static enum request_code grpc_native_batch(struct grpc_call *call)
{
    struct native_turn turn = {.worker = call->worker,
                               .scratch = call->worker->scratch,
                               .peer = call->peer,
                               .out = call->out,
                               .now_ns = call->now_ns,
                               .metrics = METRICS_GRPC};
    struct native_batch batch;
    void *message;
    metrics_request(call->worker->metrics, METRICS_GRPC, METRICS_BATCH, 1);
    if (!native_batch_scan(0, call->message, &batch)) {
        enum request_code code = grpc_native_unpack(
            call, &sluice__v1__should_allow_batch_request__descriptor, &message);
        if (code != REQUEST_OK) {
            return code;
        }
        const Sluice__V1__ShouldAllowBatchRequest *unpacked = message;
        batch = (struct native_batch){
            .count = (uint32_t)unpacked->n_requests,
            .messages = (const Sluice__V1__ShouldAllowRequest *const *)unpacked->requests};
    }
    if (batch.count > LIMITS_BATCH_MAX) {
        native_batch_too_long(&batch, call->error);
        return call->error->code;
    }
    bool good = native_batch_results(&turn, &batch);
    *call->answered += turn.answered;
    return good ? REQUEST_OK : grpc_native_no_room(call);
}

/* Refunds and resets are not everybody's. */
static bool grpc_native_may_change(struct grpc_call *call)
{
    if (access_may_change(call->worker->config, call->peer)) {
        return true;
    }
    access_deny_change(call->error);
    return false;
}

static enum request_code grpc_native_refund(struct grpc_call *call)
{
    struct wire_scratch *scratch = call->worker->scratch;
    struct wire_scratch_entry *entry = &scratch->entries[0];
    void *message;
    metrics_request(call->worker->metrics, METRICS_GRPC, METRICS_REFUND, 1);
    if (!grpc_native_may_change(call)) {
        return call->error->code;
    }
    enum request_code code = grpc_native_unpack(call, &sluice__v1__refund_request__descriptor,
                                                &message);
    if (code != REQUEST_OK) {
        return code;
    }
    pb_request_refund(message, &entry->request);
    if (!engine_prepare(call->worker->engine, &entry->request, ENGINE_REFUND, call->now_ns,
                        &entry->plan, call->error) ||
        !engine_refund(call->worker->engine, &entry->plan, call->now_ns, &scratch->decision,
                       call->error)) {
        return call->error->code;
    }
    return grpc_native_decided(call, &scratch->decision);
}

static enum request_code grpc_native_reset(struct grpc_call *call)
{
    struct wire_scratch *scratch = call->worker->scratch;
    struct wire_scratch_entry *entry = &scratch->entries[0];
    Sluice__V1__ResetResponse reset = SLUICE__V1__RESET_RESPONSE__INIT;
    void *message;
    metrics_request(call->worker->metrics, METRICS_GRPC, METRICS_RESET, 1);
    if (!grpc_native_may_change(call)) {
        return call->error->code;
    }
    enum request_code code = grpc_native_unpack(call, &sluice__v1__reset_request__descriptor,
                                                &message);
    if (code != REQUEST_OK) {
        return code;
    }
    pb_request_reset(message, &entry->request);
    if (!engine_prepare(call->worker->engine, &entry->request, ENGINE_RESET, call->now_ns,
                        &entry->plan, call->error) ||
        !engine_reset(call->worker->engine, &entry->plan, call->now_ns, &reset.counters,
                      call->error)) {
        return call->error->code;
    }
    uint8_t *at = buf_reserve(call->out, 1 + LIMITS_VARINT_BYTES_MAX);
    if (at == NULL) {
        return grpc_native_no_room(call);
    }
    buf_commit(call->out, protobuf_c_message_pack(&reset.base, at));
    *call->answered += 1;
    return REQUEST_OK;
}

const struct grpc_method grpc_native_methods[GRPC_NATIVE_METHODS] = {
    {"/sluice.v1.RateLimiter/ShouldAllow", GRPC_UNARY, ACCESS_ASK, grpc_native_should_allow},
    {"/sluice.v1.RateLimiter/ShouldAllowBatch", GRPC_UNARY, ACCESS_ASK, grpc_native_batch},
    {"/sluice.v1.RateLimiter/Refund", GRPC_UNARY, ACCESS_REFUND, grpc_native_refund},
    {"/sluice.v1.RateLimiter/Reset", GRPC_UNARY, ACCESS_REFUND, grpc_native_reset},
};
