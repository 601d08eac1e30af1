/* What a decision costs in process: no socket, no frame, the engine and the store as the daemon
 * uses them. A hot key, and keys drawn evenly from KEYS; one request at a time, and 32 prepared
 * ahead as an adapter does with the requests of one read.
 * Usage: bench_decide KEYS; prints one line of JSON. */
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/limits_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DECIDE_AHEAD = 32, DECIDE_ROUNDS = 4000000, DECIDE_KEY_BYTES = 27 };

static struct request requests[DECIDE_AHEAD];
static struct engine_plan plans[DECIDE_AHEAD];
static char texts[DECIDE_AHEAD][40];

static void decide_fail(const char *what)
{
    (void)fprintf(stderr, "bench_decide: %s\n", what);
    exit(1);
}

static uint64_t decide_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* CPU time of this process: what others do meanwhile does not count. */
static double decide_cpu_ns(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

/* "user-%08u-0123456789abcd", without printf's cost. */
static void decide_key(uint32_t slot, uint64_t key)
{
    char *text = texts[slot];
    memcpy(text, "user-00000000-0123456789abcd", 28);
    for (int at = 12; at > 4; at--) {
        text[at] = (char)('0' + key % 10);
        key /= 10;
    }
    requests[slot] = (struct request){.key = slice_make(text, DECIDE_KEY_BYTES),
                                      .route = slice_text("GET /bench/route/a"),
                                      .utf8 = true};
}

/* Nanoseconds a decision over `rounds`, keys below `keys`, `ahead` prepared at a time. */
static double decide_run(struct engine_worker *worker, uint64_t keys, uint32_t ahead,
                         uint64_t rounds, bool in_order, uint64_t *allowed)
{
    uint64_t random = UINT64_C(88172645463325252);
    struct decision decision;
    struct request_error error;
    double begin = decide_cpu_ns();
    for (uint64_t done = 0; done < rounds; done += ahead) {
        int64_t now = clock_now_ns();
        engine_enter(worker);
        for (uint32_t i = 0; i < ahead; i++) {
            uint64_t draw = in_order ? done + i : decide_random(&random);
            decide_key(i, draw % keys);
            if (!engine_prepare(worker, &requests[i], ENGINE_DECIDE, now, &plans[i], &error)) {
                decide_fail(error.message);
            }
        }
        for (uint32_t i = 0; i < ahead; i++) {
            if (!engine_decide(worker, &plans[i], now, &decision, &error)) {
                decide_fail(error.message);
            }
            *allowed += decision.shown.allowed;
        }
    }
    return (decide_cpu_ns() - begin) / (double)rounds;
}

int main(int argc, char **argv)
{
    uint64_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    static const char limits[] = "limits:\n"
                                 "  bench: {algorithm: token_bucket, limit: 1000000000, "
                                 "window: 1h}\n"
                                 "routes: {\"*\": [bench]}\n";
    clock_start();
    struct store_config config = {0};
    hash_random_key(&config.key);
    struct store *store = store_create(&config);
    struct metrics *metrics = metrics_create(1);
    struct limits_file_report report;
    struct policy_set *set = NULL;
    limits_file_report_init(&report);
    struct limits_file_options options = {.key = &config.key, .metrics = metrics};
    if (store == NULL || metrics == NULL ||
        limits_file_parse("bench", slice_text(limits), &options, &set, &report) != STATUS_OK) {
        decide_fail("cannot set up");
    }
    struct engine *engine = engine_create(
        &(struct engine_config){.store = store, .metrics = metrics, .set = set});
    struct engine_worker *worker = engine_worker_create(engine, metrics_worker(metrics, 0));
    uint64_t allowed = 0;
    double hot_1 = decide_run(worker, 1, 1, DECIDE_ROUNDS, false, &allowed);
    double hot_32 = decide_run(worker, 1, DECIDE_AHEAD, DECIDE_ROUNDS, false, &allowed);
    double fill = decide_run(worker, keys, DECIDE_AHEAD, keys, true, &allowed);
    double wide_1 = decide_run(worker, keys, 1, DECIDE_ROUNDS, false, &allowed);
    double wide_32 = decide_run(worker, keys, DECIDE_AHEAD, DECIDE_ROUNDS, false, &allowed);
    struct store_stats stats;
    store_stats(store, &stats);
    (void)printf("{\"keys\":%llu,\"hot_ns\":%.1f,\"hot_ahead_ns\":%.1f,\"fill_ns\":%.1f,"
                 "\"uniform_ns\":%.1f,\"uniform_ahead_ns\":%.1f,\"bytes_a_counter\":%.1f,"
                 "\"allowed\":%llu}\n",
                 (unsigned long long)keys, hot_1, hot_32, fill, wide_1, wide_32,
                 (double)stats.memory_bytes / (double)stats.counters,
                 (unsigned long long)allowed);
    engine_worker_destroy(&worker);
    engine_destroy(&engine);
    metrics_destroy(&metrics);
    store_destroy(&store);
    limits_file_report_deinit(&report);
    return 0;
}
