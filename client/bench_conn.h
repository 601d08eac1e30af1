/* One connection of a bench: frames out in one write, answers in, each checked. */
#ifndef BENCH_CONN_H
#define BENCH_CONN_H

#include "bench_worker.h"

/* `fd` is connected. False without memory or when the loop does not take it. */
bool bench_conn_init(struct bench_conn *conn, struct bench_worker *worker, int fd, bool is_unix);
void bench_conn_deinit(struct bench_conn *conn);

/* Begins to listen for answers. */
void bench_conn_start(struct bench_conn *conn);

/* Puts one frame into `out`; the connection has a free slot. False: it could not be built. */
bool bench_conn_push(struct bench_conn *conn, const struct bench_worker_turn *turn);

/* Writes what is in `out`. */
void bench_conn_flush(struct bench_conn *conn);

/* Counts what is still unanswered as missing, and closes. */
void bench_conn_close(struct bench_conn *conn);

#endif
