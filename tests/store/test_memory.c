/* The system's refusals: whichever mapping fails, the request fails whole, nothing is lost, and
 * the next one succeeds. */
#include "store_fixture.h"

struct mix {
    struct limiter_policy policies[3];
    struct store_policies set;
    struct fixture_source memory;
    struct store *store;
};

static void begin(struct mix *mix)
{
    limiter_policy_init(&mix->policies[0], LIMITER_TOKEN_BUCKET, 100, 0, 86400 * FIXTURE_S, NULL);
    limiter_policy_init(&mix->policies[1], LIMITER_SLIDING_LOG, 1000000, 0, 86400 * FIXTURE_S,
                        NULL);
    limiter_policy_init(&mix->policies[2], LIMITER_TOKEN_BUCKET, 999999999999999, 0,
                        3653 * 86400 * FIXTURE_S, NULL);
    fixture_policies(mix->policies, 3);
    mix->set = (struct store_policies){.policies = mix->policies, .count = 3};
    mix->memory = (struct fixture_source){0};
    struct pages_source source = fixture_pages(&mix->memory);
    mix->store = store_create_from(&(struct store_config){.shards = 2}, &source);
    store_install(mix->store, &mix->set);
}

static enum status ask_three(struct mix *mix, uint64_t number, int64_t now_ns, bool *allowed,
                             struct store_item items[3])
{
    for (uint32_t i = 0; i < 3; i++) {
        items[i] = (struct store_item){
            .id = fixture_id(mix->store, i == 1 ? 1 : 10 + number * 3 + i),
            .policy = &mix->policies[i],
            .cost = i == 2 ? 900000000000000 : 1};
    }
    return store_decide(mix->store, &mix->set, items, 3, now_ns, allowed);
}

Test(store_memory, each_mapping_may_fail)
{
    struct mix mix;
    uint64_t failures = 0;
    begin(&mix);
    mix.memory.fail_at = 1;
    for (uint64_t i = 0; i < 20000; i++) {
        struct store_item items[3];
        bool allowed;
        enum status status = ask_three(&mix, i, FIXTURE_T0 + (int64_t)i, &allowed, items);
        if (status == STATUS_NO_MEMORY) {
            failures++;
            cr_expect_eq(fixture_stats(mix.store).counters, i == 0 ? 0 : 2 * i + 1);
            cr_expect_eq(fixture_remaining(mix.store, &mix.set, 1, 1, FIXTURE_T0 + (int64_t)i),
                         1000000 - i);
            mix.memory.fail_at = 0;
            status = ask_three(&mix, i, FIXTURE_T0 + (int64_t)i, &allowed, items);
            mix.memory.fail_at = mix.memory.maps + 1;
        }
        cr_assert_eq(status, STATUS_OK);
        cr_assert(allowed);
        cr_assert_eq(items[1].report.remaining, 1000000 - i - 1);
    }
    cr_expect_gt(failures, 100);
    cr_expect_eq(fixture_stats(mix.store).counters, 40001);
    cr_expect_eq((int64_t)fixture_stats(mix.store).memory_bytes -
                     (int64_t)(sizeof(struct store) + 2 * sizeof(struct store_shard)),
                 mix.memory.bytes);
    store_destroy(&mix.store);
    cr_expect_eq(mix.memory.bytes, 0);
}

Test(store_memory, sweeping_without_memory_still_frees_and_ends)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, LIMITER_TOKEN_BUCKET, 10, 0, FIXTURE_S, NULL);
    policy.id = 0;
    struct store_policies set = {.policies = &policy, .count = 1};
    struct fixture_source memory = {0};
    struct pages_source source = fixture_pages(&memory);
    struct store *store = store_create_from(&(struct store_config){.shards = 2}, &source);
    store_install(store, &set);
    for (uint64_t i = 0; i < 50000; i++) {
        cr_assert(fixture_charge(store, &set, 0, i, i % 10 == 0 ? 10 : 1, FIXTURE_T0));
    }
    memory.fail_at = memory.maps + 1;
    memory.fail_for_all = true;
    int64_t now_ns = FIXTURE_T0 + FIXTURE_S + FIXTURE_S / 2;
    int steps = 0;
    while (store_sweep(store, now_ns, 1000)) {
        steps++;
        cr_assert_lt(steps, 10000);
    }
    cr_expect_eq(fixture_stats(store).counters, 5000);
    int64_t before = memory.bytes;
    memory.fail_at = 0;
    memory.fail_for_all = false;
    struct store_item item = {.id = fixture_id(store, 1), .policy = &policy};
    uint32_t forgotten;
    for (uint64_t i = 0; i < 50; i++) {
        item.id = fixture_id(store, i * 10);
        cr_assert_eq(store_reset(store, &set, &item, 1, now_ns, &forgotten), STATUS_OK);
    }
    for (int i = 0; i < 200; i++) {
        (void)store_sweep(store, now_ns, 1000);
    }
    cr_expect_lt(memory.bytes, before / 3);
    store_destroy(&store);
}
