/* A thread of a bench over HTTP or gRPC: libcurl's multi interface in place of the loop and the
 * connections of bench_worker.c, which still says what is sent when. */
#ifndef BENCH_WEB_H
#define BENCH_WEB_H

#include "bench_worker.h"
#include "sluice_url.h"

struct bench_web;

/* NULL: no memory. */
struct bench_web *bench_web_create(const struct sluice_url *url,
                                   const struct sluice_options *secure, uint32_t connections,
                                   uint32_t in_flight);
void bench_web_destroy(struct bench_web **web);

/* In place of bench_worker_run. */
void bench_web_run(struct bench_web *web, struct bench_worker *worker, int64_t start_ns);

#endif
