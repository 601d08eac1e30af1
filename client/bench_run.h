/* A whole bench: connects, starts the threads, waits, adds up. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "base/buf.h"
#include "bench_load.h"
#include "bench_result.h"
#include "sluice.h"

struct bench_run_options {
    const char *server;
    struct sluice_options secure; /* the token and the certificates; nothing else of it counts */
    uint32_t connections;
    uint32_t in_flight;
    uint32_t threads;
    uint32_t batch;      /* 0: single questions */
    uint64_t requests;   /* single questions, also in batches; 0: by duration */
    int64_t duration_ns;
    int64_t warmup_ns;
    uint64_t rate;       /* questions a second; 0: closed loop */
    bool show_progress;  /* on stderr */
};

/* False: it did not come to asking; *message says why. *result is inited by the caller. */
bool bench_run(const struct bench_run_options *options, const struct bench_load *load,
               struct bench_result *result, struct buf *message);

#endif
