/* Workers decide while limits are reloaded under them. Plain asserts, so that it also runs where
 * ThreadSanitizer watches.
 *
 * File i has three limits of three algorithms, each of its own base number + i. Every answer must
 * come from one file alone (never a mix), and no unit may be lost or counted twice: at each answer
 * all three have used the same, and in the end exactly what was allowed. */
#include "engine/engine.h"
#include "engine/limits_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKERS 3
#define KEYS 40
#define READS 1500
#define READ_REQUESTS 16
#define BASE_A 1000000000ull
#define BASE_B 2000000000ull /* times its window it does not fit 64 bits: a wide counter */
#define BASE_LOG 500000ull
#define NOW_NS INT64_C(1767225600000000000)

struct race {
    struct store *store;
    struct metrics *metrics;
    struct engine *engine;
    atomic_uint running;
};

struct runner {
    struct race *race;
    struct engine_worker *worker;
    unsigned seed;
    uint64_t allowed[KEYS];
};

#define REQUIRE(condition)                                                                        \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            (void)fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);    \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

static struct policy_set *file_number(struct race *race, unsigned number)
{
    char text[640];
    struct policy_set *set = NULL;
    struct limits_file_report report;
    struct limits_file_options options = {.key = store_hash_key(race->store),
                                          .metrics = race->metrics,
                                          .now_ns = NOW_NS};
    (void)snprintf(text, sizeof(text),
                   "limits:\n"
                   "  a: {algorithm: fixed_window, limit: %llu, window: 365d}\n"
                   "  b: {algorithm: token_bucket, limit: %llu, window: 365d}\n"
                   "  log: {algorithm: sliding_window_log, limit: %llu, window: 365d}\n"
                   "%s"
                   "routes:\n"
                   "  \"*\": [%s]\n",
                   BASE_A + number, BASE_B + number, BASE_LOG + number,
                   number % 2 == 0 ? "  c: {algorithm: fixed_window, limit: 7, window: 1s}\n" : "",
                   number % 3 == 0 ? "b, log, a" : "a, b, log");
    limits_file_report_init(&report);
    REQUIRE(limits_file_parse("limits.yaml", slice_text(text), &options, &set, &report) ==
            STATUS_OK);
    limits_file_report_deinit(&report);
    return set;
}

static const struct decision_row *row_of(const struct decision *decision, const char *name)
{
    for (uint32_t i = 0; i < decision->row_count; i++) {
        if (slice_equal_text(decision->rows[i].limit_name, name)) {
            return &decision->rows[i];
        }
    }
    REQUIRE(false);
    return NULL;
}

static void check_answer(const struct decision *decision)
{
    REQUIRE(decision->shown.allowed && decision->row_count == 3);
    const struct decision_row *a = row_of(decision, "a");
    const struct decision_row *b = row_of(decision, "b");
    const struct decision_row *log = row_of(decision, "log");
    REQUIRE(a->limit - BASE_A == b->limit - BASE_B && a->limit - BASE_A == log->limit - BASE_LOG);
    REQUIRE(a->limit - a->remaining == b->limit - b->remaining);
    REQUIRE(a->limit - a->remaining == log->limit - log->remaining);
    REQUIRE(slice_equal_text(decision->shown.limit_name, "log"));
    REQUIRE(decision->shown.remaining == log->remaining);
}

static void one_read(struct runner *runner)
{
    static const char *const keys = "0123456789abcdefghijklmnopqrstuvwxyzABCD";
    struct request requests[READ_REQUESTS];
    struct engine_plan plans[READ_REQUESTS];
    struct request_error error;
    struct decision decision;
    unsigned chosen[READ_REQUESTS];

    engine_enter(runner->worker);
    for (int i = 0; i < READ_REQUESTS; i++) {
        chosen[i] = (unsigned)rand_r(&runner->seed) % KEYS;
        requests[i] = (struct request){.key = slice_make(keys + chosen[i], 1),
                                       .route = slice_text("r"),
                                       .details = true};
        REQUIRE(engine_prepare(runner->worker, &requests[i], ENGINE_DECIDE, NOW_NS, &plans[i],
                               &error));
    }
    for (int i = 0; i < READ_REQUESTS; i++) {
        REQUIRE(engine_decide(runner->worker, &plans[i], NOW_NS, &decision, &error));
        check_answer(&decision);
        runner->allowed[chosen[i]]++;
    }
    engine_leave(runner->worker);
}

