/* The adapter of HTTP/2.
 *
 *   feed:  nghttp2 takes the bytes; its callbacks fill streams and find those that are whole
 *          http2_decide answers them
 *          nghttp2 gives the bytes of the answers, as far as windows and the output's bound allow
 *
 * All input is taken at once. What a peer can pile up by that is bounded: streams by
 * LIMITS_HTTP2_STREAMS_MAX, their heads and bodies each and together, answers by deciding no more
 * while those that wait are above WIRE_OUT_HIGH_BYTES, nghttp2's own memory by http2_memory, and
 * frames that ask for nothing (PING, SETTINGS, empty DATA ...) by a budget a minute.
 *
 * Going away takes two steps, so that no call fails: a notice and a PING, then, once the PING is
 * back and every call on its way has been seen, the number of the last stream. */
#include "wire/http2.h"

#include "base/clock.h"
#include "wire/http2_decide.h"
#include "wire/wire_scratch.h"

#include <stdlib.h>

#define HTTP2_WINDOW_BYTES (LIMITS_HTTP2_BODY_BYTES_MAX + 64u * 1024)
#define HTTP2_RESETS_A_SECOND 100
#define HTTP2_CONTROL_PERIOD_NS (60 * CLOCK_NS_PER_S)
#define HTTP2_CONTROL_A_REQUEST 16u /* control frames that one request pays for */

static const uint8_t http2_drain_ping[8] = {'g', 'o', 'i', 'n', 'g', 'a', 'w', 'y'};

static struct http2_stream *http2_find(nghttp2_session *codec, int32_t id)
{
    return nghttp2_session_get_stream_user_data(codec, id);
}

/* A frame that asks for nothing. */
static void http2_count_control(struct http2_session *session)
{
    if (session->now_ns - session->control_ns >= HTTP2_CONTROL_PERIOD_NS) {
        session->control_ns = session->now_ns;
        session->control = 0;
    }
    session->control++;
    if (session->control > LIMITS_HTTP2_CONTROL_FRAMES_MAX) {
        (void)nghttp2_session_terminate_session(session->codec, NGHTTP2_ENHANCE_YOUR_CALM);
    }
}

static void http2_check_due(struct http2_session *session, struct http2_stream *stream)
{
    if (http2_decide_is_due(stream)) {
        http2_stream_move(&session->streams, stream, HTTP2_READY);
    }
}

static int http2_on_begin_headers(nghttp2_session *codec, const nghttp2_frame *frame, void *data)
{
    struct http2_session *session = data;
    session->heading = NULL;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
        return 0;
    }
    struct http2_stream *stream = http2_stream_take(&session->streams, frame->hd.stream_id,
                                                    session->now_ns);
    if (stream == NULL) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    (void)nghttp2_session_set_stream_user_data(codec, frame->hd.stream_id, stream);
    session->heading = stream;
    return 0;
}

static int http2_on_header(nghttp2_session *codec, const nghttp2_frame *frame,
                           const uint8_t *name, size_t name_size, const uint8_t *value,
                           size_t value_size, uint8_t flags, void *data)
{
    struct http2_session *session = data;
    struct http2_stream *stream = session->heading;
    (void)codec;
    (void)frame;
    (void)flags;
    if (stream != NULL) {
        http2_stream_header(&session->streams, stream, slice_make(name, name_size),
                            slice_make(value, value_size));
    }
    return 0;
}

/* A header list or a piece of a body is whole. */
static void http2_on_part(struct http2_session *session, const nghttp2_frame *frame)
{
    struct http2_stream *stream = http2_find(session->codec, frame->hd.stream_id);
    if (stream == NULL) {
        return;
    }
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        http2_stream_head_end(stream);
    }
    stream->has_body = stream->has_body || frame->hd.type == NGHTTP2_DATA;
    stream->ended = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (stream->ended) {
        session->control -= session->control < HTTP2_CONTROL_A_REQUEST ? session->control
                                                                       : HTTP2_CONTROL_A_REQUEST;
    } else if (frame->hd.length == 0) {
        http2_count_control(session);
    }
    http2_check_due(session, stream);
}

/* Nothing of any stream is left to do. */
static bool http2_is_idle(const struct http2_session *session)
{
    for (int phase = 0; phase < HTTP2_PHASES; phase++) {
        if (session->streams.lists[phase].first != NULL) {
            return false;
        }
    }
    return true;
}

