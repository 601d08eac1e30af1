/* A store with bounds: who goes first, who is refused, nothing ever beyond. */
#include "store_fixture.h"

struct full {
    struct limiter_policy policies[3];
    struct store_policies set;
    struct store *store;
};

enum { ONE_A_YEAR, TEN_A_YEAR, TEN_A_SECOND };

static void begin(struct full *full, const struct store_config *config)
{
    int64_t year_ns = 365 * 86400 * FIXTURE_S;
    limiter_policy_init(&full->policies[ONE_A_YEAR], LIMITER_TOKEN_BUCKET, 1, 0, year_ns, NULL);
    limiter_policy_init(&full->policies[TEN_A_YEAR], LIMITER_TOKEN_BUCKET, 10, 0, year_ns, NULL);
    limiter_policy_init(&full->policies[TEN_A_SECOND], LIMITER_TOKEN_BUCKET, 10, 0, FIXTURE_S,
                        NULL);
    fixture_policies(full->policies, 3);
    full->set = (struct store_policies){.policies = full->policies, .count = 3};
    full->store = store_create(config);
    store_install(full->store, &full->set);
}

static struct store_item ask(struct full *full, uint32_t policy, uint64_t number, uint64_t cost,
                             int64_t now_ns, bool *allowed)
{
    struct store_item item = {.id = fixture_id(full->store, number),
                              .policy = &full->policies[policy],
                              .cost = cost};
    cr_assert_eq(fixture_ask(full->store, &full->set, &item, now_ns, allowed), STATUS_OK);
    return item;
}

Test(store_full, newcomers_are_refused_and_others_served)
{
    struct full full;
    bool allowed;
    begin(&full, &(struct store_config){.max_counters = 100});
    for (uint64_t i = 0; i < 100; i++) {
        ask(&full, TEN_A_YEAR, i, 1, FIXTURE_T0, &allowed);
        cr_expect(allowed);
    }
    for (uint64_t i = 100; i < 1000; i++) {
        struct store_item item = ask(&full, TEN_A_YEAR, i, 1, FIXTURE_T0, &allowed);
        cr_expect_not(allowed);
        cr_expect_eq(item.verdict, STORE_FULL);
        cr_expect_eq(item.report.remaining, 0);
        cr_expect_eq(item.report.retry_after_ns, FIXTURE_S);
        cr_expect_eq(item.report.reset_after_ns, 0);
        item = ask(&full, TEN_A_YEAR, i, 0, FIXTURE_T0, &allowed);
        cr_expect(allowed);
        cr_expect_eq(item.report.remaining, 10);
        item = ask(&full, TEN_A_YEAR, i, 11, FIXTURE_T0, &allowed);
        cr_expect_eq(item.verdict, STORE_NEVER);
    }
    for (uint64_t i = 0; i < 100; i++) {
        ask(&full, TEN_A_YEAR, i, 1, FIXTURE_T0, &allowed);
        cr_expect(allowed);
    }
    cr_expect_eq(fixture_stats(full.store).counters, 100);
    store_destroy(&full.store);
}

Test(store_full, what_is_as_if_never_used_goes_first_and_without_a_grace)
{
    for (int when_full = STORE_REFUSE; when_full <= STORE_EVICT; when_full++) {
        struct full full;
        bool allowed;
        begin(&full, &(struct store_config){.max_counters = 100,
                                            .when_full = (enum store_when_full)when_full});
        for (uint64_t i = 0; i < 100; i++) {
            ask(&full, i % 2 == 0 ? TEN_A_SECOND : ONE_A_YEAR, i, 1, FIXTURE_T0, &allowed);
        }
        /* One unit of ten a second has drained after exactly 100 ms. */
        int64_t now_ns = FIXTURE_T0 + FIXTURE_S / 10;
        ask(&full, ONE_A_YEAR, 1000, 1, now_ns - 1, &allowed);
        cr_expect_eq(allowed, when_full == STORE_EVICT);
        for (uint64_t i = 1001; i < 1050; i++) {
            struct store_item item = ask(&full, ONE_A_YEAR, i, 1, now_ns, &allowed);
            cr_expect(allowed, "%lu", i);
            cr_expect_eq(item.evicted, STORE_GONE);
        }
        ask(&full, ONE_A_YEAR, 1050, 1, now_ns, &allowed);
        cr_expect_eq(allowed, when_full == STORE_REFUSE);
        struct store_item item = ask(&full, ONE_A_YEAR, 1051, 1, now_ns, &allowed);
        cr_expect_not(allowed);
        cr_expect_eq(item.verdict, STORE_FULL);
        for (uint64_t i = 1; i < 100; i += 2) {
            ask(&full, ONE_A_YEAR, i, 1, now_ns, &allowed);
            cr_expect_not(allowed, "an exhausted counter was forgotten");
        }
        cr_expect_eq(fixture_stats(full.store).counters, 100);
        store_destroy(&full.store);
    }
}

