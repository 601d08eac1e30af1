#include "wire/http2_decide.h"

#include "wire/access.h"
#include "wire/http2_reply.h"

/* A request too large in one way or another. */
static bool http2_decide_is_too_large(const struct http2_stream *stream)
{
    return stream->head_too_large || stream->body_too_large;
}

/* The path without the query. */
static struct slice http2_decide_path(const struct http2_stream *stream)
{
    const uint8_t *mark = stream->path.size == 0
                              ? NULL
                              : memchr(stream->path.data, '?', stream->path.size);
    return mark == NULL ? stream->path
                        : slice_make(stream->path.data, (size_t)(mark - stream->path.data));
}

/* The JSON API's own bounds are narrower than those of a call. */
static bool http2_decide_is_too_long(const struct http2_stream *stream)
{
    return stream->method == NULL && !stream->grpc &&
           stream->body.size > http_api_body_bytes_max(http2_decide_path(stream));
}

/* A watch that has its answer: it stays open, whatever its caller does. */
static bool http2_decide_watches(const struct http2_stream *stream)
{
    return stream->grpc && stream->method != NULL && stream->method->kind == GRPC_WATCH &&
           stream->submitted;
}

/* A gRPC call of a method that is here. */
static bool http2_decide_is_call(const struct http2_stream *stream)
{
    return stream->grpc && stream->method != NULL;
}

bool http2_decide_is_due(const struct http2_stream *stream)
{
    struct slice message;
    size_t used;
    if (stream->complete || stream->phase == HTTP2_READY || http2_decide_watches(stream)) {
        return false;
    }
    if (stream->ended || http2_decide_is_too_large(stream) || http2_decide_is_too_long(stream)) {
        return true;
    }
    if (!http2_decide_is_call(stream)) {
        return stream->grpc; /* no such method: its body does not matter */
    }
    switch (grpc_frame(buf_slice(&stream->body), &message, &used)) {
    case GRPC_FRAME_MORE:
        return false;
    case GRPC_FRAME_WHOLE:
        return stream->method->kind != GRPC_UNARY;
    case GRPC_FRAME_BAD:
    case GRPC_FRAME_COMPRESSED:
    case GRPC_FRAME_TOO_LONG:
        break;
    }
    return true;
}

static void http2_decide_fail(struct http2_session *session, struct http2_stream *stream,
                              int code, const char *message)
{
    struct request_error error;
    request_error_set(&error, REQUEST_INTERNAL, "", "%s", message);
    http2_reply_status(session, stream, code, &error);
}

/* Why a call cannot be taken at all. False: nothing is wrong with it. */
static bool http2_decide_refuse(struct http2_session *session, struct http2_stream *stream)
{
    if (stream->head_too_large) {
        http2_decide_fail(session, stream, REQUEST_RESOURCE_EXHAUSTED,
                          "the headers are more than 16384 bytes or 100 fields");
        static_assert(LIMITS_HTTP2_HEAD_BYTES_MAX == 16384 && LIMITS_HTTP2_HEADERS_MAX == 100,
                      "what the message says");
    } else if (stream->method == NULL) {
        http2_decide_fail(session, stream, REQUEST_UNIMPLEMENTED,
                          "there is no such method; reflection lists those there are");
    } else if (stream->timeout_invalid) {
        http2_decide_fail(session, stream, REQUEST_INVALID_ARGUMENT,
                          "grpc-timeout is no number of at most 8 digits with a unit");
    } else if (stream->timeout_ns >= 0 &&
               session->now_ns - stream->begun_ns >= stream->timeout_ns) {
        http2_decide_fail(session, stream, GRPC_DEADLINE_EXCEEDED,
                          "the deadline passed before the call was decided; nothing was counted");
    } else {
        return false;
    }
    return true;
}

/* Answers the message at the front of the body. False: the call has ended. */
static bool http2_decide_message(struct http2_session *session, struct http2_stream *stream,
                                 struct slice message, bool complete)
{
    struct wire_worker *worker = session->worker;
    struct request_error error;
    size_t before = stream->answer.size;
    struct wire_peer peer = session->peer;
    peer.rights = stream->rights;
    struct grpc_call call = {.worker = worker,
                             .peer = &peer,
                             .now_ns = session->now_ns,
                             .message = message,
                             .draining = session->draining,
                             .out = &stream->answer,
                             .answered = &session->answered,
                             .error = &error};
    engine_rewind(worker->engine);
    enum request_code code = grpc_answer(stream->method, &call);
    arena_reset(worker->arena);
    if (code != REQUEST_OK) {
        http2_reply_status(session, stream, (int)code, &error);
        return false;
    }
    http2_reply_messages(session, stream, before, complete);
    return !complete;
}

