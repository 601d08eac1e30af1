/* The adapter of the native protocol.
 *
 *   feed:  gather   frames with one question each are read and prepared, up to
 *                   WIRE_SCRATCH_AHEAD of them: their counters are on the way into the cache
 *          answer   then each is decided and its answer written, in the same order
 *          odd      a frame of another kind ended the gathering: served by itself
 *
 * Output is bounded: before each round WIRE_OUT_HIGH_BYTES must not have been reached, and a
 * round's answers are bounded by their number, a batch's by LIMITS_SERVER_FRAME_BYTES_MAX. */
#include "wire/native.h"

#include "wire/access.h"
#include "wire/native_admin.h"
#include "wire/native_batch.h"
#include "wire/native_decode.h"

#include <stdlib.h>

struct native_session {
    struct wire_peer peer;
    struct access_login login; /* what an AuthRequest has shown; peer.rights follows from it */
};

enum native_next {
    NATIVE_AGAIN, /* there may be more to read */
    NATIVE_MORE,  /* the next frame is not all here */
    NATIVE_ODD,   /* the next frame is in `payload` and not a single question */
    NATIVE_BROKEN /* nothing more can be read: close */
};

/* The input of one feed. */
struct native_input {
    struct slice bytes;
    size_t used;
    struct slice payload; /* the frame of NATIVE_ODD */
    uint32_t gathered;
};

static void *native_open(struct wire_worker *worker, const struct wire_peer *peer,
                         struct buf *out)
{
    (void)worker;
    (void)out;
    struct native_session *session = calloc(1, sizeof(*session));
    if (session != NULL) {
        session->peer = *peer;
    }
    return session;
}

static void native_close(void **session)
{
    free(*session);
    *session = NULL;
}

/* An error of the connection, not of a frame: id 0. */
static void native_append_goodbye(struct buf *out, enum request_code code, const char *message)
{
    struct request_error error;
    request_error_set(&error, code, "", "%s", message);
    uint8_t *at = buf_reserve(out, NATIVE_ENCODE_FRAME_BYTES);
    if (at != NULL) {
        buf_commit(out, (size_t)(native_encode_error(at, 0, &error) - at));
    }
}

static bool native_fail(struct native_turn *turn, uint64_t id, enum request_code code,
                        const char *message)
{
    struct request_error error;
    request_error_set(&error, code, "", "%s", message);
    return native_turn_error(turn, id, &error);
}

/* A length that leads nowhere. */
static enum native_next native_bad_length(struct native_turn *turn,
                                          enum native_decode_length result)
{
    const char *message = result == NATIVE_DECODE_TOO_LONG
                              ? "a frame is longer than the 262144 bytes allowed"
                              : "a frame's length does not end within 3 bytes";
    static_assert(LIMITS_CLIENT_FRAME_BYTES_MAX == 262144 && LIMITS_CLIENT_LENGTH_BYTES_MAX == 3,
                  "what the messages say");
    (void)native_fail(turn, 0, REQUEST_INVALID_ARGUMENT, message);
    return NATIVE_BROKEN;
}

/* Reads and prepares single questions up to the first frame of another kind. */
static enum native_next native_gather(struct native_turn *turn, struct native_input *in,
                                      enum native_decode_length *length)
{
    struct wire_scratch_entry *entries = turn->scratch->entries;
    engine_rewind(turn->worker->engine);
    uint32_t room = engine_room(turn->worker->engine);
    room = room < WIRE_SCRATCH_AHEAD ? room : WIRE_SCRATCH_AHEAD;
    for (in->gathered = 0; in->gathered < room; in->gathered++) {
        struct wire_scratch_entry *entry = &entries[in->gathered];
        struct native_decode_frame frame;
        size_t used;
        struct slice rest = slice_make(in->bytes.data + in->used, in->bytes.size - in->used);
        *length = native_decode_length(rest, &in->payload, &used);
        if (*length != NATIVE_DECODE_COMPLETE) {
            return *length == NATIVE_DECODE_MORE ? NATIVE_MORE : NATIVE_BROKEN;
        }
        in->used += used;
        if (!turn->may_ask || !native_decode_frame(in->payload, &frame) ||
            frame.body != NATIVE_DECODE_SHOULD_ALLOW ||
            !native_decode_request(frame.bytes, &entry->request)) {
            return NATIVE_ODD;
        }
        entry->id = frame.id;
        native_turn_prepare(turn, entry);
    }
    return NATIVE_AGAIN;
}