Test(store_full, evicts_the_one_nearest_to_its_reset)
{
    struct full full;
    bool allowed;
    begin(&full, &(struct store_config){.max_counters = 12, .when_full = STORE_EVICT});
    for (uint64_t i = 0; i < 12; i++) {
        /* Number 5 used least; 7 and 8 are exhausted. */
        uint64_t cost = i == 5 ? 1 : i == 7 || i == 8 ? 10 : 2 + i % 3;
        ask(&full, TEN_A_YEAR, i, cost, FIXTURE_T0, &allowed);
    }
    struct store_item item = ask(&full, ONE_A_YEAR, 100, 1, FIXTURE_T0, &allowed);
    cr_expect(allowed);
    cr_expect_eq(item.evicted, TEN_A_YEAR);
    cr_expect_eq(fixture_stats(full.store).evicted, 1);
    item = ask(&full, TEN_A_YEAR, 5, 0, FIXTURE_T0, &allowed);
    cr_expect_not(item.exists);
    for (uint64_t i = 0; i < 12; i++) {
        item = ask(&full, TEN_A_YEAR, i, 0, FIXTURE_T0, &allowed);
        cr_expect_eq(item.exists, i != 5, "%lu", i);
    }
    cr_expect_eq(fixture_stats(full.store).counters, 12);
    store_destroy(&full.store);
}

Test(store_full, never_evicts_for_itself_nor_for_a_refused_request)
{
    struct full full;
    bool allowed;
    begin(&full, &(struct store_config){.max_counters = 2, .when_full = STORE_EVICT});
    ask(&full, TEN_A_YEAR, 1, 1, FIXTURE_T0, &allowed);
    ask(&full, ONE_A_YEAR, 2, 1, FIXTURE_T0, &allowed);
    struct store_item items[2] = {{.id = fixture_id(full.store, 1),
                                   .policy = &full.policies[TEN_A_YEAR], .cost = 1},
                                  {.id = fixture_id(full.store, 3),
                                   .policy = &full.policies[TEN_A_YEAR], .cost = 1}};
    /* 1 is the only one that may go, but it belongs to the request. */
    cr_assert_eq(store_decide(full.store, &full.set, items, 2, FIXTURE_T0, &allowed), STATUS_OK);
    cr_expect_not(allowed);
    cr_expect_eq(items[0].verdict, STORE_ADMITTED);
    cr_expect_eq(items[0].report.remaining, 9);
    cr_expect_eq(items[1].verdict, STORE_FULL);
    /* Refused by 2 anyway: 1 stays. */
    items[0] = (struct store_item){.id = fixture_id(full.store, 2),
                                   .policy = &full.policies[ONE_A_YEAR], .cost = 1};
    cr_assert_eq(store_decide(full.store, &full.set, items, 2, FIXTURE_T0, &allowed), STATUS_OK);
    cr_expect_not(allowed);
    cr_expect_eq(items[0].verdict, STORE_REFUSED);
    cr_expect(ask(&full, TEN_A_YEAR, 1, 0, FIXTURE_T0, &allowed).exists);
    store_destroy(&full.store);
}

Test(store_full, a_shadow_without_room_is_skipped)
{
    struct full full;
    bool allowed;
    begin(&full, &(struct store_config){.max_counters = 2});
    ask(&full, ONE_A_YEAR, 1, 1, FIXTURE_T0, &allowed);
    struct store_item items[2] = {{.id = fixture_id(full.store, 2),
                                   .policy = &full.policies[TEN_A_YEAR], .cost = 1,
                                   .shadow = true},
                                  {.id = fixture_id(full.store, 3),
                                   .policy = &full.policies[TEN_A_YEAR], .cost = 1}};
    cr_assert_eq(store_decide(full.store, &full.set, items, 2, FIXTURE_T0, &allowed), STATUS_OK);
    cr_expect(allowed);
    cr_expect_eq(items[0].verdict, STORE_FULL);
    cr_expect_eq(items[1].verdict, STORE_ADMITTED);
    cr_expect_eq(items[1].report.remaining, 9);
    cr_expect_not(ask(&full, TEN_A_YEAR, 2, 0, FIXTURE_T0, &allowed).exists);
    store_destroy(&full.store);
}

