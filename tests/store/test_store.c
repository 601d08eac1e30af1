/* One request at a time: all or nothing, shadows, one id twice, looks, stale policies. */
#include "store_fixture.h"

#include <stdlib.h>

struct pair {
    struct limiter_policy policies[2];
    struct store_policies set;
    struct store *store;
};

/* Two limits of 3 and of 5 a second. */
static struct pair make_pair(enum limiter_algorithm algorithm)
{
    struct pair pair;
    limiter_policy_init(&pair.policies[0], algorithm, 3, 0, FIXTURE_S, NULL);
    limiter_policy_init(&pair.policies[1], algorithm, 5, 0, FIXTURE_S, NULL);
    fixture_policies(pair.policies, 2);
    pair.store = store_create(&(struct store_config){.shards = 4});
    cr_assert_not_null(pair.store);
    return pair;
}

static void install(struct pair *pair)
{
    pair->set = (struct store_policies){.policies = pair->policies, .count = 2};
    store_install(pair->store, &pair->set);
}

Test(store, admits_up_to_the_limit)
{
    struct pair pair = make_pair(LIMITER_FIXED_WINDOW);
    install(&pair);
    for (unsigned i = 0; i < 5; i++) {
        struct store_item item = {.id = {1, 2}, .policy = &pair.policies[0], .cost = 1};
        bool allowed;
        cr_assert_eq(store_decide(pair.store, &pair.set, &item, 1, 5, &allowed), STATUS_OK);
        cr_expect_eq(allowed, i < 3);
        cr_expect_eq(item.report.remaining, i < 3 ? 2 - i : 0);
        cr_expect_eq(item.exists, i > 0);
        cr_expect_eq(item.evicted, STORE_GONE);
        cr_expect_eq(item.verdict, i < 3 ? STORE_ADMITTED : STORE_REFUSED);
    }
    store_destroy(&pair.store);
    cr_expect_null(pair.store);
}

Test(store, a_request_refused_by_one_charges_none)
{
    struct pair pair = make_pair(LIMITER_TOKEN_BUCKET);
    install(&pair);
    for (unsigned i = 0; i < 6; i++) {
        struct store_item items[2] = {{.id = {1, 1}, .policy = &pair.policies[1], .cost = 1},
                                      {.id = {2, 2}, .policy = &pair.policies[0], .cost = 1}};
        bool allowed;
        cr_assert_eq(store_decide(pair.store, &pair.set, items, 2, FIXTURE_T0, &allowed),
                     STATUS_OK);
        cr_expect_eq(allowed, i < 3);
        cr_expect_eq(items[0].verdict, STORE_ADMITTED);
        cr_expect_eq(items[1].verdict, i < 3 ? STORE_ADMITTED : STORE_REFUSED);
        cr_expect_eq(items[0].report.remaining, i < 3 ? 4 - i : 2);
        cr_expect_eq(items[0].report.retry_after_ns, 0);
    }
    store_destroy(&pair.store);
}

Test(store, a_refused_request_and_a_look_make_no_counter)
{
    struct pair pair = make_pair(LIMITER_SLIDING_LOG);
    install(&pair);
    struct store_item items[2] = {{.id = {1, 1}, .policy = &pair.policies[1], .cost = 4},
                                  {.id = {2, 2}, .policy = &pair.policies[0], .cost = 4}};
    bool allowed;
    cr_assert_eq(store_decide(pair.store, &pair.set, items, 2, 7, &allowed), STATUS_OK);
    cr_expect_not(allowed);
    cr_expect_eq(items[1].verdict, STORE_NEVER);
    cr_expect_eq(items[0].report.remaining, 5);
    items[0].cost = items[1].cost = 0;
    cr_assert_eq(store_decide(pair.store, &pair.set, items, 2, 7, &allowed), STATUS_OK);
    cr_expect(allowed);
    cr_assert_eq(store_refund(pair.store, &pair.set, items, 2, 7), STATUS_OK);
    cr_expect_eq(fixture_stats(pair.store).counters, 0);
    store_destroy(&pair.store);
}