/* Decides what was gathered, in order. */
static bool native_answer(struct native_turn *turn, uint32_t count)
{
    struct wire_scratch_entry *entries = turn->scratch->entries;
    if (count == 0) {
        return true;
    }
    uint8_t *start = buf_reserve(turn->out, (size_t)count * NATIVE_ENCODE_FRAME_BYTES);
    if (start == NULL) {
        return false;
    }
    uint8_t *at = start;
    for (uint32_t i = 0; i < count; i++) {
        if (native_turn_decide(turn, &entries[i])) {
            at = native_encode_decision(at, entries[i].id, NATIVE_ENCODE_SHOULD_ALLOW,
                                        &turn->scratch->decision);
        } else {
            at = native_encode_error(at, entries[i].id, &entries[i].error);
        }
    }
    buf_commit(turn->out, (size_t)(at - start));
    metrics_request(turn->worker->metrics, turn->metrics, METRICS_SHOULD_ALLOW, count);
    return true;
}

/* A question that only protobuf-c could read. */
static bool native_should_allow(struct native_turn *turn, uint64_t id,
                                const Sluice__V1__ShouldAllowRequest *message)
{
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    pb_request_should_allow(message, &entry->request);
    entry->id = id;
    native_turn_prepare(turn, entry);
    return native_answer(turn, 1);
}

static bool native_refund(struct native_turn *turn, uint64_t id,
                          const Sluice__V1__RefundRequest *message)
{
    struct wire_worker *worker = turn->worker;
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    uint8_t *at = buf_reserve(turn->out, NATIVE_ENCODE_FRAME_BYTES);
    metrics_request(worker->metrics, turn->metrics, METRICS_REFUND, 1);
    if (at == NULL) {
        return false;
    }
    if (!access_may_change(worker->config, turn->peer)) {
        access_deny_change(&entry->error);
        return native_turn_error(turn, id, &entry->error);
    }
    pb_request_refund(message, &entry->request);
    if (!engine_prepare(worker->engine, &entry->request, ENGINE_REFUND, turn->now_ns,
                        &entry->plan, &entry->error) ||
        !engine_refund(worker->engine, &entry->plan, turn->now_ns, &turn->scratch->decision,
                       &entry->error)) {
        return native_turn_error(turn, id, &entry->error);
    }
    turn->answered++;
    buf_commit(turn->out, (size_t)(native_encode_decision(at, id, NATIVE_ENCODE_REFUND,
                                                          &turn->scratch->decision) - at));
    return true;
}

static bool native_reset(struct native_turn *turn, uint64_t id,
                         const Sluice__V1__ResetRequest *message)
{
    struct wire_worker *worker = turn->worker;
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    Sluice__V1__ResetResponse reset = SLUICE__V1__RESET_RESPONSE__INIT;
    Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
    metrics_request(worker->metrics, turn->metrics, METRICS_RESET, 1);
    if (!access_may_change(worker->config, turn->peer)) {
        access_deny_change(&entry->error);
        return native_turn_error(turn, id, &entry->error);
    }
    pb_request_reset(message, &entry->request);
    if (!engine_prepare(worker->engine, &entry->request, ENGINE_RESET, turn->now_ns,
                        &entry->plan, &entry->error) ||
        !engine_reset(worker->engine, &entry->plan, turn->now_ns, &reset.counters,
                      &entry->error)) {
        return native_turn_error(turn, id, &entry->error);
    }
    turn->answered++;
    frame.id = id;
    frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_RESET;
    frame.reset = &reset;
    return pb_append_frame(&frame.base, turn->out);
}

static bool native_empty(struct native_turn *turn, uint64_t id,
                         Sluice__V1__ServerFrame__BodyCase body)
{
    Sluice__V1__Pong pong = SLUICE__V1__PONG__INIT;
    Sluice__V1__AuthResponse auth = SLUICE__V1__AUTH_RESPONSE__INIT;
    Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
    frame.id = id;
    frame.body_case = body;
    if (body == SLUICE__V1__SERVER_FRAME__BODY_PONG) {
        frame.pong = &pong;
    } else {
        frame.auth = &auth;
    }
    return pb_append_frame(&frame.base, turn->out);
}

