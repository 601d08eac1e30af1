/* Many threads on one store: exact totals whatever else goes on. A plain main, for the thread
 * sanitizer. Every unit admitted is counted by the thread that was told so; in the end the
 * counters must hold just that, and no limit may have been passed.
 *
 *   workers    charge shared counters, several a request, make new ones, look, prefetch
 *   keeper     sweeps, swaps policies back and forth, reads statistics */
#include "base/clock.h"
#include "store/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS 4
#define ROUNDS 12000
#define SHARED 24           /* counters all threads use */
#define QUOTA 20000u        /* of most of them; the last three run out */
#define SMALL_QUOTA 777u
#define PRIVATE 3000        /* short-lived counters a thread makes */
#define COUNTERS_MAX 9000   /* bound of the store */

enum { WINDOW, BUCKET, LOG, SHORT, POLICIES };

struct race {
    struct store *store;
    struct limiter_policy numbers[2][POLICIES];
    struct store_policies sets[2];
    struct shared_set {
        pthread_mutex_t lock;
        const struct store_policies *set; /* in force */
    } current;
    struct store_change change;
    uint32_t map[POLICIES];
    int64_t start_ns;
    pthread_mutex_t done_lock;
    int workers_left;
    bool failed;
};

struct worker {
    struct race *race;
    uint64_t seed;
    uint64_t number;
    uint64_t admitted[SHARED];
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    return z ^ z >> 27;
}

static const struct store_policies *current_set(struct race *race)
{
    pthread_mutex_lock(&race->current.lock);
    const struct store_policies *set = race->current.set;
    pthread_mutex_unlock(&race->current.lock);
    return set;
}

static void fail(struct race *race, const char *what)
{
    fprintf(stderr, "%s\n", what);
    pthread_mutex_lock(&race->done_lock);
    race->failed = true;
    pthread_mutex_unlock(&race->done_lock);
}

static struct fingerprint id_of(const struct race *race, uint64_t number)
{
    return hash_bytes(store_hash_key(race->store), &number, sizeof(number));
}

static uint64_t quota_of(uint64_t shared)
{
    return shared >= SHARED - 3 ? SMALL_QUOTA : QUOTA;
}

/* Shared counters are fixed windows, buckets and logs of an hour: nothing leaves meanwhile but what
 * a bucket drains, which the hour makes less than a unit (time stands still but for SHORT). */
static void charge_shared(struct worker *worker)
{
    struct race *race = worker->race;
    struct store_item items[3];
    uint64_t which[3];
    uint32_t count = 1 + (uint32_t)(next_random(&worker->seed) % 3);
    uint64_t cost = 1 + next_random(&worker->seed) % 2;
    enum status status = STATUS_STALE;
    bool allowed = false;
    which[0] = next_random(&worker->seed) % SHARED;
    which[1] = (which[0] + 1 + next_random(&worker->seed) % (SHARED / 2)) % SHARED;
    which[2] = (which[1] + SHARED / 2 - 1) % SHARED;
    if (which[2] == which[0]) {
        count = count == 3 ? 2 : count;
    }
    while (status == STATUS_STALE) {
        const struct store_policies *set = current_set(race);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t policy = (uint32_t)(which[i] % 3);
            items[i] = (struct store_item){.id = id_of(race, which[i]),
                                           .policy = &set->policies[policy],
                                           .cost = cost};
            store_prefetch(race->store, items[i].id);
        }
        status = store_decide(race->store, set, items, count, race->start_ns, &allowed);
    }
    if (status != STATUS_OK) {
        fail(race, "a request failed");
        return;
    }
    for (uint32_t i = 0; i < count && allowed; i++) {
        worker->admitted[which[i]] += cost;
        if (items[i].verdict != STORE_ADMITTED) {
            fail(race, "allowed, but one of its limits did not admit");
        }
    }
}

/* Counters that live for a moment of their own thread's time, at the store's bound. */
static void charge_private(struct worker *worker, uint64_t round)
{
    struct race *race = worker->race;
    enum status status = STATUS_STALE;
    struct store_stats stats;
    bool allowed;
    while (status == STATUS_STALE) {
        const struct store_policies *set = current_set(race);
        struct store_item item = {
            .id = id_of(race, 1000 + worker->number * 1000000 + round % PRIVATE),
            .policy = &set->policies[SHORT],
            .cost = 1};
        status = store_decide(race->store, set, &item, 1,
                              race->start_ns + (int64_t)round * 10000, &allowed);
    }
    if (round % 64 == 0) {
        store_stats(race->store, &stats);
        if (stats.counters > COUNTERS_MAX) {
            fail(race, "more counters than allowed");
        }
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct race *race = worker->race;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        charge_shared(worker);
        charge_private(worker, round);
    }
    pthread_mutex_lock(&race->done_lock);
    race->workers_left--;
    pthread_mutex_unlock(&race->done_lock);
    return NULL;
}

