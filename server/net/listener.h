/* One --listen: a bound socket, and the connections that arrive at it. */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include "net/inherit.h"
#include "net/listener_bind.h"
#include "net/worker.h"

struct listener {
    const struct wire_protocol *protocol;
    struct worker_pool *pool;       /* set by listener_start */
    struct metrics_worker *metrics; /* the main thread's block */
    struct tls *tls;                /* set before listener_start; NULL, or Unix sockets: plain */
    uv_poll_t poll;
    int fd;
    int spare_fd; /* given up to accept one more when the process has no descriptors left */
    bool admin;
    bool started;
    bool shared;           /* what arrives at the address arrives at another listener */
    struct listener_bind_file file; /* of a Unix socket that we made */
    struct address address; /* as bound: with the port that was picked */
};

/* Binds and listens, or takes the inherited socket of the same address (or, failing that, of the
 * protocol's name). On failure *why is one phrase: "port in use". */
STATUS_CHECKED enum status listener_open(struct listener *listener,
                                         const struct wire_protocol *protocol,
                                         const struct address *address,
                                         enum listener_manner manner, struct inherit *inherit,
                                         const char **why);

/* The listener at the same address, open already, takes what arrives for this one too: its protocol
 * tells the two apart. */
enum status listener_share(struct listener *listener, const struct wire_protocol *protocol,
                           const struct listener *owner);

/* Hands what arrives to the pool. */
STATUS_CHECKED enum status listener_start(struct listener *listener, uv_loop_t *loop,
                                          struct worker_pool *pool,
                                          struct metrics_worker *metrics);

/* The daemon before this one has left. */
void listener_settle(struct listener *listener);

/* A hand-over: first what comes from now on is turned to the listener of the daemon beside this
 * one, then those who came before that are taken. */
void listener_turn_away(struct listener *listener);
void listener_drain(struct listener *listener);

/* Stops listening and removes the Unix socket's file; the loop has to run once more. */
void listener_close(struct listener *listener);

#endif
