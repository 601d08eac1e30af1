/* Token bucket, kept as what was used rather than as what is left: a fresh bucket is 0 whatever
 * its size, and used drains at L per W. The leaky bucket is the same arithmetic. */
#ifndef LIMITER_TOKEN_BUCKET_H
#define LIMITER_TOKEN_BUCKET_H

#include "limiter/algorithm.h"

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

#endif
