/* Random operations against the model: all algorithms, several limits, shadows, one id twice,
 * refunds, resets, reloads, sweeps, time that goes back. */
#include "store_model.h"

#define CLASSES 12u
#define VARIANTS 3u
#define SET (CLASSES * VARIANTS)

/* A class is a limit: one algorithm, one window; its variants are plans. */
static void make_policies(struct limiter_policy *out, struct model_random *random)
{
    static const uint64_t quotas[] = {0, 1, 2, 5, 10, 100, 1000, 5000000000, 999999999999999};
    static const int64_t windows[] = {1000000, 10000000, CLOCK_NS_PER_S, 10 * CLOCK_NS_PER_S,
                                      INT64_C(3653) * 86400 * CLOCK_NS_PER_S};
    for (uint32_t class = 0; class < CLASSES; class++) {
        enum limiter_algorithm algorithm = class % LIMITER_ALGORITHMS;
        int64_t window_ns = windows[model_below(random, 5)];
        for (uint32_t i = 0; i < VARIANTS; i++) {
            uint64_t limit = quotas[model_below(random, algorithm == LIMITER_SLIDING_LOG ? 7 : 9)];
            uint64_t burst = limit == 0 ? 0 : quotas[1 + model_below(random, 8)];
            struct limiter_policy *policy = &out[class * VARIANTS + i];
            limiter_policy_init(policy, algorithm, limit, burst, window_ns, NULL);
            policy->id = class * VARIANTS + i;
        }
    }
}

struct world {
    struct model model;
    struct store *store;
    struct model_random random;
    struct limiter_policy numbers[2][SET];
    struct store_policies policies[2];
    uint32_t current;
    struct store_change change;
    uint32_t map[SET];
    int64_t now_ns;
    uint32_t ids;
};

static uint32_t make_items(struct world *world, struct store_item *items)
{
    uint32_t count = model_below(&world->random, 3) > 0
                         ? 1
                         : 1 + (uint32_t)model_below(&world->random, 5);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id = model_below(&world->random, world->ids);
        if (i > 0 && model_below(&world->random, 6) == 0) {
            id = items[i - 1].id.lo;
        }
        uint32_t policy = (uint32_t)(id % CLASSES * VARIANTS +
                                     model_below(&world->random, VARIANTS));
        uint64_t magnitude = model_below(&world->random, 60);
        items[i] = (struct store_item){
            .id = {.lo = id, .hi = id * 3},
            .policy = &world->policies[world->current].policies[policy],
            .cost = magnitude < 30
                        ? 1
                        : model_below(&world->random, UINT64_C(1) << (magnitude - 29)),
            .shadow = model_below(&world->random, 5) == 0};
    }
    return count;
}

static bool has_twice(const struct store_item *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (items[i].id.lo == items[j].id.lo) {
                return true;
            }
        }
    }
    return false;
}

static void compare(const struct store_item *got, const struct store_item *wanted, uint32_t count,
                    const char *what, int step)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct limiter_report *a = &got[i].report;
        const struct limiter_report *b = &wanted[i].report;
        cr_assert(a->remaining == b->remaining && a->retry_after_ns == b->retry_after_ns &&
                      a->reset_after_ns == b->reset_after_ns && a->delay_ns == b->delay_ns,
                  "step %d %s item %u of %u (id %lu, algorithm %d): remaining %lu/%lu, "
                  "retry %ld/%ld, reset %ld/%ld",
                  step, what, i, count, got[i].id.lo, got[i].policy->algorithm, a->remaining,
                  b->remaining, a->retry_after_ns, b->retry_after_ns, a->reset_after_ns,
                  b->reset_after_ns);
    }
}

static void step_decide(struct world *world, int step)
{
    struct store_item got[8];
    struct store_item wanted[8];
    uint32_t count = make_items(world, got);
    bool allowed;
    memcpy(wanted, got, sizeof(got));
    bool wanted_allowed = model_decide(&world->model, wanted, count, world->now_ns);
    cr_assert_eq(store_decide(world->store, &world->policies[world->current], got, count,
                              world->now_ns, &allowed),
                 STATUS_OK);
    cr_assert_eq(allowed, wanted_allowed, "step %d: allowed", step);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(got[i].verdict, wanted[i].verdict, "step %d: verdict %u", step, i);
    }
    if (!has_twice(got, count)) {
        compare(got, wanted, count, "decide", step);
    }
}