static void *run(void *argument)
{
    struct runner *runner = argument;
    for (int i = 0; i < READS; i++) {
        one_read(runner);
    }
    atomic_fetch_sub(&runner->race->running, 1);
    return NULL;
}

/* Reloads as fast as the store applies the changes, until the workers are through. */
static unsigned reload_meanwhile(struct race *race)
{
    unsigned reloads = 0;
    struct policy_set *next = NULL;
    while (atomic_load(&race->running) > 0) {
        if (next == NULL) {
            next = file_number(race, reloads % 1000 + 1);
        }
        enum status status = engine_reload(race->engine, &next, NOW_NS, NULL);
        REQUIRE(status == STATUS_OK || status == STATUS_UNAVAILABLE);
        reloads += status == STATUS_OK;
        (void)engine_sweep(race->engine, NOW_NS, 64);
    }
    if (next != NULL) {
        policy_set_destroy(&next);
    }
    return reloads;
}

static void check_totals(struct race *race, struct runner *runners)
{
    static const char *const keys = "0123456789abcdefghijklmnopqrstuvwxyzABCD";
    struct engine_worker *worker = runners[0].worker;
    for (unsigned k = 0; k < KEYS; k++) {
        uint64_t allowed = 0;
        struct request request = {.key = slice_make(keys + k, 1),
                                  .route = slice_text("r"),
                                  .has_cost = true,
                                  .cost = 0};
        struct engine_plan plan;
        struct request_error error;
        struct decision look;
        for (int i = 0; i < WORKERS; i++) {
            allowed += runners[i].allowed[k];
        }
        engine_enter(worker);
        REQUIRE(engine_prepare(worker, &request, ENGINE_DECIDE, NOW_NS, &plan, &error));
        REQUIRE(engine_decide(worker, &plan, NOW_NS, &look, &error));
        REQUIRE(look.shown.limit - look.shown.remaining == allowed);
        engine_leave(worker);
    }
    REQUIRE(metrics_read_decisions(race->metrics, metrics_limit(race->metrics, slice_text("log")),
                                   METRICS_ALLOWED) == WORKERS * READS * READ_REQUESTS + KEYS);
}

int main(void)
{
    struct store_config config = {.shards = 4};
    struct race race = {.store = store_create(&config), .metrics = metrics_create(WORKERS)};
    struct runner runners[WORKERS] = {0};
    pthread_t threads[WORKERS];

    REQUIRE(race.store != NULL && race.metrics != NULL);
    struct engine_config engine = {race.store, race.metrics, file_number(&race, 0)};
    race.engine = engine_create(&engine);
    REQUIRE(race.engine != NULL);
    atomic_init(&race.running, WORKERS);
    for (unsigned i = 0; i < WORKERS; i++) {
        runners[i].race = &race;
        runners[i].seed = i + 1;
        runners[i].worker = engine_worker_create(race.engine, metrics_worker(race.metrics, i));
        REQUIRE(runners[i].worker != NULL);
        REQUIRE(pthread_create(&threads[i], NULL, run, &runners[i]) == 0);
    }
    unsigned reloads = reload_meanwhile(&race);
    for (int i = 0; i < WORKERS; i++) {
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    }
    REQUIRE(reloads > 0);
    check_totals(&race, runners);
    for (int i = 0; i < WORKERS; i++) {
        engine_worker_destroy(&runners[i].worker);
    }
    engine_destroy(&race.engine);
    store_destroy(&race.store);
    metrics_destroy(&race.metrics);
    (void)printf("%u reloads, %d decisions\n", reloads, WORKERS * READS * READ_REQUESTS);
    return 0;
}
