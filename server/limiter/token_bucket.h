/* Token bucket, kept as what was used rather than as what is left: a fresh bucket is 0 whatever
 * its size, and used drains at L per W. The leaky bucket is the same arithmetic. */
#ifndef LIMITER_TOKEN_BUCKET_H
#define LIMITER_TOKEN_BUCKET_H

#include "limiter/algorithm.h"
#include "limiter/instant.h"

extern const struct algorithm token_bucket_algorithm;

enum limiter_outcome token_bucket_admit(const struct limiter_policy *asked,
                                        const struct limiter_policy *held,
                                        const struct limiter_state *state, uint64_t cost,
                                        int64_t now_ns, struct limiter_step *step);
void token_bucket_report(const struct limiter_policy *asked, const struct limiter_policy *held,
                         const struct limiter_state *state, uint64_t cost, bool refused,
                         int64_t now_ns, struct limiter_report *out);
void token_bucket_report_admitted(const struct limiter_policy *asked,
                                  const struct limiter_step *step, uint64_t cost, int64_t now_ns,
                                  struct limiter_report *out);
bool token_bucket_refund(const struct limiter_policy *held, const struct limiter_state *state,
                         uint64_t units, int64_t now_ns, struct limiter_step *step);
int64_t token_bucket_idle_at_ns(const struct limiter_policy *held,
                                const struct limiter_state *state);
bool token_bucket_convert(const struct limiter_policy *from, const struct limiter_policy *to,
                          const struct limiter_state *state, int64_t at_ns,
                          struct limiter_step *step);

/* What a state holds, in 1/W units. */
static inline arith_u128 token_bucket_used(const struct limiter_state *state)
{
    return (arith_u128)state->hi << 64 | state->lo;
}

/* How long `amount` (in 1/W units) takes to drain at L per W, rounded up; for ever at L = 0. */
static inline arith_u128 token_bucket_drain_ns(const struct limiter_policy *rate,
                                               arith_u128 amount)
{
    if (amount == 0) {
        return 0;
    }
    if (rate->limit == 0) {
        return (arith_u128)INT64_MAX;
    }
    if (amount >> 64 == 0) {
        return arith_div_ceil((uint64_t)amount, rate->by_limit);
    }
    return (amount + rate->limit - 1) / rate->limit;
}

/* Whole units that still fit: B less the units used, of which one begun counts whole. */
static inline uint64_t token_bucket_remaining(const struct limiter_policy *asked,
                                              arith_u128 used)
{
    uint64_t window = (uint64_t)asked->window_ns;
    arith_u128 units = used >> 64 == 0 ? arith_div_ceil((uint64_t)used, asked->by_window)
                                       : (used + window - 1) / window;
    return units < asked->burst ? asked->burst - (uint64_t)units : 0;
}

/* limiter_admit_brief's; `cost` is 1 … B. */
static inline bool token_bucket_admit_brief(const struct limiter_policy *policy,
                                            const struct limiter_state *state, uint64_t cost,
                                            int64_t now_ns, struct limiter_state *next,
                                            struct limiter_report *out)
{
    uint64_t window = (uint64_t)policy->window_ns;
    uint64_t drained;
    uint64_t own;
    uint64_t used;
    uint64_t capacity;
    if (state->hi != 0 || state->time_ns > now_ns ||
        __builtin_mul_overflow(cost, window, &own)) {
        return false;
    }
    if (__builtin_mul_overflow(instant_gap(now_ns, state->time_ns), policy->limit, &drained)) {
        drained = UINT64_MAX;
    }
    uint64_t left = drained < state->lo ? state->lo - drained : 0;
    if (__builtin_add_overflow(left, own, &used) ||
        (!__builtin_mul_overflow(policy->burst, window, &capacity) && used > capacity)) {
        return false;
    }
    uint64_t units = arith_div_ceil(used, policy->by_window);
    uint64_t drain_ns = arith_div_ceil(used, policy->by_limit);
    *next = (struct limiter_state){.time_ns = now_ns, .lo = used};
    *out = (struct limiter_report){
        .remaining = policy->burst - units,
        .reset_after_ns = drain_ns < INT64_MAX ? (int64_t)drain_ns : INT64_MAX};
    return true;
}

#endif
