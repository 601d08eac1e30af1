/* How long a reload may keep a request waiting: with many counters held, the instant at which other
 * limits come into force (all shards are locked) and each step of the conversion (one is) are
 * measured in CPU time of this thread, so that what else the machine does is not counted.
 * SLUICE_FULL_TESTS=1 holds 10 million counters. */
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/limits_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAUSE_STEP_SLOTS = 256 };

#define PAUSE_MOST_NS 1e6

static void pause_require(bool good, const char *what)
{
    if (!good) {
        (void)fprintf(stderr, "reload_pause: %s\n", what);
        exit(1);
    }
}

static double pause_cpu_ns(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static struct policy_set *pause_limits(const struct store *store, struct metrics *metrics,
                                       unsigned limit)
{
    char text[200];
    struct policy_set *set = NULL;
    struct limits_file_report report;
    struct limits_file_options options = {.key = store_hash_key(store), .metrics = metrics};
    (void)snprintf(text, sizeof(text),
                   "limits:\n  a: {algorithm: token_bucket, limit: %u, window: 365d}\n"
                   "routes: {\"*\": [a]}\n", limit);
    limits_file_report_init(&report);
    pause_require(limits_file_parse("limits", slice_text(text), &options, &set, &report) ==
                      STATUS_OK, "limits");
    limits_file_report_deinit(&report);
    return set;
}

/* One request for each of `count` keys. */
static void pause_fill(struct engine_worker *worker, uint64_t count, int64_t now_ns)
{
    struct engine_plan plan;
    struct decision decision;
    struct request_error error;
    for (uint64_t i = 0; i < count; i++) {
        char key[24];
        int size = snprintf(key, sizeof(key), "%llu", (unsigned long long)i);
        struct request request = {.key = slice_make(key, (size_t)size),
                                  .route = slice_text("GET /"),
                                  .utf8 = true};
        engine_enter(worker);
        pause_require(engine_prepare(worker, &request, ENGINE_DECIDE, now_ns, &plan, &error) &&
                          engine_decide(worker, &plan, now_ns, &decision, &error) &&
                          decision.shown.allowed, "a decision");
    }
    engine_leave(worker);
}

/* Converts all; returns the longest step, and in *total what all of them took. */
static double pause_convert(struct engine *engine, int64_t now_ns, double *total)
{
    double longest = 0;
    *total = 0;
    while (!store_is_converted(engine_store(engine))) {
        double begin = pause_cpu_ns();
        (void)engine_sweep(engine, now_ns, PAUSE_STEP_SLOTS);
        double took = pause_cpu_ns() - begin;
        longest = took > longest ? took : longest;
        *total += took;
    }
    return longest;
}

int main(void)
{
    uint64_t count = getenv("SLUICE_FULL_TESTS") != NULL ? 10000000 : 1000000;
    int64_t now_ns = INT64_C(1767225600000000000);
    struct store_config config = {.key = {.bytes = {7}}};
    struct store *store = store_create(&config);
    struct metrics *metrics = metrics_create(1);
    pause_require(store != NULL && metrics != NULL, "memory");
    struct engine *engine =
        engine_create(&(struct engine_config){.store = store,
                                              .metrics = metrics,
                                              .set = pause_limits(store, metrics, 10)});
    struct engine_worker *worker = engine_worker_create(engine, metrics_worker(metrics, 0));
    pause_require(engine != NULL && worker != NULL, "memory");
    pause_fill(worker, count, now_ns);
    struct policy_set *next = pause_limits(store, metrics, 11);
    double begin = pause_cpu_ns();
    pause_require(engine_reload(engine, &next, now_ns, NULL) == STATUS_OK, "a reload");
    double swap = pause_cpu_ns() - begin;
    double total;
    double longest = pause_convert(engine, now_ns, &total);
    struct store_stats stats;
    store_stats(store, &stats);
    (void)printf("%llu counters: in force within %.0f us, converted in %.2f s, the longest step "
                 "%.0f us\n", (unsigned long long)stats.counters, swap / 1e3, total / 1e9,
                 longest / 1e3);
    pause_require(stats.counters == count, "a counter was lost");
    pause_require(swap < PAUSE_MOST_NS && longest < PAUSE_MOST_NS, "a pause of 1 ms or more");
    engine_worker_destroy(&worker);
    engine_destroy(&engine);
    store_destroy(&store);
    metrics_destroy(&metrics);
    return 0;
}
