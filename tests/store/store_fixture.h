/* Short ways to ask a store, for tests. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include "base/clock.h"
#include "store/store.h"
#include "store/store_state.h"

#include <criterion/criterion.h>

#define FIXTURE_S CLOCK_NS_PER_S
#define FIXTURE_T0 (INT64_C(1700000000) * CLOCK_NS_PER_S)

static inline struct fingerprint fixture_id(const struct store *store, uint64_t number)
{
    return hash_bytes(store_hash_key(store), &number, sizeof(number));
}

/* A source of memory that fails at the n-th request from now on, and counts what is out. */
struct fixture_source {
    uint64_t maps;
    uint64_t fail_at;  /* 0: never */
    bool fail_for_all; /* from fail_at on, else only that one */
    int64_t bytes;
};

static inline void *fixture_map(void *context, size_t bytes)
{
    struct fixture_source *source = context;
    source->maps++;
    if (source->fail_at != 0 && (source->maps == source->fail_at ||
                                 (source->fail_for_all && source->maps > source->fail_at))) {
        return NULL;
    }
    struct pages_source system = pages_system();
    void *run = system.map(NULL, bytes);
    source->bytes += run == NULL ? 0 : (int64_t)bytes;
    return run;
}

static inline void fixture_unmap(void *context, void *run, size_t bytes)
{
    struct fixture_source *source = context;
    struct pages_source system = pages_system();
    source->bytes -= (int64_t)bytes;
    system.unmap(NULL, run, bytes);
}

static inline struct pages_source fixture_pages(struct fixture_source *source)
{
    return (struct pages_source){.map = fixture_map, .unmap = fixture_unmap, .context = source};
}

/* One request of one item; the item is left as the store filled it. */
static inline enum status fixture_ask(struct store *store, const struct store_policies *policies,
                                      struct store_item *item, int64_t now_ns, bool *allowed)
{
    return store_decide(store, policies, item, 1, now_ns, allowed);
}

static inline bool fixture_charge(struct store *store, const struct store_policies *policies,
                                  uint32_t policy, uint64_t number, uint64_t cost, int64_t now_ns)
{
    struct store_item item = {.id = fixture_id(store, number),
                              .policy = &policies->policies[policy],
                              .cost = cost};
    bool allowed = false;
    cr_assert_eq(fixture_ask(store, policies, &item, now_ns, &allowed), STATUS_OK);
    return allowed;
}

static inline uint64_t fixture_remaining(struct store *store,
                                         const struct store_policies *policies, uint32_t policy,
                                         uint64_t number, int64_t now_ns)
{
    struct store_item item = {.id = fixture_id(store, number),
                              .policy = &policies->policies[policy]};
    bool allowed = false;
    cr_assert_eq(fixture_ask(store, policies, &item, now_ns, &allowed), STATUS_OK);
    return item.report.remaining;
}

static inline struct store_stats fixture_stats(const struct store *store)
{
    struct store_stats stats;
    store_stats(store, &stats);
    return stats;
}

static inline void fixture_policies(struct limiter_policy *policies, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        policies[i].id = i;
    }
}

#endif
