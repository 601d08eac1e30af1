/* A bench's connection in the Redis protocol: the same frames, worded as commands; replies come in
 * the order of the commands and bring no id, so the ids wait in a ring. */
#ifndef BENCH_RESP_H
#define BENCH_RESP_H

#include "bench_worker.h"
#include "sluice_decode.h"

/* False: no memory. */
bool bench_resp_init(struct bench_conn *conn);
void bench_resp_deinit(struct bench_conn *conn);

/* Appends the command of one question to conn->out. False: no memory. */
bool bench_resp_push(struct bench_conn *conn, uint32_t id);

/* The first reply in conn->in; its frame has the id of the question. */
enum sluice_decode_result bench_resp_next(struct bench_conn *conn,
                                          struct sluice_decode_frame *frame, size_t *consumed);

#endif
