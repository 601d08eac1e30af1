/* What a bench, or one thread of it, has counted. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include "histogram.h"

#include <stdbool.h>
#include <stddef.h>

#define BENCH_RESULT_BIN_NS INT64_C(100000000) /* of throughput over time: 100 ms */
#define BENCH_RESULT_CODES 18u                 /* Error codes; the last: any other */

struct bench_result {
    /* Questions of the measured part, by their answer. */
    uint64_t allowed;
    uint64_t refused;
    uint64_t errors;
    uint64_t codes[BENCH_RESULT_CODES];
    /* Questions of the whole run that went unanswered or were answered with something else. */
    uint64_t wrong;
    uint64_t missing;
    char trouble[256]; /* the first of them, in words */

    struct histogram latency_ns; /* one value an answered frame */
    bool started;
    int64_t start_ns; /* of the first measured question */
    int64_t last_ns;  /* of the last answer to a measured one */
    int64_t cpu_ns;   /* of the thread, in between */
    double cpu_share_max; /* of the busiest thread */
    uint64_t *bins;
    size_t bin_count;
    size_t bin_capacity;
};

void bench_result_init(struct bench_result *result);
void bench_result_deinit(struct bench_result *result);

/* Counts `questions` answered at now_ns into their bin. */
void bench_result_bin(struct bench_result *result, int64_t now_ns, uint64_t questions);

/* Keeps the first trouble. */
void bench_result_trouble(struct bench_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a thread's numbers; bins are put side by side by their time. */
void bench_result_add(struct bench_result *result, const struct bench_result *thread);

static inline uint64_t bench_result_answered(const struct bench_result *result)
{
    return result->allowed + result->refused + result->errors;
}

double bench_result_seconds(const struct bench_result *result);

#endif