static bool is_over(struct race *race)
{
    pthread_mutex_lock(&race->done_lock);
    bool over = race->workers_left == 0;
    pthread_mutex_unlock(&race->done_lock);
    return over;
}

static void make_sets(struct race *race)
{
    int64_t hour_ns = INT64_C(3600) * CLOCK_NS_PER_S;
    for (uint32_t i = 0; i < 2; i++) {
        struct limiter_policy *numbers = race->numbers[i];
        /* The quotas are the same: a swap between these sets must lose and mint nothing. */
        limiter_policy_init(&numbers[WINDOW], LIMITER_FIXED_WINDOW, QUOTA, 0, hour_ns, NULL);
        limiter_policy_init(&numbers[BUCKET], LIMITER_TOKEN_BUCKET, QUOTA, 0,
                            hour_ns * (i + 1), NULL);
        limiter_policy_init(&numbers[LOG], LIMITER_SLIDING_LOG, QUOTA, 0, hour_ns, NULL);
        limiter_policy_init(&numbers[SHORT], LIMITER_TOKEN_BUCKET, 1000, 0, CLOCK_NS_PER_S, NULL);
        for (uint32_t k = 0; k < POLICIES; k++) {
            numbers[k].id = k;
        }
        race->sets[i] = (struct store_policies){.policies = numbers, .count = POLICIES};
    }
    for (uint32_t k = 0; k < POLICIES; k++) {
        race->map[k] = k;
    }
}

/* The counters that run out: all but a little is used before the threads start. */
static uint64_t use_up(struct race *race, uint64_t shared)
{
    struct store_item item = {.id = id_of(race, shared),
                              .policy = &race->sets[0].policies[shared % 3],
                              .cost = QUOTA - quota_of(shared)};
    bool allowed;
    if (item.cost == 0) {
        return 0;
    }
    if (store_decide(race->store, &race->sets[0], &item, 1, race->start_ns, &allowed) !=
            STATUS_OK || !allowed) {
        fail(race, "a first charge failed");
    }
    return item.cost;
}

static void keep(struct race *race)
{
    uint32_t in_force = 0;
    int swaps = 0;
    while (!is_over(race)) {
        struct store_stats stats;
        (void)store_sweep(race->store, race->start_ns, 700);
        store_stats(race->store, &stats);
        if (!store_is_converted(race->store)) {
            continue;
        }
        uint32_t next = 1 - in_force;
        race->change = (struct store_change){
            .next = &race->sets[next], .map = race->map, .at_ns = race->start_ns};
        if (store_swap(race->store, &race->change) != STATUS_OK) {
            fail(race, "a swap was refused though all was converted");
            return;
        }
        pthread_mutex_lock(&race->current.lock);
        race->current.set = &race->sets[next];
        pthread_mutex_unlock(&race->current.lock);
        in_force = next;
        swaps++;
    }
    printf("%d swaps\n", swaps);
}

/* What the counters hold must be what the threads were told. */
static void check(struct race *race, const uint64_t *admitted)
{
    const struct store_policies *set = current_set(race);
    for (uint64_t i = 0; i < SHARED; i++) {
        struct store_item item = {.id = id_of(race, i), .policy = &set->policies[i % 3]};
        bool allowed;
        if (store_decide(race->store, set, &item, 1, race->start_ns, &allowed) != STATUS_OK) {
            fail(race, "a look failed");
        }
        if (admitted[i] > QUOTA || item.report.remaining != QUOTA - admitted[i]) {
            fprintf(stderr, "counter %d: %lu admitted, %lu remain of %u\n", (int)i,
                    (unsigned long)admitted[i], (unsigned long)item.report.remaining, QUOTA);
            race->failed = true;
        }
    }
    if (admitted[SHARED - 1] != QUOTA) {
        fail(race, "a counter that should have run out did not");
    }
}

int main(void)
{
    struct race race = {.workers_left = WORKERS,
                        .start_ns = INT64_C(1700000000) * CLOCK_NS_PER_S};
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    uint64_t admitted[SHARED];
    struct store_config config = {.shards = 8, .max_counters = COUNTERS_MAX};
    pthread_mutex_init(&race.current.lock, NULL);
    pthread_mutex_init(&race.done_lock, NULL);
    hash_random_key(&config.key);
    race.store = store_create(&config);
    make_sets(&race);
    store_install(race.store, &race.sets[0]);
    race.current.set = &race.sets[0];
    for (uint64_t i = 0; i < SHARED; i++) {
        admitted[i] = use_up(&race, i);
    }
    for (uint64_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.race = &race, .seed = i + 1, .number = i};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    keep(&race);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        for (int k = 0; k < SHARED; k++) {
            admitted[k] += workers[i].admitted[k];
        }
    }
    check(&race, admitted);
    store_destroy(&race.store);
    printf("%s\n", race.failed ? "failed" : "exact");
    return race.failed ? 1 : 0;
}
