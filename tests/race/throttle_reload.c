/* Workers throttle the same keys while limits are reloaded under them: the builtin policy has
 * another number in every file, and yet exactly as many units are granted as there are. */
#include "engine/engine_throttle.h"
#include "engine/limits_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKERS 3
#define KEYS 7
#define READS 1500
#define READ_REQUESTS 16
#define UNITS 9000u /* of each key: fewer than are asked for */
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

static const char keys[KEYS + 1] = "abcdefg";

/* File n has n % 4 limits in front of the builtin policies. */
static struct policy_set *file_number(struct race *race, unsigned number)
{
    static const char *const texts[] = {
        "limits: {}\nroutes: {}\n",
        "limits: {a: {algorithm: fixed_window, limit: 1, window: 1s}}\nroutes: {'*': [a]}\n",
        "limits: {a: {algorithm: fixed_window, limit: 1, window: 1s},\n"
        "         b: {algorithm: token_bucket, limit: 1, window: 1s}}\nroutes: {'*': [a, b]}\n",
        "limits: {c: {algorithm: sliding_window_log, limit: 1, window: 1s},\n"
        "         a: {algorithm: fixed_window, limit: 1, window: 1s},\n"
        "         b: {algorithm: token_bucket, limit: 1, window: 1s}}\nroutes: {'*': [a, b, c]}\n",
    };
    struct policy_set *set = NULL;
    struct limits_file_report report;
    struct limits_file_options options = {.key = store_hash_key(race->store),
                                          .metrics = race->metrics,
                                          .now_ns = NOW_NS};
    limits_file_report_init(&report);
    REQUIRE(limits_file_parse("limits.yaml", slice_text(texts[number % 4]), &options, &set,
                              &report) == STATUS_OK);
    limits_file_report_deinit(&report);
    return set;
}

/* A unit is 315.6… ns, in parts of 1/999999999999937: the state is a wide one. */
static const struct engine_throttle_numbers numbers = {
    .max_burst = UNITS - 1, .count = 999999999999937, .period_s = 315619200, .quantity = 1};

static void one_read(struct runner *runner)
{
    static _Thread_local struct engine_throttle throttles[READ_REQUESTS];
    struct engine_throttle_answer answer;
    struct request_error error;
    unsigned chosen[READ_REQUESTS];
    engine_enter(runner->worker);
    for (int i = 0; i < READ_REQUESTS; i++) {
        chosen[i] = (unsigned)rand_r(&runner->seed) % KEYS;
        engine_throttle_prepare(runner->worker, slice_make(keys + chosen[i], 1), &numbers,
                                &throttles[i]);
    }
    for (int i = 0; i < READ_REQUESTS; i++) {
        REQUIRE(engine_throttle_decide(runner->worker, &throttles[i], NOW_NS, &answer, &error));
        REQUIRE(answer.limit == UNITS && answer.remaining < UNITS);
        REQUIRE(!answer.limited || answer.remaining == 0);
        runner->allowed[chosen[i]] += !answer.limited;
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

static unsigned reload_meanwhile(struct race *race)
{
    unsigned reloads = 0;
    struct policy_set *next = NULL;
    while (atomic_load(&race->running) > 0) {
        if (next == NULL) {
            next = file_number(race, reloads + 1);
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

static void check_totals(const struct runner *runners)
{
    static struct engine_throttle throttle;
    struct engine_throttle_numbers look = numbers;
    struct engine_throttle_answer answer;
    struct request_error error;
    look.quantity = 0;
    for (unsigned k = 0; k < KEYS; k++) {
        uint64_t allowed = 0;
        for (int i = 0; i < WORKERS; i++) {
            allowed += runners[i].allowed[k];
        }
        engine_enter(runners[0].worker);
        engine_throttle_prepare(runners[0].worker, slice_make(keys + k, 1), &look, &throttle);
        REQUIRE(engine_throttle_decide(runners[0].worker, &throttle, NOW_NS, &answer, &error));
        engine_leave(runners[0].worker);
        REQUIRE(allowed == UNITS && answer.remaining == 0);
    }
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
    check_totals(runners);
    for (int i = 0; i < WORKERS; i++) {
        engine_worker_destroy(&runners[i].worker);
    }
    engine_destroy(&race.engine);
    store_destroy(&race.store);
    metrics_destroy(&race.metrics);
    (void)printf("%u reloads, %d decisions\n", reloads, WORKERS * READS * READ_REQUESTS);
    return 0;
}
