#include "wire/web.h"

#include "wire/http1.h"
#include "wire/http2.h"

#include <stdlib.h>

/* How an HTTP/2 connection begins. Its first line is no request of HTTP/1: no method is called
 * PRI, so the line alone decides. */
static const char web_preface[] = "PRI * HTTP/2.0\r\n";

#define WEB_PREFACE_BYTES (sizeof(web_preface) - 1)

struct web_session {
    const struct wire_protocol *inner; /* NULL: not yet told */
    void *session;                     /* inner's */
    struct wire_peer peer;
};

void *web_open(struct wire_worker *worker, const struct wire_peer *peer, struct buf *out)
{
    struct web_session *session = calloc(1, sizeof(*session));
    (void)worker;
    (void)out;
    if (session != NULL) {
        session->peer = *peer;
    }
    return session;
}

/* NULL: the bytes do not tell yet. */
static const struct wire_protocol *web_tell(struct slice in)
{
    size_t size = in.size < WEB_PREFACE_BYTES ? in.size : WEB_PREFACE_BYTES;
    if (size == 0) {
        return NULL;
    }
    if (memcmp(in.data, web_preface, size) != 0) {
        return &http1_protocol;
    }
    return size == WEB_PREFACE_BYTES ? &http2_protocol : NULL;
}

enum wire_result web_feed(void *data, struct wire_worker *worker, struct slice in,
                          size_t *consumed, int64_t now_ns, struct buf *out, uint64_t *answered)
{
    struct web_session *session = data;
    if (session->inner == NULL) {
        const struct wire_protocol *inner = web_tell(in);
        *consumed = 0;
        if (inner == NULL) {
            return WIRE_MORE;
        }
        session->session = inner->open(worker, &session->peer, out);
        if (session->session == NULL) {
            return WIRE_CLOSE;
        }
        session->inner = inner;
    }
    return session->inner->feed(session->session, worker, in, consumed, now_ns, out, answered);
}

bool web_is_waiting(const void *data, size_t unconsumed)
{
    const struct web_session *session = data;
    return session->inner == NULL ? unconsumed > 0
                                  : session->inner->is_waiting(session->session, unconsumed);
}

int64_t web_waiting_since(const void *data)
{
    const struct web_session *session = data;
    return session->inner == NULL || session->inner->waiting_since == NULL
               ? 0
               : session->inner->waiting_since(session->session);
}

void web_timed_out(void *data, struct wire_worker *worker, struct buf *out)
{
    struct web_session *session = data;
    if (session->inner != NULL) {
        session->inner->timed_out(session->session, worker, out);
    }
}

bool web_shutdown(void *data, struct buf *out)
{
    struct web_session *session = data;
    return session->inner == NULL || session->inner->shutdown(session->session, out);
}

void web_close(void **data)
{
    struct web_session *session = *data;
    if (session->inner != NULL) {
        session->inner->close(&session->session);
    }
    free(session);
    *data = NULL;
}

/* Which version the peer would have spoken is not known; most read this. */
static void web_refuse(struct buf *out)
{
    http1_protocol.refuse(out);
}

const struct wire_protocol web_protocol = {
    .name = "http",
    .metrics = METRICS_HTTP,
    .input_bytes_max = LIMITS_HTTP_HEAD_BYTES_MAX + WEB_BODY_BYTES,
    .open = web_open,
    .feed = web_feed,
    .is_waiting = web_is_waiting,
    .waiting_since = web_waiting_since,
    .timed_out = web_timed_out,
    .shutdown = web_shutdown,
    .close = web_close,
    .refuse = web_refuse,
};
