/* One shape for every protocol: bytes in -> requests decided -> bytes out. No sockets, no loop:
 * an adapter can be fed from a file, a byte at a time (tests do).
 *
 * net/conn.c owns the connection and calls; one `const struct wire_protocol` per adapter. */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include "base/buf.h"
#include "engine/engine.h"

enum wire_changes { WIRE_CHANGES_LOCAL, WIRE_CHANGES_ALL, WIRE_CHANGES_NONE };

struct wire_admin;
struct access;
struct access_table;

/* What the operator configured, the same for all workers. */
struct wire_config {
    enum wire_changes allow_changes;
    struct access *access; /* wire/access.h: who may do what; NULL: no tokens are asked for */
    const struct wire_admin *admin; /* wire/admin.h: for peers of admin listeners; NULL: none */
    bool x_ratelimit_headers; /* HTTP answers carry X-RateLimit-* too */
};

/* What a worker lends to its adapters. */
struct wire_worker {
    const struct wire_config *config;
    struct engine_worker *engine;
    struct metrics_worker *metrics;
    struct arena *arena; /* scratch for one read; reset by the adapter at the start of feed */
    void *scratch;       /* wire_scratch: plans and requests of one read, shared by adapters */
    const struct access_table *tokens; /* those in force when a peer last showed one */
};

struct wire_peer {
    bool local; /* loopback or a Unix socket */
    bool admin; /* came in on an admin listener */
    unsigned rights; /* enum access_right, or-ed: what the token that it showed is good for */
};

enum wire_result {
    WIRE_MORE,  /* everything usable was consumed; give more bytes when they come */
    WIRE_FULL,  /* output is at its bound: call again with the rest, even if there is none, once
                 * it has drained */
    WIRE_CLOSE  /* write what is in `out`, then close */
};

/* Output an adapter leaves room for before each answer. */
#define WIRE_OUT_HIGH_BYTES (256u * 1024)

struct wire_protocol {
    const char *name; /* "native" */
    enum metrics_protocol metrics;
    size_t input_bytes_max; /* at most this many bytes of one unfinished request are kept */

    /* A session, or NULL without memory. May greet (append to out). */
    void *(*open)(struct wire_worker *worker, const struct wire_peer *peer, struct buf *out);

    /* Takes whole requests from `in`, decides them at now_ns and appends the answers. *consumed
     * says how much of `in` is done with; the caller keeps the rest and presents it again in front
     * of what comes next. *answered is raised by the decisions made (for the histogram). */
    enum wire_result (*feed)(void *session, struct wire_worker *worker, struct slice in,
                             size_t *consumed, int64_t now_ns, struct buf *out,
                             uint64_t *answered);

    /* A request was begun and not finished: the request time-out runs. `unconsumed` is what feed
     * left. */
    bool (*is_waiting)(const void *session, size_t unconsumed);

    /* May be NULL. Where an adapter keeps unfinished requests itself: when the oldest of them
     * began; 0: there is none. */
    int64_t (*waiting_since)(const void *session);

    /* The request time-out has passed: append the protocol's own error; the caller closes. */
    void (*timed_out)(void *session, struct wire_worker *worker, struct buf *out);

    /* The server is going: append the goodbye. True: close once written; false: the session
     * finishes by itself (GOAWAY). It is then called again after a while, now and then: true once
     * nothing is under way. */
    bool (*shutdown)(void *session, struct buf *out);

    void (*close)(void **session);

    /* A connection that there is no room for: what it is told before it is closed. No session. */
    void (*refuse)(struct buf *out);
};

#endif
