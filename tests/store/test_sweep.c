/* House-keeping: what goes when, in small steps, and the memory with it; reloads. */
#include "store_fixture.h"

#include <stdlib.h>

static int64_t sweep_all(struct store *store, int64_t now_ns)
{
    int64_t steps = 0;
    while (store_sweep(store, now_ns, 2000)) {
        steps++;
        cr_assert_lt(steps, 1000000, "sweeping does not end");
    }
    return steps;
}

static void sweeps_dead(enum limiter_algorithm algorithm, uint64_t count)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, algorithm, 10, 0, FIXTURE_S, NULL);
    policy.id = 0;
    struct store_policies set = {.policies = &policy, .count = 1};
    struct fixture_source memory = {0};
    struct pages_source source = fixture_pages(&memory);
    struct store *store = store_create_from(&(struct store_config){0}, &source);
    store_install(store, &set);
    for (uint64_t i = 0; i < count; i++) {
        cr_assert(fixture_charge(store, &set, 0, i, 10, FIXTURE_T0));
    }
    cr_expect_eq(fixture_stats(store).counters, count);
    /* Full at T0, as if never used a second later (two for the counter of two windows), swept
     * another second later and not before. */
    int64_t idle_ns = FIXTURE_T0 + FIXTURE_S * (algorithm == LIMITER_SLIDING_COUNTER ? 2 : 1);
    (void)sweep_all(store, idle_ns + FIXTURE_S - 1);
    cr_expect_eq(fixture_stats(store).counters, count, "%d", algorithm);
    /* A pass over what was not due is not repeated at once: at most a pause later it is. */
    (void)sweep_all(store, idle_ns + FIXTURE_S + FIXTURE_S / 2);
    struct store_stats stats = fixture_stats(store);
    cr_expect_eq(stats.counters, 0, "%d: %lu", algorithm, stats.counters);
    cr_expect_eq(stats.swept, count);
    (void)sweep_all(store, idle_ns + 2 * FIXTURE_S);
    cr_expect_lt(memory.bytes, 64 * 3 * 16384 + 65536, "%d: %ld bytes stay", algorithm,
                 memory.bytes);
    store_destroy(&store);
    cr_expect_eq(memory.bytes, 0);
}

Test(store_sweep, the_dead_go_and_give_their_memory_back)
{
    for (int algorithm = 0; algorithm < LIMITER_ALGORITHMS; algorithm++) {
        sweeps_dead((enum limiter_algorithm)algorithm, 30000);
    }
}

Test(store_sweep, a_million_go_in_small_steps)
{
    sweeps_dead(LIMITER_TOKEN_BUCKET, 1000000);
}

Test(store_sweep, long_windows_are_passed_over)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, LIMITER_TOKEN_BUCKET, 10, 0, 3600 * FIXTURE_S, NULL);
    policy.id = 0;
    struct store_policies set = {.policies = &policy, .count = 1};
    struct store *store = store_create(&(struct store_config){0});
    store_install(store, &set);
    for (uint64_t i = 0; i < 200000; i++) {
        cr_assert(fixture_charge(store, &set, 0, i, 1, FIXTURE_T0));
    }
    /* A round over shards where nothing is due looks at none of the 200000 slots. */
    cr_expect_not(store_sweep(store, FIXTURE_T0 + 60 * FIXTURE_S, 1000));
    cr_expect_not(store_sweep(store, FIXTURE_T0 + 60 * FIXTURE_S, 1000));
    store_destroy(&store);
}

Test(store_sweep, the_latest_request_brings_time_too)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, LIMITER_FIXED_WINDOW, 10, 0, FIXTURE_S, NULL);
    policy.id = 0;
    struct store_policies set = {.policies = &policy, .count = 1};
    struct store *store = store_create(&(struct store_config){.shards = 1});
    store_install(store, &set);
    cr_expect(fixture_charge(store, &set, 0, 1, 1, FIXTURE_T0));
    cr_expect(fixture_charge(store, &set, 0, 2, 1, FIXTURE_T0 + 10 * FIXTURE_S));
    (void)sweep_all(store, FIXTURE_T0);
    cr_expect_eq(fixture_stats(store).counters, 1);
    store_destroy(&store);
}

Test(store_sweep, counters_that_stay_in_use_stay)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, LIMITER_TOKEN_BUCKET, 10, 0, FIXTURE_S, NULL);
    policy.id = 0;
    struct store_policies set = {.policies = &policy, .count = 1};
    struct store *store = store_create(&(struct store_config){.shards = 2});
    store_install(store, &set);
    int64_t now_ns = FIXTURE_T0;
    for (uint64_t i = 0; i < 20000; i++) {
        cr_expect(fixture_charge(store, &set, 0, i, 10, now_ns));
    }
    for (int round = 0; round < 40; round++) {
        now_ns += FIXTURE_S / 4;
        for (uint64_t i = 0; i < 20000; i += 3) {
            (void)fixture_charge(store, &set, 0, i, 2, now_ns);
        }
        (void)store_sweep(store, now_ns, 3000);
        (void)store_sweep(store, now_ns, 300000);
        for (uint64_t i = 0; i < 20000; i += 300) {
            cr_assert_leq(fixture_remaining(store, &set, 0, i, now_ns), 8);
        }
    }
    cr_expect_eq(fixture_stats(store).counters, 6667);
    (void)sweep_all(store, now_ns + 3 * FIXTURE_S);
    cr_expect_eq(fixture_stats(store).counters, 0);
    store_destroy(&store);
}

