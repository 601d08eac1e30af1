#include "net/conn_tls.h"

#include "base/clock.h"
#include "base/log.h"
#include "net/conn_deadline.h"

#include <stdlib.h>

#define CONN_TLS_OUTPUT_KEEP_BYTES (1024u * 1024)

bool conn_tls_open(struct conn *conn, struct ssl_ctx_st *context)
{
    struct conn_home *home = conn->home;
    enum metrics_protocol counts_as = conn->protocol->metrics;
    bool web = counts_as == METRICS_HTTP || counts_as == METRICS_GRPC;
    if (home->plain == NULL) {
        home->plain = malloc(CONN_JOIN_BYTES + CONN_READ_BYTES);
    }
    if (home->plain == NULL) {
        tls_release(context);
        return false;
    }
    conn->tls = tls_session_create(context, web);
    return conn->tls != NULL;
}

void conn_tls_await(struct conn *conn)
{
    conn->waiting_ns = clock_now_ns();
    conn_deadline_watch(conn->home);
}

struct buf *conn_tls_seal(struct conn *conn)
{
    struct buf *plain = &conn->home->output;
    struct buf *records = &conn->home->records;
    if (plain->size > 0 && !tls_session_write(conn->tls, buf_slice(plain), records)) {
        /* A record of which a part is missing would not be understood: nothing is sent. */
        buf_clear(records);
        conn_close(conn);
    }
    buf_clear(plain);
    buf_trim(plain, CONN_TLS_OUTPUT_KEEP_BYTES);
    return records;
}

void conn_tls_finish(struct conn *conn)
{
    struct buf *records = conn_tls_seal(conn);
    if (conn->state != CONN_CLOSED) {
        tls_session_finish(conn->tls, records);
    }
}

/* The session can go no further. */
static void conn_tls_broken(struct conn *conn)
{
    LOG_EVENT(LOG_LEVEL_DEBUG, "TLS connection ended",
              {"protocol", slice_text(conn->protocol->name)},
              {"why", slice_text(tls_session_why(conn->tls))});
    conn_end(conn);
}

/* False: it is not over, or there is no connection any more. */
static bool conn_tls_handshake(struct conn *conn)
{
    enum tls_result result = tls_session_handshake(conn->tls, &conn->home->records);
    if (result == TLS_MORE) {
        conn_send(conn);
        return false;
    }
    if (result != TLS_DONE) {
        conn_tls_broken(conn);
        return false;
    }
    conn->waiting_ns = 0;
    return conn_begin(conn);
}

/* Reads plain bytes once and feeds them. False: there are none (any more). */
static bool conn_tls_read(struct conn *conn)
{
    struct conn_home *home = conn->home;
    size_t left = conn->input.size;
    bool own = left > CONN_JOIN_BYTES;
    uint8_t *room = own ? buf_reserve(&conn->input, CONN_READ_BYTES) : home->plain + left;
    size_t size;
    if (room == NULL) {
        conn_close(conn);
        return false;
    }
    enum tls_result result =
        tls_session_read(conn->tls, room, CONN_READ_BYTES, &size, &home->records);
    if (result == TLS_MORE) {
        conn_send(conn);
        return false;
    }
    if (result == TLS_ENDED) {
        conn_end(conn);
        return false;
    }
    if (result == TLS_BROKEN) {
        conn_tls_broken(conn);
        return false;
    }
    if (own) {
        buf_commit(&conn->input, size);
        conn_feed(conn, buf_slice(&conn->input), conn->last_ns);
        return true;
    }
    if (left > 0) {
        memcpy(home->plain, conn->input.data + conn->input.start, left);
    }
    conn_feed(conn, slice_make(home->plain, left + size), conn->last_ns);
    return true;
}

void conn_tls_pull(struct conn *conn)
{
    bool more = true;
    while (more && conn->state == CONN_OPEN && !conn->writing) {
        more = conn->session == NULL ? conn_tls_handshake(conn) : conn_tls_read(conn);
    }
    if (conn->state == CONN_OPEN && !tls_session_keep(conn->tls)) {
        conn_close(conn);
    }
}

void conn_tls_take(struct conn *conn, struct slice records)
{
    tls_session_give(conn->tls, records);
    conn_tls_pull(conn);
}
