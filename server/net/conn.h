/* One connection: bytes from a socket to its adapter and back, bounded both ways.
 *
 *   read -> [what was left over] + new bytes -> feed -> one write
 *                                                        | the socket takes all: read on
 *                                                        | it does not: stop reading until it has
 *
 * A peer that does not read is not read from, so it holds at most one unfinished request and the
 * answers of one round. The connections of a worker share its read and write buffers; one that
 * waits for nothing holds neither.
 *
 * Thread safety: none; all of it belongs to the thread of its loop. */
#ifndef NET_CONN_H
#define NET_CONN_H

#include "net/tls.h"
#include "wire/wire.h"

#include <uv.h>

struct conn;

struct conn_timeouts {
    int64_t request_ns; /* for one unfinished request; 0: none */
    int64_t idle_ns;    /* without a byte either way; 0: none */
};

/* What the connections of one worker share. */
struct conn_home {
    uv_loop_t *loop;
    struct wire_worker *wire;
    struct conn_timeouts timeouts;
    void (*on_closed)(void *data); /* after each connection has gone */
    void *data;

    /* own */
    struct conn *first;
    uint32_t count;
    uint8_t *input;    /* each read lands here, behind what was left over */
    struct buf output; /* the answers of one read */
    uint8_t *plain;    /* what `input` is for plain connections, once a TLS one was there */
    struct buf records; /* the answers of one read, as TLS sends them */
    uv_timer_t tick;   /* runs only while a connection has a deadline */
    uint64_t tick_ms;
    bool ticking;
    bool stopping;
};

/* A socket that was accepted. */
struct conn_socket {
    int fd;
    bool is_unix;
    const struct wire_protocol *protocol;
    struct wire_peer peer;
    struct ssl_ctx_st *tls; /* from tls_context; NULL: plain. conn_open takes it over, too */
};

STATUS_CHECKED enum status conn_home_init(struct conn_home *home);
/* After the last connection has gone; the loop has to run once more to close the timer. */
void conn_home_deinit(struct conn_home *home);

/* Takes the socket over; on failure it is closed. */
STATUS_CHECKED enum status conn_open(struct conn_home *home, const struct conn_socket *socket);

/* The server is going: each connection is told once its answers are written, then closed. */
void conn_home_stop(struct conn_home *home);
/* Time is up. */
void conn_home_close_all(struct conn_home *home);

#endif