/* The last word: which stream was the last to be answered. */
static void http2_go_away(struct http2_session *session)
{
    (void)nghttp2_submit_goaway(session->codec, NGHTTP2_FLAG_NONE,
                                nghttp2_session_get_last_proc_stream_id(session->codec),
                                NGHTTP2_NO_ERROR, NULL, 0);
}

/* Our PING is back: the peer has seen the notice and begins nothing more. */
static void http2_on_ping(struct http2_session *session, const nghttp2_frame *frame)
{
    bool ours = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 &&
                memcmp(frame->ping.opaque_data, http2_drain_ping, sizeof(http2_drain_ping)) == 0;
    if (ours && session->draining) {
        http2_go_away(session);
    }
    http2_count_control(session);
}

static int http2_on_frame(nghttp2_session *codec, const nghttp2_frame *frame, void *data)
{
    struct http2_session *session = data;
    (void)codec;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        http2_on_part(session, frame);
        break;
    case NGHTTP2_PING:
        http2_on_ping(session, frame);
        break;
    default:
        http2_count_control(session);
        break;
    }
    return 0;
}

static int http2_on_data(nghttp2_session *codec, uint8_t flags, int32_t id, const uint8_t *bytes,
                         size_t size, void *data)
{
    struct http2_session *session = data;
    struct http2_stream *stream = http2_find(codec, id);
    (void)flags;
    if (stream != NULL) {
        http2_stream_body(&session->streams, stream, slice_make(bytes, size));
        if (stream->body_too_large) {
            http2_check_due(session, stream);
        }
    }
    return 0;
}

/* An answer has gone out before its request was whole: the peer need not send the rest. */
static int http2_on_sent(nghttp2_session *codec, const nghttp2_frame *frame, void *data)
{
    const struct http2_session *session = data;
    if (!session->early || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0 ||
        (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)) {
        return 0;
    }
    const struct http2_stream *stream = http2_find(codec, frame->hd.stream_id);
    if (stream != NULL && !stream->ended) {
        (void)nghttp2_submit_rst_stream(codec, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                        NGHTTP2_NO_ERROR);
    }
    return 0;
}

static int http2_on_close(nghttp2_session *codec, int32_t id, uint32_t code, void *data)
{
    struct http2_session *session = data;
    struct http2_stream *stream = http2_find(codec, id);
    (void)code;
    if (stream != NULL) {
        session->heading = session->heading == stream ? NULL : session->heading;
        (void)nghttp2_session_set_stream_user_data(codec, id, NULL);
        http2_stream_give_back(&session->streams, stream);
    }
    return 0;
}

static bool http2_make_codec(struct http2_session *session, nghttp2_session_callbacks *callbacks,
                             nghttp2_option *option)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, http2_on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, http2_on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, http2_on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, http2_on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, http2_on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, http2_on_close);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_stream_reset_rate_limit(option, LIMITS_HTTP2_RESETS_MAX,
                                               HTTP2_RESETS_A_SECOND);
    return nghttp2_session_server_new3(&session->codec, callbacks, session, option,
                                       &session->memory.functions) == 0;
}

/* What we tell every peer. */
static bool http2_greet(struct http2_session *session)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMITS_HTTP2_STREAMS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, HTTP2_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMITS_HTTP2_HEAD_BYTES_MAX},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    return nghttp2_submit_settings(session->codec, NGHTTP2_FLAG_NONE, settings,
                                   sizeof(settings) / sizeof(settings[0])) == 0 &&
           nghttp2_session_set_local_window_size(session->codec, NGHTTP2_FLAG_NONE, 0,
                                                 LIMITS_HTTP2_BODIES_BYTES_MAX) == 0;
}

static bool http2_begin(struct http2_session *session)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    bool good = nghttp2_session_callbacks_new(&callbacks) == 0 &&
                nghttp2_option_new(&option) == 0 &&
                http2_make_codec(session, callbacks, option) && http2_greet(session);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return good;
}

static void http2_close(void **data)
{
    struct http2_session *session = *data;
    nghttp2_session_del(session->codec);
    http2_stream_deinit(&session->streams);
    free(session);
    *data = NULL;
}

