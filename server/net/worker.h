/* The threads that serve connections: each owns a loop, its connections, its scratch memory and its
 * metrics, and shares nothing on its busy path but the store. One more serves the connections of
 * admin listeners, so that nothing an operator asks for keeps a request waiting.
 *
 *   main thread: accept -> worker_pool_take -> the worker with the fewest connections
 *                                                 | queue, wake-up
 *   worker:                                      conn_open ... until the peer or the server goes */
#ifndef NET_WORKER_H
#define NET_WORKER_H

#include "net/conn.h"

struct worker_config {
    uint32_t count;            /* threads, 1 to LIMITS_WORKERS_MAX */
    uint64_t max_connections;  /* over all of them */
    struct conn_timeouts timeouts;
    const struct wire_config *wire;
    struct engine *engine;
    bool admin;                /* a thread for peers of admin listeners, beside the others */
    struct metrics *metrics;   /* made for count + 2: then come the main thread's block and the
                                * admin thread's */
};

struct worker_pool;

/* Makes and starts them. */
STATUS_CHECKED enum status worker_pool_create(const struct worker_config *config,
                                              struct worker_pool **out);

/* Main thread: hands a socket over. False: there is no room for it; the socket stays the
 * caller's. */
STATUS_CHECKED bool worker_pool_take(struct worker_pool *pool, const struct conn_socket *socket);

/* Those of admin listeners excluded: they are bounded by themselves. */
uint64_t worker_pool_connections(const struct worker_pool *pool);

/* Answers what was read, says goodbye, and ends the threads within deadline_ms; then all of it is
 * given back. */
void worker_pool_destroy(struct worker_pool **pool, uint64_t deadline_ms);

#endif
