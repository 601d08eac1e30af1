/* Builtin policies: in every set, found after every reload. */
#include "limits_text.h"

#include "engine/engine_map.h"
#include "engine/policy_builtin.h"

#define DAY_NS (INT64_C(86400) * 1000000000)

static const char one_limit[] = "limits: {a: {algorithm: fixed_window, limit: 1, window: 1s}}\n"
                                "routes: {'*': [a]}\n";
static const char no_limit[] = "limits: {}\nroutes: {}\n";

Test(policy_builtin, every_set_has_them_with_dense_ids)
{
    const char *const texts[] = {one_limit, no_limit};
    for (uint32_t text = 0; text < 2; text++) {
        struct policy_set *set = limits_text_set(texts[text]);
        for (uint32_t i = 0; i < POLICY_BUILTINS; i++) {
            const struct limiter_policy *policy = policy_builtin_get(set, i);
            cr_expect_eq(policy->id, set->builtin_first + i);
            cr_expect_lt(policy->id, set->policies.count);
        }
        policy_set_destroy(&set);
    }
}

Test(policy_builtin, a_window_of_the_requests_own_number)
{
    static const struct {
        enum policy_builtin which;
        int64_t window_ns;
    } expected[] = {
        {POLICY_BUILTIN_SECOND, DAY_NS / 86400},   {POLICY_BUILTIN_MINUTE, DAY_NS / 1440},
        {POLICY_BUILTIN_HOUR, DAY_NS / 24},        {POLICY_BUILTIN_DAY, DAY_NS},
        {POLICY_BUILTIN_WEEK, 7 * DAY_NS},         {POLICY_BUILTIN_MONTH, 0},
        {POLICY_BUILTIN_YEAR, 0},                  {POLICY_BUILTIN_30_DAYS, 30 * DAY_NS},
        {POLICY_BUILTIN_365_DAYS, 365 * DAY_NS},
    };
    struct policy_set *set = limits_text_set(one_limit);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct limiter_policy policy = policy_builtin_fixed_window(set, expected[i].which, 77);
        cr_expect_eq(policy.limit, 77);
        cr_expect_eq(policy.window_ns, expected[i].window_ns, "%zu", i);
        cr_expect_eq(policy.calendar != NULL, expected[i].window_ns == 0);
        cr_expect_eq(policy.id, policy_builtin_get(set, expected[i].which)->id);
    }
    policy_set_destroy(&set);
}

Test(policy_builtin, months_and_years_are_those_of_the_calendar)
{
    struct policy_set *set = limits_text_set(one_limit);
    int64_t start_ns;
    int64_t end_ns;
    /* The leap day of 2024 at noon. */
    int64_t now_ns = INT64_C(1709208000) * 1000000000;
    calendar_window(policy_builtin_get(set, POLICY_BUILTIN_MONTH)->calendar, now_ns, &start_ns,
                    &end_ns);
    cr_expect_eq(end_ns - start_ns, 29 * DAY_NS);
    calendar_window(policy_builtin_get(set, POLICY_BUILTIN_YEAR)->calendar, now_ns, &start_ns,
                    &end_ns);
    cr_expect_eq(end_ns - start_ns, 366 * DAY_NS);
    policy_set_destroy(&set);
}

Test(policy_builtin, a_reload_takes_them_over_as_they_are)
{
    struct policy_set *from = limits_text_set(one_limit);
    struct policy_set *to = limits_text_set(no_limit);
    uint32_t *map = engine_map_create(from, to, NULL);
    cr_assert_not_null(map);
    for (uint32_t i = 0; i < POLICY_BUILTINS; i++) {
        cr_expect_eq(map[policy_builtin_get(from, i)->id], policy_builtin_get(to, i)->id);
    }
    cr_expect_eq(map[0], STORE_GONE);
    free(map);
    policy_set_destroy(&from);
    policy_set_destroy(&to);
}