/* Moves what nghttp2 has to say to the output. */
static enum wire_result http2_send(struct http2_session *session, struct buf *out)
{
    const uint8_t *bytes;
    while (out->size < WIRE_OUT_HIGH_BYTES) {
        ssize_t size = nghttp2_session_mem_send(session->codec, &bytes);
        if (size == 0) {
            return WIRE_MORE;
        }
        if (size < 0) {
            return WIRE_CLOSE;
        }
        buf_append(out, bytes, (size_t)size);
        if (out->failed) {
            return WIRE_CLOSE;
        }
    }
    return WIRE_FULL;
}

static void *http2_open(struct wire_worker *worker, const struct wire_peer *peer, struct buf *out)
{
    struct http2_session *session = calloc(1, sizeof(*session));
    void *data = session;
    if (session == NULL) {
        return NULL;
    }
    session->worker = worker;
    session->peer = *peer;
    session->streams.pool = ((struct wire_scratch *)worker->scratch)->http2;
    http2_memory_init(&session->memory, session->streams.pool);
    if (!http2_begin(session) || http2_send(session, out) != WIRE_MORE) {
        http2_close(&data);
    }
    return data;
}

static enum wire_result http2_feed(void *data, struct wire_worker *worker, struct slice in,
                                   size_t *consumed, int64_t now_ns, struct buf *out,
                                   uint64_t *answered)
{
    struct http2_session *session = data;
    struct http2_streams *streams = &session->streams;
    session->worker = worker;
    session->now_ns = now_ns;
    session->answered = 0;
    *consumed = in.size;
    if (in.size > 0 && nghttp2_session_mem_recv(session->codec, in.data, in.size) < 0) {
        (void)http2_send(session, out);
        return WIRE_CLOSE;
    }
    enum wire_result result;
    do {
        http2_decide(session);
        result = http2_send(session, out);
    } while (result == WIRE_MORE && streams->lists[HTTP2_READY].first != NULL &&
             streams->answer_bytes < WIRE_OUT_HIGH_BYTES);
    *answered += session->answered;
    bool over = nghttp2_session_want_read(session->codec) == 0 &&
                nghttp2_session_want_write(session->codec) == 0;
    return result == WIRE_MORE && over ? WIRE_CLOSE : result;
}

static bool http2_is_waiting(const void *data, size_t unconsumed)
{
    const struct http2_session *session = data;
    (void)unconsumed;
    return session->streams.lists[HTTP2_ARRIVING].first != NULL;
}

static int64_t http2_waiting_since(const void *data)
{
    const struct http2_session *session = data;
    const struct http2_stream *oldest = session->streams.lists[HTTP2_ARRIVING].first;
    return oldest == NULL ? 0 : oldest->begun_ns;
}

static void http2_timed_out(void *data, struct wire_worker *worker, struct buf *out)
{
    struct http2_session *session = data;
    session->worker = worker;
    http2_decide_time_out(session);
    http2_go_away(session);
    (void)http2_send(session, out);
}

static bool http2_shutdown(void *data, struct buf *out)
{
    struct http2_session *session = data;
    bool idle = false;
    if (!session->draining) {
        session->draining = true;
        http2_decide_farewell(session);
        (void)nghttp2_submit_shutdown_notice(session->codec);
        (void)nghttp2_submit_ping(session->codec, NGHTTP2_FLAG_NONE, http2_drain_ping);
    } else if (http2_is_idle(session)) { /* a peer that does not answer PINGs while it is idle */
        idle = true;
        http2_go_away(session);
    }
    return http2_send(session, out) == WIRE_CLOSE || idle;
}

/* There is no room for the connection: SETTINGS, as every connection begins, and GOAWAY. */
static void http2_refuse(struct buf *out)
{
    static const uint8_t frames[] = {0, 0, 0, NGHTTP2_SETTINGS, 0, 0, 0, 0, 0,
                                     0, 0, 8, NGHTTP2_GOAWAY,   0, 0, 0, 0, 0,
                                     0, 0, 0, 0, 0, 0, 0, NGHTTP2_ENHANCE_YOUR_CALM};
    buf_append(out, frames, sizeof(frames));
}

const struct wire_protocol http2_protocol = {
    .name = "http2",
    .metrics = METRICS_GRPC,
    .input_bytes_max = 0,
    .open = http2_open,
    .feed = http2_feed,
    .is_waiting = http2_is_waiting,
    .waiting_since = http2_waiting_since,
    .timed_out = http2_timed_out,
    .shutdown = http2_shutdown,
    .close = http2_close,
    .refuse = http2_refuse,
};