Test(store, a_shadow_never_refuses_and_is_charged_only_with_its_request)
{
    struct pair pair = make_pair(LIMITER_FIXED_WINDOW);
    install(&pair);
    for (unsigned i = 0; i < 7; i++) {
        struct store_item items[2] = {
            {.id = {1, 1}, .policy = &pair.policies[0], .cost = 1, .shadow = true},
            {.id = {2, 2}, .policy = &pair.policies[1], .cost = 1}};
        bool allowed;
        cr_assert_eq(store_decide(pair.store, &pair.set, items, 2, 1, &allowed), STATUS_OK);
        cr_expect_eq(allowed, i < 5);
        cr_expect_eq(items[0].verdict, i < 3 ? STORE_ADMITTED : STORE_REFUSED, "%u", i);
        cr_expect_eq(items[0].report.remaining, i < 3 ? 2 - i : 0);
    }
    /* The other way round: the enforced one is used up, the shadow stays as it is. */
    for (unsigned i = 0; i < 5; i++) {
        struct store_item items[2] = {
            {.id = {3, 1}, .policy = &pair.policies[1], .cost = 1, .shadow = true},
            {.id = {1, 1}, .policy = &pair.policies[0], .cost = 1}};
        bool allowed;
        cr_assert_eq(store_decide(pair.store, &pair.set, items, 2, 1, &allowed), STATUS_OK);
        cr_expect_not(allowed);
        cr_expect_not(items[0].exists);
        cr_expect_eq(items[0].report.remaining, 5);
    }
    store_destroy(&pair.store);
}

static void twice(enum limiter_algorithm algorithm)
{
    struct pair pair = make_pair(algorithm);
    install(&pair);
    for (unsigned i = 0; i < 4; i++) {
        struct store_item items[3];
        for (unsigned k = 0; k < 3; k++) {
            items[k] = (struct store_item){
                .id = {9, 9}, .policy = &pair.policies[1], .cost = k == 1 ? 0 : 1};
        }
        bool allowed;
        cr_assert_eq(store_decide(pair.store, &pair.set, items, 3, FIXTURE_T0, &allowed),
                     STATUS_OK);
        cr_expect_eq(allowed, i < 2, "%d %u", algorithm, i);
        /* 5 units: two requests of 2; the fifth unit does not carry a third request. */
        cr_expect_eq(items[0].report.remaining, i < 2 ? 4 - 2 * i : 1, "%d %u", algorithm, i);
        cr_expect_eq(items[1].report.remaining, i < 2 ? 4 - 2 * i : 1, "%d %u", algorithm, i);
        cr_expect_eq(items[2].report.remaining, i < 2 ? 3 - 2 * i : 1, "%d %u", algorithm, i);
        cr_expect_eq(items[2].verdict, i < 2 ? STORE_ADMITTED : STORE_REFUSED);
        if (i >= 2) {
            cr_expect_geq(items[2].report.retry_after_ns, 1);
        }
        cr_expect_eq(fixture_stats(pair.store).counters, 1);
    }
    store_destroy(&pair.store);
}

Test(store, an_id_that_comes_twice_is_charged_twice)
{
    for (int algorithm = 0; algorithm < LIMITER_ALGORITHMS; algorithm++) {
        twice((enum limiter_algorithm)algorithm);
    }
}