Test(store_full, places_come_back_with_reset_and_sweep)
{
    struct full full;
    bool allowed;
    begin(&full, &(struct store_config){.max_counters = 10});
    for (int round = 0; round < 50; round++) {
        for (uint64_t i = 0; i < 10; i++) {
            ask(&full, ONE_A_YEAR, i, 1, FIXTURE_T0, &allowed);
            cr_expect(allowed);
        }
        struct store_item items[10];
        for (uint64_t i = 0; i < 10; i++) {
            items[i] = (struct store_item){.id = fixture_id(full.store, i),
                                           .policy = &full.policies[ONE_A_YEAR]};
        }
        uint32_t forgotten;
        cr_assert_eq(store_reset(full.store, &full.set, items, 10, FIXTURE_T0, &forgotten),
                     STATUS_OK);
        cr_expect_eq(forgotten, 10);
    }
    store_destroy(&full.store);
}

static void bound_memory(enum store_when_full when_full, uint32_t policy, uint64_t bound)
{
    struct full full;
    uint64_t admitted = 0;
    bool allowed;
    begin(&full, &(struct store_config){
                     .max_memory_bytes = bound, .when_full = when_full, .shards = 4});
    for (uint64_t i = 0; i < 40000; i++) {
        struct store_item item = ask(&full, policy, i, 1, FIXTURE_T0 + (int64_t)i, &allowed);
        cr_expect(allowed || item.verdict == STORE_FULL);
        admitted += allowed;
        if (i % 100 == 0) {
            cr_assert_leq(fixture_stats(full.store).memory_bytes, bound);
        }
    }
    struct store_stats stats = fixture_stats(full.store);
    cr_expect_gt(stats.counters, bound / 80);
    cr_expect_leq(stats.memory_bytes, bound);
    if (when_full == STORE_EVICT && policy == TEN_A_YEAR) {
        cr_expect_eq(admitted, 40000);
        cr_expect_eq(stats.evicted + stats.counters, admitted);
    } else {
        cr_expect_eq(stats.counters, admitted);
    }
    /* A year later all of them are as if never used. */
    ask(&full, policy, 1000000, 1, FIXTURE_T0 + 400 * 86400 * FIXTURE_S, &allowed);
    cr_expect(allowed);
    store_destroy(&full.store);
}

Test(store_full, memory_is_bounded)
{
    bound_memory(STORE_REFUSE, TEN_A_YEAR, 1 << 20);
    bound_memory(STORE_EVICT, TEN_A_YEAR, 1 << 20);
    bound_memory(STORE_EVICT, ONE_A_YEAR, 1 << 20);
}

Test(store_full, a_log_without_room_refuses)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, LIMITER_SLIDING_LOG, 1000000, 0, 3600 * FIXTURE_S, NULL);
    policy.id = 0;
    struct store_policies set = {.policies = &policy, .count = 1};
    struct store *store = store_create(
        &(struct store_config){.max_memory_bytes = 1 << 20, .shards = 1});
    store_install(store, &set);
    uint64_t admitted = 0;
    for (int64_t i = 0; i < 200000; i++) {
        admitted += fixture_charge(store, &set, 0, 1, 1, FIXTURE_T0 + i);
    }
    cr_expect_gt(admitted, (1 << 20) / 20);
    cr_expect_lt(admitted, (1 << 20) / 12);
    cr_expect_leq(fixture_stats(store).memory_bytes, 1 << 20);
    cr_expect_eq(fixture_remaining(store, &set, 0, 1, FIXTURE_T0 + 200000), 1000000 - admitted);
    /* An hour later the oldest have left: their room serves again. */
    cr_expect(fixture_charge(store, &set, 0, 1, 1, FIXTURE_T0 + 3600 * FIXTURE_S + 1000));
    store_destroy(&store);
}