static bool native_log_in(struct native_turn *turn, uint64_t id,
                          const Sluice__V1__AuthRequest *message)
{
    struct native_session *session = turn->session;
    struct slice token = slice_make(message->token.data, message->token.len);
    bool good = access_log_in(turn->worker, &session->login, token);
    session->peer.rights = access_login_rights(turn->worker, &session->login);
    turn->may_ask = (session->peer.rights & ACCESS_ASK) != 0;
    return good ? native_empty(turn, id, SLUICE__V1__SERVER_FRAME__BODY_AUTH)
                : native_fail(turn, id, REQUEST_UNAUTHENTICATED,
                              "the token is none of this daemon's (--tokens)");
}

/* May a frame of this kind be answered? False: *error says why not. */
static bool native_may(const struct native_turn *turn, Sluice__V1__ClientFrame__BodyCase body,
                       struct request_error *error)
{
    switch (body) {
    case SLUICE__V1__CLIENT_FRAME__BODY_AUTH:
        return true;
    case SLUICE__V1__CLIENT_FRAME__BODY_SHOULD_ALLOW:
    case SLUICE__V1__CLIENT_FRAME__BODY_SHOULD_ALLOW_BATCH:
        return access_check(turn->peer, ACCESS_ASK, error);
    case SLUICE__V1__CLIENT_FRAME__BODY_REFUND:
    case SLUICE__V1__CLIENT_FRAME__BODY_RESET:
        return access_check(turn->peer, ACCESS_REFUND, error);
    case SLUICE__V1__CLIENT_FRAME__BODY_STATS:
    case SLUICE__V1__CLIENT_FRAME__BODY_RELOAD:
    case SLUICE__V1__CLIENT_FRAME__BODY_SNAPSHOT:
        return access_check(turn->peer, ACCESS_ADMIN, error);
    case SLUICE__V1__CLIENT_FRAME__BODY_PING:
    case SLUICE__V1__CLIENT_FRAME__BODY__NOT_SET:
    default:
        return access_check(turn->peer, ACCESS_ALL, error); /* any right will do */
    }
}

/* A frame that protobuf-c has read. */
static bool native_message(struct native_turn *turn, const Sluice__V1__ClientFrame *message)
{
    struct native_batch batch = {.id = message->id};
    struct request_error error;
    engine_rewind(turn->worker->engine);
    if (!native_may(turn, message->body_case, &error)) {
        return native_turn_error(turn, message->id, &error);
    }
    switch (message->body_case) {
    case SLUICE__V1__CLIENT_FRAME__BODY_SHOULD_ALLOW:
        return native_should_allow(turn, message->id, message->should_allow);
    case SLUICE__V1__CLIENT_FRAME__BODY_SHOULD_ALLOW_BATCH:
        batch.count = (uint32_t)message->should_allow_batch->n_requests;
        batch.messages =
            (const Sluice__V1__ShouldAllowRequest *const *)message->should_allow_batch->requests;
        return native_batch_answer(turn, &batch);
    case SLUICE__V1__CLIENT_FRAME__BODY_REFUND:
        return native_refund(turn, message->id, message->refund);
    case SLUICE__V1__CLIENT_FRAME__BODY_RESET:
        return native_reset(turn, message->id, message->reset);
    case SLUICE__V1__CLIENT_FRAME__BODY_PING:
        return native_empty(turn, message->id, SLUICE__V1__SERVER_FRAME__BODY_PONG);
    case SLUICE__V1__CLIENT_FRAME__BODY_AUTH:
        return native_log_in(turn, message->id, message->auth);
    case SLUICE__V1__CLIENT_FRAME__BODY_STATS:
    case SLUICE__V1__CLIENT_FRAME__BODY_RELOAD:
    case SLUICE__V1__CLIENT_FRAME__BODY_SNAPSHOT:
        return native_admin_answer(turn, message);
    case SLUICE__V1__CLIENT_FRAME__BODY__NOT_SET:
    default:
        return native_fail(turn, message->id, REQUEST_UNIMPLEMENTED,
                           "the frame has no body that this server knows");
    }
}