/* A segment splits while the sweep is in the middle of it: those not yet looked at must not be
 * taken for looked at, although nothing else in their new segment will be due for a year. */
Test(store_sweep, a_split_in_the_middle_of_a_visit_hides_nobody)
{
    struct limiter_policy policies[2];
    limiter_policy_init(&policies[0], LIMITER_TOKEN_BUCKET, 10, 0, FIXTURE_S, NULL);
    limiter_policy_init(&policies[1], LIMITER_TOKEN_BUCKET, 1, 0, 365 * 86400 * FIXTURE_S, NULL);
    fixture_policies(policies, 2);
    struct store_policies set = {.policies = policies, .count = 2};
    struct store *store = store_create(&(struct store_config){.shards = 1});
    store_install(store, &set);
    for (uint64_t i = 0; i < 5000; i++) {
        cr_expect(fixture_charge(store, &set, 0, i, 5, FIXTURE_T0));
        cr_expect(fixture_charge(store, &set, 0, i, 8, FIXTURE_T0 + 19 * FIXTURE_S / 10));
    }
    const struct table *table = &store->shards[0].shard.table;
    cr_assert_eq(table->segments, 1);
    cr_expect(store_sweep(store, FIXTURE_T0 + 2 * FIXTURE_S, 600));
    cr_assert_eq(table->cursor.phase, TABLE_INSIDE);
    cr_expect_eq(fixture_stats(store).counters, 5000);
    for (uint64_t i = 5000; i < 10000; i++) {
        cr_expect(fixture_charge(store, &set, 1, i, 1, FIXTURE_T0 + 2 * FIXTURE_S));
    }
    cr_assert_gt(table->segments, 1);
    (void)sweep_all(store, FIXTURE_T0 + 2 * FIXTURE_S);
    (void)sweep_all(store, FIXTURE_T0 + 5 * FIXTURE_S);
    cr_expect_eq(fixture_stats(store).counters, 5000);
    store_destroy(&store);
}

/* ---- reloads ---- */

Test(store_swap, all_follow_and_gone_ones_go)
{
    struct limiter_policy old[2];
    struct limiter_policy new[2];
    limiter_policy_init(&old[0], LIMITER_FIXED_WINDOW, 10, 0, 3600 * FIXTURE_S, NULL);
    limiter_policy_init(&old[1], LIMITER_FIXED_WINDOW, 10, 0, 3600 * FIXTURE_S, NULL);
    limiter_policy_init(&new[0], LIMITER_FIXED_WINDOW, 50, 0, 3600 * FIXTURE_S, NULL);
    limiter_policy_init(&new[1], LIMITER_FIXED_WINDOW, 20, 0, 3600 * FIXTURE_S, NULL);
    fixture_policies(old, 2);
    fixture_policies(new, 2);
    struct store_policies before = {.policies = old, .count = 2};
    struct store_policies after = {.policies = new, .count = 2};
    struct store *store = store_create(&(struct store_config){.max_counters = 10000});
    store_install(store, &before);
    for (uint64_t i = 0; i < 10000; i++) {
        cr_assert(fixture_charge(store, &before, i % 2 == 0 ? 0 : 1, i, 1 + i % 10, FIXTURE_T0));
    }
    const uint32_t map[2] = {1, STORE_GONE};
    struct store_change change = {.next = &after, .map = map, .at_ns = FIXTURE_T0 + 5};
    cr_assert_eq(store_swap(store, &change), STATUS_OK);
    cr_expect_not(store_is_converted(store));
    cr_expect_eq(store_swap(store, &change), STATUS_UNAVAILABLE);
    bool allowed;
    struct store_item item = {.id = fixture_id(store, 1), .policy = &old[0], .cost = 1};
    cr_expect_eq(store_decide(store, &before, &item, 1, FIXTURE_T0 + 6, &allowed), STATUS_STALE);
    cr_expect_eq(fixture_remaining(store, &after, 1, 4, FIXTURE_T0 + 6), 15);
    cr_expect_eq(fixture_remaining(store, &after, 0, 3, FIXTURE_T0 + 6), 50);
    (void)sweep_all(store, FIXTURE_T0 + 6);
    cr_expect(store_is_converted(store));
    cr_expect_eq(fixture_stats(store).counters, 5000);
    for (uint64_t i = 0; i < 10000; i += 2) {
        cr_assert_eq(fixture_remaining(store, &after, 1, i, FIXTURE_T0 + 6), 20 - 1 - i % 10);
    }
    /* The places of those gone are free again, and no more than those. */
    for (uint64_t i = 0; i < 6000; i++) {
        cr_assert_eq(fixture_charge(store, &after, 0, 100000 + i, 1, FIXTURE_T0 + 7), i < 5000);
    }
    cr_assert_eq(store_swap(store, &change), STATUS_OK);
    store_destroy(&store);
}