Test(store, counters_become_wide_and_narrow_again)
{
    /* 10^15 a year: far beyond 64 bits of 1/W units; one a millisecond of the same counter. */
    struct limiter_policy policies[2];
    limiter_policy_init(&policies[0], LIMITER_TOKEN_BUCKET, 999999999999999, 0,
                        365 * 86400 * FIXTURE_S, NULL);
    limiter_policy_init(&policies[1], LIMITER_SLIDING_COUNTER, 999999999999999, 0, FIXTURE_S, NULL);
    fixture_policies(policies, 2);
    struct store_policies set = {.policies = policies, .count = 2};
    struct fixture_source memory = {0};
    struct pages_source source = fixture_pages(&memory);
    struct store *store = store_create_from(&(struct store_config){.shards = 1}, &source);
    store_install(store, &set);
    int64_t now_ns = FIXTURE_T0;
    cr_expect(fixture_charge(store, &set, 0, 1, 1, now_ns));
    int64_t narrow_bytes = memory.bytes;
    for (uint64_t i = 2; i < 100; i++) {
        cr_expect(fixture_charge(store, &set, 0, i, 900000000000000, now_ns));
        cr_expect_not(fixture_charge(store, &set, 0, i, 900000000000000, now_ns));
        cr_expect_eq(fixture_remaining(store, &set, 0, i, now_ns), 99999999999999);
    }
    cr_expect_gt(memory.bytes, narrow_bytes);
    for (uint64_t i = 200; i < 300; i++) {
        cr_expect(fixture_charge(store, &set, 1, i, UINT64_C(1) << 40, now_ns));
        /* The next window: what was current is the previous count, and does not fit 32 bits. */
        cr_expect(fixture_charge(store, &set, 1, i, 7, now_ns + FIXTURE_S));
        cr_expect_eq(fixture_remaining(store, &set, 1, i, now_ns + FIXTURE_S),
                     999999999999999 - (UINT64_C(1) << 40) - 7);
        cr_expect(fixture_charge(store, &set, 1, i, 8, now_ns + 2 * FIXTURE_S));
        cr_expect_eq(fixture_remaining(store, &set, 1, i, now_ns + 2 * FIXTURE_S),
                     999999999999999 - 15);
        cr_expect(fixture_charge(store, &set, 1, i, 9, now_ns + 4 * FIXTURE_S));
        cr_expect_eq(fixture_remaining(store, &set, 1, i, now_ns + 4 * FIXTURE_S),
                     999999999999999 - 9);
    }
    store_destroy(&store);
    cr_expect_eq(memory.bytes, 0);
}

Test(store, policies_that_are_not_in_force_are_stale)
{
    struct pair pair = make_pair(LIMITER_FIXED_WINDOW);
    install(&pair);
    struct store_policies other = pair.set;
    struct store_item items[2] = {{.id = {1, 1}, .policy = &pair.policies[0], .cost = 1},
                                  {.id = {2, 2}, .policy = &pair.policies[0], .cost = 1}};
    bool allowed;
    uint32_t forgotten;
    cr_expect_eq(store_decide(pair.store, &other, items, 1, 1, &allowed), STATUS_STALE);
    cr_expect_eq(store_decide(pair.store, &other, items, 2, 1, &allowed), STATUS_STALE);
    cr_expect_eq(store_refund(pair.store, &other, items, 2, 1), STATUS_STALE);
    cr_expect_eq(store_reset(pair.store, &other, items, 2, 1, &forgotten), STATUS_STALE);
    cr_expect_eq(fixture_stats(pair.store).counters, 0);
    store_destroy(&pair.store);
}

Test(store, reset_says_how_many_were_in_use)
{
    struct pair pair = make_pair(LIMITER_TOKEN_BUCKET);
    install(&pair);
    struct store_item items[3] = {{.id = {1, 1}, .policy = &pair.policies[0], .cost = 1},
                                  {.id = {2, 2}, .policy = &pair.policies[0], .cost = 2},
                                  {.id = {3, 3}, .policy = &pair.policies[0], .cost = 1}};
    bool allowed;
    cr_assert_eq(store_decide(pair.store, &pair.set, items, 2, FIXTURE_T0, &allowed), STATUS_OK);
    uint32_t forgotten;
    /* The first has drained after a third of a second, the second not yet. */
    cr_assert_eq(store_reset(pair.store, &pair.set, items, 3, FIXTURE_T0 + FIXTURE_S / 2,
                             &forgotten),
                 STATUS_OK);
    cr_expect_eq(forgotten, 1);
    cr_expect(items[0].exists && items[1].exists && !items[2].exists);
    cr_expect_eq(fixture_stats(pair.store).counters, 0);
    store_destroy(&pair.store);
}

Test(store, no_request_at_all_is_allowed)
{
    struct pair pair = make_pair(LIMITER_TOKEN_BUCKET);
    install(&pair);
    bool allowed = false;
    cr_assert_eq(store_decide(pair.store, &pair.set, NULL, 0, FIXTURE_T0, &allowed), STATUS_OK);
    cr_expect(allowed);
    store_destroy(&pair.store);
}
