/* Policies that every policy set has besides those of its files, for requests that bring their own
 * numbers: CL.THROTTLE, and descriptors of Envoy with a limit of their own.
 *
 * Such a request is decided by a copy of one of these that holds its numbers
 * (policy_builtin_fixed_window, …); the counter remembers only which builtin policy it is of. So
 * the numbers here never decide anything; they only have to tell the store what stays true for
 * every request: the algorithm and the window.
 *
 * A reload takes builtin policies over as they are. */
#ifndef ENGINE_POLICY_BUILTIN_H
#define ENGINE_POLICY_BUILTIN_H

#include "engine/policy.h"

enum policy_builtin {
    POLICY_BUILTIN_THROTTLE,
    POLICY_BUILTIN_SECOND, /* fixed windows since the epoch */
    POLICY_BUILTIN_MINUTE,
    POLICY_BUILTIN_HOUR,
    POLICY_BUILTIN_DAY,
    POLICY_BUILTIN_WEEK,
    POLICY_BUILTIN_MONTH, /* of the calendar, UTC */
    POLICY_BUILTIN_YEAR,
    POLICY_BUILTIN_30_DAYS, /* what some call a month */
    POLICY_BUILTIN_365_DAYS,
    POLICY_BUILTINS
};

/* Writes them to policies[first … first + POLICY_BUILTINS), with those ids. */
void policy_builtin_fill(struct limiter_policy *policies, uint32_t first);

const struct limiter_policy *policy_builtin_get(const struct policy_set *set,
                                                enum policy_builtin which);

/* A builtin fixed window (SECOND … 365_DAYS) with another L. */
struct limiter_policy policy_builtin_fixed_window(const struct policy_set *set,
                                                  enum policy_builtin which, uint64_t limit);

/* A reload's map (store.h): each builtin policy of `from` goes on as that of `to`. */
void policy_builtin_map(const struct policy_set *from, const struct policy_set *to, uint32_t *map);

#endif