static void http2_decide_bad_frame(struct http2_session *session, struct http2_stream *stream,
                                   enum grpc_frame frame)
{
    struct request_error error;
    if (frame == GRPC_FRAME_MORE && stream->body_too_large) {
        frame = GRPC_FRAME_TOO_LONG;
    }
    grpc_frame_error(frame, &error);
    http2_reply_status(session, stream, (int)error.code, &error);
}

static void http2_decide_unary(struct http2_session *session, struct http2_stream *stream)
{
    struct slice message;
    size_t used;
    enum grpc_frame frame = grpc_frame(buf_slice(&stream->body), &message, &used);
    if (frame != GRPC_FRAME_WHOLE) {
        http2_decide_bad_frame(session, stream, frame);
    } else if (used < stream->body.size || stream->body_too_large) {
        http2_decide_fail(session, stream, REQUEST_INVALID_ARGUMENT,
                          "the call has more than the one message that its method takes");
    } else {
        (void)http2_decide_message(session, stream, message, true);
    }
}

/* Answers each message of a call that may go on. */
static void http2_decide_stream(struct http2_session *session, struct http2_stream *stream)
{
    struct slice message;
    size_t used;
    enum grpc_frame frame;
    while ((frame = grpc_frame(buf_slice(&stream->body), &message, &used)) == GRPC_FRAME_WHOLE) {
        if (!http2_decide_message(session, stream, message, false)) {
            return;
        }
        http2_stream_consume_body(&session->streams, stream, used);
        if (session->streams.answer_bytes >= WIRE_OUT_HIGH_BYTES) {
            break;
        }
    }
    if (frame == GRPC_FRAME_WHOLE || http2_decide_watches(stream)) {
        return;
    }
    if (frame != GRPC_FRAME_MORE || stream->body_too_large ||
        (stream->ended && stream->body.size > 0)) {
        http2_decide_bad_frame(session, stream, frame);
    } else if (stream->ended) {
        http2_reply_status(session, stream, REQUEST_OK, NULL);
    }
}

/* What the call's token is good for. A call that stays open keeps what it began with. */
static unsigned http2_decide_rights(struct http2_session *session,
                                    const struct http2_stream *stream)
{
    struct wire_worker *worker = session->worker;
    struct http_request request;
    struct slice token;
    uint32_t count;
    if (worker->config->access == NULL) {
        return ACCESS_ALL;
    }
    if (!http2_stream_headers(stream, worker->arena, &request)) {
        return 0;
    }
    struct slice value = http_api_header(&request, "authorization", &count);
    return count == 1 && access_bearer(value, &token) ? access_rights(worker, token) : 0;
}

/* May the call be answered? Whoever looks after the daemon's health shows no token. False: it was
 * refused. */
static bool http2_decide_admits(struct http2_session *session, struct http2_stream *stream)
{
    struct wire_peer peer = session->peer;
    struct request_error error;
    stream->rights = http2_decide_rights(session, stream);
    peer.rights = stream->rights;
    if (stream->method->right == 0 ||
        access_check(&peer, (enum access_right)stream->method->right, &error)) {
        return true;
    }
    http2_reply_status(session, stream, (int)error.code, &error);
    return false;
}

static void http2_decide_call(struct http2_session *session, struct http2_stream *stream)
{
    if (!stream->submitted &&
        (http2_decide_refuse(session, stream) || !http2_decide_admits(session, stream))) {
        return;
    }
    if (stream->method->kind == GRPC_UNARY) {
        http2_decide_unary(session, stream);
    } else {
        http2_decide_stream(session, stream);
    }
}

static void http2_decide_problem(struct http2_session *session, struct http2_stream *stream,
                                 int status, const char *detail)
{
    struct http_response response = {0};
    http_api_problem(session->worker, status, "", detail, &response);
    http2_reply_http(session, stream, &response);
}

