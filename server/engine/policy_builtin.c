#include "engine/policy_builtin.h"

#include "base/clock.h"

#define SECONDS(count) ((count) * CLOCK_NS_PER_S)

static const struct calendar_shift utc[] = {{.from_s = INT64_MIN, .offset_s = 0}};
static const struct calendar months = {.unit = CALENDAR_MONTH, .zone = {.shifts = utc, .count = 1}};
static const struct calendar years = {.unit = CALENDAR_YEAR, .zone = {.shifts = utc, .count = 1}};

struct builtin {
    enum limiter_algorithm algorithm;
    int64_t window_ns; /* 0: calendar */
    const struct calendar *calendar;
};

static const struct builtin builtins[POLICY_BUILTINS] = {
    [POLICY_BUILTIN_THROTTLE] = {LIMITER_THROTTLE, SECONDS(1), NULL},
    [POLICY_BUILTIN_SECOND] = {LIMITER_FIXED_WINDOW, SECONDS(1), NULL},
    [POLICY_BUILTIN_MINUTE] = {LIMITER_FIXED_WINDOW, SECONDS(60), NULL},
    [POLICY_BUILTIN_HOUR] = {LIMITER_FIXED_WINDOW, SECONDS(3600), NULL},
    [POLICY_BUILTIN_DAY] = {LIMITER_FIXED_WINDOW, SECONDS(86400), NULL},
    [POLICY_BUILTIN_WEEK] = {LIMITER_FIXED_WINDOW, SECONDS(7 * 86400), NULL},
    [POLICY_BUILTIN_MONTH] = {LIMITER_FIXED_WINDOW, 0, &months},
    [POLICY_BUILTIN_YEAR] = {LIMITER_FIXED_WINDOW, 0, &years},
    [POLICY_BUILTIN_30_DAYS] = {LIMITER_FIXED_WINDOW, SECONDS(30 * 86400), NULL},
    [POLICY_BUILTIN_365_DAYS] = {LIMITER_FIXED_WINDOW, SECONDS(365 * 86400), NULL},
};

void policy_builtin_fill(struct limiter_policy *policies, uint32_t first)
{
    for (uint32_t i = 0; i < POLICY_BUILTINS; i++) {
        const struct builtin *builtin = &builtins[i];
        uint64_t limit = builtin->algorithm == LIMITER_THROTTLE ? 0 : 1; /* 0: not known */
        limiter_policy_init(&policies[first + i], builtin->algorithm, limit, 0,
                            builtin->window_ns, builtin->calendar);
        policies[first + i].id = first + i;
    }
}

const struct limiter_policy *policy_builtin_get(const struct policy_set *set,
                                                enum policy_builtin which)
{
    return &set->policies.policies[set->builtin_first + which];
}

struct limiter_policy policy_builtin_fixed_window(const struct policy_set *set,
                                                  enum policy_builtin which, uint64_t limit)
{
    const struct limiter_policy *builtin = policy_builtin_get(set, which);
    struct limiter_policy policy;
    limiter_policy_init(&policy, LIMITER_FIXED_WINDOW, limit, 0, builtin->window_ns,
                        builtin->calendar);
    policy.id = builtin->id;
    return policy;
}

void policy_builtin_map(const struct policy_set *from, const struct policy_set *to, uint32_t *map)
{
    for (uint32_t i = 0; i < POLICY_BUILTINS; i++) {
        map[from->builtin_first + i] = to->builtin_first + i;
    }
}