/* A frame that is no single question, or an unusual one. False: close. */
static bool native_odd(struct native_turn *turn, struct slice payload)
{
    struct native_decode_frame frame;
    struct native_batch batch;
    void *message;
    if (turn->may_ask && native_decode_frame(payload, &frame) &&
        frame.body == NATIVE_DECODE_BATCH &&
        native_batch_scan(frame.id, frame.bytes, &batch)) {
        return native_batch_answer(turn, &batch);
    }
    switch (pb_unpack(&sluice__v1__client_frame__descriptor, turn->worker->arena, payload,
                      &message)) {
    case PB_OK:
        return native_message(turn, message);
    case PB_TOO_LARGE:
        return native_fail(turn, native_decode_id(payload), REQUEST_RESOURCE_EXHAUSTED,
                           "the frame takes more memory to read than a frame may");
    case PB_MALFORMED:
        break;
    }
    (void)native_fail(turn, native_decode_id(payload), REQUEST_INVALID_ARGUMENT,
                      "the frame is not a ClientFrame");
    return false;
}

static enum metrics_protocol native_counts_as(const struct wire_peer *peer)
{
    return peer->admin ? METRICS_ADMIN : METRICS_NATIVE;
}

static enum wire_result native_feed(void *session, struct wire_worker *worker, struct slice in,
                                    size_t *consumed, int64_t now_ns, struct buf *out,
                                    uint64_t *answered)
{
    struct native_session *own = session;
    const struct wire_peer *peer = &own->peer;
    own->peer.rights = access_login_rights(worker, &own->login);
    struct native_turn turn = {.worker = worker,
                               .scratch = worker->scratch,
                               .session = own,
                               .peer = peer,
                               .may_ask = (peer->rights & ACCESS_ASK) != 0,
                               .out = out,
                               .now_ns = now_ns,
                               .metrics = native_counts_as(peer)};
    struct native_input input = {.bytes = in};
    enum native_next next = NATIVE_AGAIN;
    enum native_decode_length length = NATIVE_DECODE_MORE;
    if (in.size == 0) {
        *consumed = 0;
        return WIRE_MORE;
    }
    engine_enter(worker->engine);
    while (next == NATIVE_AGAIN && out->size < WIRE_OUT_HIGH_BYTES) {
        next = native_gather(&turn, &input, &length);
        if (!native_answer(&turn, input.gathered)) {
            next = NATIVE_BROKEN;
        } else if (next == NATIVE_ODD) {
            next = native_odd(&turn, input.payload) ? NATIVE_AGAIN : NATIVE_BROKEN;
            arena_reset(worker->arena);
        } else if (next == NATIVE_BROKEN) {
            next = native_bad_length(&turn, length);
        }
    }
    engine_leave(worker->engine);
    *consumed = input.used;
    *answered += turn.answered;
    switch (next) {
    case NATIVE_AGAIN:
        return WIRE_FULL;
    case NATIVE_MORE:
        return WIRE_MORE;
    case NATIVE_ODD:
    case NATIVE_BROKEN:
        break;
    }
    return WIRE_CLOSE;
}

static bool native_is_waiting(const void *session, size_t unconsumed)
{
    (void)session;
    return unconsumed > 0;
}

static void native_timed_out(void *session, struct wire_worker *worker, struct buf *out)
{
    const struct native_session *own = session;
    native_append_goodbye(out, REQUEST_UNAVAILABLE,
                          "a frame was not finished within the request time-out");
    metrics_request_error(worker->metrics, native_counts_as(&own->peer), REQUEST_UNAVAILABLE);
}

static bool native_shutdown(void *session, struct buf *out)
{
    (void)session;
    native_append_goodbye(out, REQUEST_UNAVAILABLE, "the server is shutting down");
    return true;
}

static void native_refuse(struct buf *out)
{
    native_append_goodbye(out, REQUEST_UNAVAILABLE, "the server has no room for connections");
}

const struct wire_protocol native_protocol = {
    .name = "native",
    .metrics = METRICS_NATIVE,
    .input_bytes_max = LIMITS_CLIENT_LENGTH_BYTES_MAX + LIMITS_CLIENT_FRAME_BYTES_MAX,
    .open = native_open,
    .feed = native_feed,
    .is_waiting = native_is_waiting,
    .timed_out = native_timed_out,
    .shutdown = native_shutdown,
    .close = native_close,
    .refuse = native_refuse,
};
