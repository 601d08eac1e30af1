/* The adapter of HTTP/1.x.
 *
 *   feed:  head     read in one pass (http1_head.c); not all here: wait, and read it again then
 *          body     by its length, or looked through chunk by chunk (http1_chunked.c)
 *          handle   http_api_handle decides
 *          answer   status, fields, body: appended; all answers of one read leave in one write
 *
 * A fault of framing is answered and ends the connection: what follows cannot be told apart from
 * the body of what came before. */
#include "wire/http1.h"

#include "base/clock.h"
#include "wire/http1_chunked.h"
#include "wire/http1_head.h"
#include "wire/http_api.h"
#include "wire/http_status.h"
#include "wire/json_out.h"

#include <stdlib.h>
#include <time.h>

/* The status line, Date, Content-Length, Connection and the empty line. */
#define HTTP1_FRONT_BYTES 192u
#define HTTP1_FIELD_BYTES 4u /* a field's colon, blank and line end */
#define HTTP1_DATE_BYTES 29u

struct http1_session {
    struct wire_peer peer;
    struct http1_chunked chunked; /* of the body that is coming in */
    bool continued;               /* 100 Continue has been said for it */
    bool partial;                 /* a request was begun and not finished */
};

enum http1_next {
    HTTP1_AGAIN, /* a request was answered; there may be another */
    HTTP1_MORE,  /* the next one is not all here */
    HTTP1_END    /* the connection ends with what was answered */
};

/* One feed. */
struct http1_turn {
    struct http1_session *session;
    struct wire_worker *worker;
    struct http1_head *head; /* of the request at hand */
    struct buf *out;
    int64_t now_ns;
    uint64_t *answered;
    bool has_date;
    uint8_t date[HTTP1_DATE_BYTES];
};

static void *http1_open(struct wire_worker *worker, const struct wire_peer *peer, struct buf *out)
{
    (void)worker;
    (void)out;
    struct http1_session *session = calloc(1, sizeof(*session));
    if (session != NULL) {
        session->peer = *peer;
    }
    return session;
}

static void http1_close(void **session)
{
    free(*session);
    *session = NULL;
}

