#include "store/store.h"

#include "base/clock.h"

#include <criterion/criterion.h>

#define S CLOCK_NS_PER_S

static struct store_policies one_policy(struct limiter_policy *policy)
{
    return (struct store_policies){.policies = policy, .count = 1};
}

Test(store, admits_up_to_the_limit)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, LIMITER_FIXED_WINDOW, 3, 0, S, NULL);
    struct store_policies policies = one_policy(&policy);
    struct store *store = store_create(&(struct store_config){.shards = 4});
    store_install(store, &policies);
    for (int i = 0; i < 5; i++) {
        struct store_item item = {.id = {1, 2}, .policy = &policy, .cost = 1};
        bool allowed;
        cr_assert_eq(store_decide(store, &policies, &item, 1, 5, &allowed), STATUS_OK);
        cr_expect_eq(allowed, i < 3);
        cr_expect_eq(item.report.remaining, i < 3 ? 2u - (unsigned)i : 0u);
        cr_expect_eq(item.exists, i > 0);
    }
    store_destroy(&store);
}