static void step_give_back(struct world *world, int step, bool refund)
{
    struct store_item got[8];
    struct store_item wanted[8];
    uint32_t count = make_items(world, got);
    memcpy(wanted, got, sizeof(got));
    const struct store_policies *policies = &world->policies[world->current];
    if (refund) {
        model_refund(&world->model, wanted, count, world->now_ns);
        cr_assert_eq(store_refund(world->store, policies, got, count, world->now_ns), STATUS_OK);
        compare(got, wanted, count, "refund", step);
        return;
    }
    uint32_t forgotten;
    uint32_t expected = model_reset(&world->model, wanted, count, world->now_ns);
    cr_assert_eq(store_reset(world->store, policies, got, count, world->now_ns, &forgotten),
                 STATUS_OK);
    cr_assert_eq(forgotten, expected, "step %d: forgotten", step);
}

static void step_swap(struct world *world)
{
    if (!store_is_converted(world->store)) {
        cr_assert_eq(store_swap(world->store, &world->change), STATUS_UNAVAILABLE);
        while (!store_is_converted(world->store)) {
            (void)store_sweep(world->store, world->now_ns, 4096);
        }
    }
    uint32_t next = 1 - world->current;
    /* Mostly the same file with few changes, sometimes all new. */
    struct limiter_policy fresh[SET];
    make_policies(fresh, &world->random);
    for (uint32_t class = 0; class < CLASSES; class++) {
        bool changed = model_below(&world->random, 3) == 0;
        bool gone = model_below(&world->random, 12) == 0;
        for (uint32_t i = class * VARIANTS; i < (class + 1) * VARIANTS; i++) {
            world->numbers[next][i] = changed ? fresh[i] : world->numbers[world->current][i];
            world->map[i] = gone ? STORE_GONE
                            : changed && model_below(&world->random, 2) ? class * VARIANTS
                                                                        : i;
        }
    }
    world->change = (struct store_change){
        .next = &world->policies[next], .map = world->map, .at_ns = world->now_ns};
    model_swap(&world->model, &world->change);
    cr_assert_eq(store_swap(world->store, &world->change), STATUS_OK);
    world->current = next;
}

static void run(uint64_t seed, uint32_t ids, uint32_t shards, int steps, int64_t pace_ns)
{
    struct world *world = calloc(1, sizeof(*world));
    world->random.state = seed;
    world->ids = ids;
    world->now_ns = INT64_C(1700000000) * CLOCK_NS_PER_S;
    for (uint32_t i = 0; i < 2; i++) {
        make_policies(world->numbers[i], &world->random);
        world->policies[i] = (struct store_policies){.policies = world->numbers[i], .count = SET};
    }
    world->model = (struct model){.counters = calloc(ids, sizeof(struct model_counter)),
                                  .count = ids,
                                  .policies = &world->policies[0]};
    world->store = store_create(&(struct store_config){.shards = shards});
    store_install(world->store, &world->policies[0]);
    int64_t latest_ns = world->now_ns;
    for (int step = 0; step < steps; step++) {
        latest_ns += (int64_t)model_below(&world->random, (uint64_t)pace_ns);
        world->now_ns = latest_ns;
        if (model_below(&world->random, 10) == 0) {
            world->now_ns -= (int64_t)model_below(&world->random, CLOCK_NS_PER_S);
        }
        uint64_t what = model_below(&world->random, 1000);
        if (what < 900) {
            step_decide(world, step);
        } else if (what < 950) {
            step_give_back(world, step, true);
        } else if (what < 970) {
            step_give_back(world, step, false);
        } else if (what < 998) {
            uint32_t budget = 1 + (uint32_t)model_below(&world->random, 2000);
            (void)store_sweep(world->store, latest_ns, budget);
        } else {
            world->now_ns = latest_ns;
            step_swap(world);
        }
    }
    store_destroy(&world->store);
    for (uint32_t i = 0; i < ids; i++) {
        model_forget(&world->model.counters[i]);
    }
    free(world->model.counters);
    free(world);
}

Test(store_model, few_counters_meet_often)
{
    run(1, 24, 1, 200000, 3000000);
}

Test(store_model, many_counters)
{
    run(2, 20000, 4, 300000, 200000);
}

Test(store_model, long_pauses)
{
    run(3, 200, 64, 100000, 4 * CLOCK_NS_PER_S);
}