static uint8_t *put_pair(uint8_t *at, int number)
{
    at[0] = (uint8_t)('0' + number / 10 % 10);
    at[1] = (uint8_t)('0' + number % 10);
    return at + 2;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT". */
static void http1_make_date(struct http1_turn *turn)
{
    static const char days[] = "Sun, Mon, Tue, Wed, Thu, Fri, Sat, ";
    static const char months[] = " Jan  Feb  Mar  Apr  May  Jun  Jul  Aug  Sep  Oct  Nov  Dec ";
    time_t now = (time_t)(turn->now_ns / CLOCK_NS_PER_S);
    struct tm tm;
    uint8_t *at = turn->date;
    if (gmtime_r(&now, &tm) == NULL) {
        memset(&tm, 0, sizeof(tm));
    }
    memcpy(at, days + (size_t)5 * (size_t)tm.tm_wday, 5);
    at = put_pair(at + 5, tm.tm_mday);
    memcpy(at, months + (size_t)5 * (size_t)tm.tm_mon, 5);
    at = put_pair(at + 5, (tm.tm_year + 1900) / 100);
    at = put_pair(at, (tm.tm_year + 1900) % 100);
    *at++ = ' ';
    at = put_pair(at, tm.tm_hour);
    *at++ = ':';
    at = put_pair(at, tm.tm_min);
    *at++ = ':';
    at = put_pair(at, tm.tm_sec);
    memcpy(at, " GMT", 4);
    turn->has_date = true;
}

static uint8_t *put_slice(uint8_t *at, struct slice text)
{
    if (text.size > 0) {
        memcpy(at, text.data, text.size);
    }
    return at + text.size;
}

static uint8_t *put_front(struct http1_turn *turn, uint8_t *at,
                          const struct http_response *response)
{
    at = json_out_text(at, "HTTP/1.1 ");
    at = json_out_number(at, (uint64_t)response->status);
    *at++ = ' ';
    at = json_out_text(at, http_status_phrase(response->status));
    at = json_out_text(at, "\r\n");
    for (uint32_t i = 0; i < response->header_count; i++) {
        at = put_slice(at, response->headers[i].name);
        at = json_out_text(at, ": ");
        at = put_slice(at, response->headers[i].value);
        at = json_out_text(at, "\r\n");
    }
    at = json_out_text(at, "date: ");
    at = put_slice(at, slice_make(turn->date, HTTP1_DATE_BYTES));
    at = json_out_text(at, "\r\ncontent-length: ");
    return json_out_number(at, response->body.size);
}

/* Appends the answer; `close`: it is the last. False: no memory. */
static bool http1_answer(struct http1_turn *turn, const struct http_response *response, bool close)
{
    const struct http1_head *head = turn->head;
    size_t bytes = HTTP1_FRONT_BYTES + response->body.size;
    for (uint32_t i = 0; i < response->header_count; i++) {
        bytes += response->headers[i].name.size + response->headers[i].value.size +
                 HTTP1_FIELD_BYTES;
    }
    uint8_t *begin = buf_reserve(turn->out, bytes);
    if (begin == NULL) {
        return false;
    }
    if (!turn->has_date) {
        http1_make_date(turn);
    }
    uint8_t *at = put_front(turn, begin, response);
    if (close) {
        at = json_out_text(at, "\r\nconnection: close");
    } else if (head->minor_0) {
        at = json_out_text(at, "\r\nconnection: keep-alive");
    }
    at = json_out_text(at, "\r\n\r\n");
    if (!slice_equal_text(head->request.method, "HEAD")) {
        at = put_slice(at, response->body);
    }
    buf_commit(turn->out, (size_t)(at - begin));
    return true;
}

static enum http1_next http1_fail(struct http1_turn *turn, int status, const char *detail)
{
    struct http_response response;
    http_api_problem(turn->worker, status, "", detail, &response);
    (void)http1_answer(turn, &response, true);
    return HTTP1_END;
}

/* The rest of a body is waited for: a peer that asked first is told to send it. */
static enum http1_next http1_wait(struct http1_turn *turn)
{
    struct http1_session *session = turn->session;
    if (turn->head->expect_continue && !session->continued) {
        buf_append_text(turn->out, "HTTP/1.1 100 Continue\r\n\r\n");
        session->continued = true;
    }
    return HTTP1_MORE;
}

/* The body of a known length, at the front of `in`. */
static enum http1_next http1_sized_body(struct http1_turn *turn, struct slice in, size_t bytes_max,
                                        size_t *used)
{
    struct http1_head *head = turn->head;
    if (head->content_length > bytes_max) {
        return http1_fail(turn, 413, "the body is longer than this endpoint takes");
    }
    size_t length = (size_t)head->content_length;
    if (in.size < length) {
        return http1_wait(turn);
    }
    head->request.body = slice_make(in.data, length);
    *used = length;
    return HTTP1_AGAIN;
}

static enum http1_next http1_chunked_body(struct http1_turn *turn, struct slice in,
                                          size_t bytes_max, size_t *used)
{
    struct http1_chunked *chunked = &turn->session->chunked;
    switch (http1_chunked_look(chunked, in, bytes_max)) {
    case HTTP1_CHUNKED_MORE:
        return http1_wait(turn);
    case HTTP1_CHUNKED_TOO_LONG:
        return http1_fail(turn, 413, "the body is longer than this endpoint takes");
    case HTTP1_CHUNKED_BAD:
        return http1_fail(turn, 400, chunked->detail);
    case HTTP1_CHUNKED_OK:
        break;
    }
    uint8_t *body = arena_alloc(turn->worker->arena, chunked->bytes + 1);
    if (body == NULL) {
        return http1_fail(turn, 503, "there is no memory for the body");
    }
    http1_chunked_join(in, body);
    turn->head->request.body = slice_make(body, chunked->bytes);
    *used = chunked->at;
    return HTTP1_AGAIN;
}

/* The head is read; the body stands behind it. */
static enum http1_next http1_body(struct http1_turn *turn, struct slice in, size_t *used)
{
    struct http1_head *head = turn->head;
    size_t bytes_max = http_api_body_bytes_max(head->request.path);
    enum http1_next next = HTTP1_AGAIN;
    size_t body = 0;
    in = slice_make(in.data + head->size, in.size - head->size);
    if (head->chunked) {
        next = http1_chunked_body(turn, in, bytes_max, &body);
    } else if (head->has_length) {
        next = http1_sized_body(turn, in, bytes_max, &body);
    }
    *used = head->size + body;
    return next;
}

static enum http1_next http1_handle(struct http1_turn *turn)
{
    struct http_response response;
    http_api_handle(turn->worker, &turn->session->peer, &turn->head->request, turn->now_ns,
                    &response, turn->answered);
    turn->session->chunked = (struct http1_chunked){.at = 0};
    turn->session->continued = false;
    return http1_answer(turn, &response, turn->head->close) && !turn->head->close ? HTTP1_AGAIN
                                                                                  : HTTP1_END;
}

/* The request at the front of `in`: read and answered, or waited for. */
static enum http1_next http1_one(struct http1_turn *turn, struct slice in, size_t *used)
{
    *used = 0;
    turn->head->request.method = slice_make(NULL, 0);
    turn->head->minor_0 = false;
    /* One empty line before a request line is an old client's end of a body. */
    size_t skip = in.size >= 2 && in.data[0] == '\r' && in.data[1] == '\n' ? 2 : 0;
    in = slice_make(in.data + skip, in.size - skip);
    if (in.size == 0 || (in.size == 1 && skip == 0 && in.data[0] == '\r')) {
        return HTTP1_MORE;
    }
    arena_reset(turn->worker->arena);
    switch (http1_head_read(turn->head, in)) {
    case HTTP1_HEAD_MORE:
        return HTTP1_MORE;
    case HTTP1_HEAD_BAD:
        return http1_fail(turn, turn->head->status, turn->head->detail);
    case HTTP1_HEAD_OK:
        break;
    }
    enum http1_next next = http1_body(turn, in, used);
    if (next != HTTP1_AGAIN) {
        *used = 0;
        return next;
    }
    *used += skip;
    return http1_handle(turn);
}

static enum wire_result http1_feed(void *session, struct wire_worker *worker, struct slice in,
                                   size_t *consumed, int64_t now_ns, struct buf *out,
                                   uint64_t *answered)
{
    struct http1_head head;
    struct http1_turn turn = {.session = session,
                              .worker = worker,
                              .head = &head,
                              .out = out,
                              .now_ns = now_ns,
                              .answered = answered};
    enum http1_next next = HTTP1_AGAIN;
    *consumed = 0;
    engine_enter(worker->engine);
    while (next == HTTP1_AGAIN && out->size < WIRE_OUT_HIGH_BYTES) {
        size_t used;
        next = http1_one(&turn, slice_make(in.data + *consumed, in.size - *consumed), &used);
        *consumed += used;
    }
    engine_leave(worker->engine);
    turn.session->partial = next == HTTP1_MORE && in.size > *consumed;
    switch (next) {
    case HTTP1_AGAIN:
        return WIRE_FULL;
    case HTTP1_MORE:
        return WIRE_MORE;
    case HTTP1_END:
        break;
    }
    return WIRE_CLOSE;
}

static bool http1_is_waiting(const void *session, size_t unconsumed)
{
    (void)session;
    return unconsumed > 0;
}

static void http1_timed_out(void *session, struct wire_worker *worker, struct buf *out)
{
    struct http1_head head;
    struct http1_turn turn = {.session = session,
                              .worker = worker,
                              .head = &head,
                              .out = out,
                              .now_ns = clock_now_ns()};
    head.request.method = slice_make(NULL, 0);
    arena_reset(worker->arena);
    (void)http1_fail(&turn, 408, "a request was not finished within the request time-out");
}

/* What a peer is told without a request of its own: 503, and to come again. */
static void http1_append_unavailable(struct buf *out, const char *detail)
{
    static const char front[] = "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\","
                                "\"status\":503,\"detail\":\"";
    buf_printf(out,
               "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n"
               "cache-control: no-store\r\nretry-after: 1\r\nconnection: close\r\n"
               "content-length: %zu\r\n\r\n%s%s\"}",
               sizeof(front) - 1 + strlen(detail) + 2, front, detail);
}

/* An idle connection just ends: that is what keep-alive allows for. */
static bool http1_shutdown(void *session, struct buf *out)
{
    if (((const struct http1_session *)session)->partial) {
        http1_append_unavailable(out, "the server is shutting down");
    }
    return true;
}

static void http1_refuse(struct buf *out)
{
    http1_append_unavailable(out, "the server has no room for connections");
}

const struct wire_protocol http1_protocol = {
    .name = "http",
    .metrics = METRICS_HTTP,
    .input_bytes_max = LIMITS_HTTP_HEAD_BYTES_MAX + 2 * LIMITS_HTTP_BATCH_BODY_BYTES_MAX,
    .open = http1_open,
    .feed = http1_feed,
    .is_waiting = http1_is_waiting,
    .timed_out = http1_timed_out,
    .shutdown = http1_shutdown,
    .close = http1_close,
    .refuse = http1_refuse,
};