/* A request of the JSON API. */
static void http2_decide_http(struct http2_session *session, struct http2_stream *stream)
{
    struct wire_worker *worker = session->worker;
    struct http_response response = {0};
    struct http_request request = {.method = stream->verb,
                                   .path = http2_decide_path(stream),
                                   .body = buf_slice(&stream->body),
                                   .has_body = stream->has_body};
    if (request.path.size < stream->path.size) {
        request.query = slice_make(stream->path.data + request.path.size + 1,
                                   stream->path.size - request.path.size - 1);
    }
    if (!http2_stream_headers(stream, worker->arena, &request)) {
        http2_decide_problem(session, stream, 503, "no memory to read the request");
        return;
    }
    http_api_handle(worker, &session->peer, &request, session->now_ns, &response,
                    &session->answered);
    http2_reply_http(session, stream, &response);
}

static void http2_decide_one(struct http2_session *session, struct http2_stream *stream)
{
    if (stream->grpc && slice_equal_text(stream->verb, "POST")) {
        http2_decide_call(session, stream);
    } else if (stream->head_too_large) {
        http2_decide_problem(session, stream, 431,
                             "the headers are more than 16384 bytes or 100 fields");
    } else if (stream->body_too_large || http2_decide_is_too_long(stream)) {
        http2_decide_problem(session, stream, 413,
                             "the body is longer than the 65536 bytes allowed, 262144 for a batch");
        static_assert(LIMITS_HTTP_BODY_BYTES_MAX == 65536 &&
                          LIMITS_HTTP_BATCH_BODY_BYTES_MAX == 262144, "what the message says");
    } else if (stream->method != NULL) {
        http2_decide_problem(session, stream, stream->grpc ? 405 : 415,
                             stream->grpc ? "a gRPC method is called with POST"
                                          : "a gRPC method takes content-type application/grpc");
    } else {
        http2_decide_http(session, stream);
    }
    arena_reset(session->worker->arena);
}

/* Where a stream goes that was decided. */
static void http2_decide_settle(struct http2_session *session, struct http2_stream *stream)
{
    struct http2_streams *streams = &session->streams;
    if (stream->complete) {
        http2_stream_drop_body(streams, stream);
    }
    bool begun = !stream->complete && stream->body.size > 0;
    if (begun) {
        stream->begun_ns = session->now_ns;
    }
    http2_stream_move(streams, stream, begun ? HTTP2_ARRIVING : HTTP2_ANSWERED);
    if (!stream->complete && http2_decide_is_due(stream)) { /* its next message is here already */
        http2_stream_move(streams, stream, HTTP2_READY);
    }
}

void http2_decide(struct http2_session *session)
{
    struct http2_stream_list *ready = &session->streams.lists[HTTP2_READY];
    if (ready->first == NULL) {
        return;
    }
    arena_reset(session->worker->arena);
    engine_enter(session->worker->engine);
    while (ready->first != NULL && session->streams.answer_bytes < WIRE_OUT_HIGH_BYTES) {
        struct http2_stream *stream = ready->first;
        http2_decide_one(session, stream);
        http2_decide_settle(session, stream);
    }
    engine_leave(session->worker->engine);
}

void http2_decide_farewell(struct http2_session *session)
{
    struct http2_stream *stream = session->streams.lists[HTTP2_ANSWERED].first;
    engine_enter(session->worker->engine);
    for (; stream != NULL; stream = stream->next) {
        if (stream->complete) {
            continue;
        }
        if (stream->method->kind == GRPC_WATCH) {
            (void)http2_decide_message(session, stream, slice_make(NULL, 0), false);
        }
        http2_decide_fail(session, stream, REQUEST_UNAVAILABLE, "the server is shutting down");
    }
    engine_leave(session->worker->engine);
}

void http2_decide_time_out(struct http2_session *session)
{
    struct http2_stream *stream = session->streams.lists[HTTP2_ARRIVING].first;
    for (; stream != NULL; stream = stream->next) {
        if (stream->grpc) {
            http2_decide_fail(session, stream, REQUEST_UNAVAILABLE,
                              "the request was not finished within the request time-out");
        } else {
            http2_decide_problem(session, stream, 408,
                                 "the request was not finished within the request time-out");
        }
    }
    arena_reset(session->worker->arena);
}
