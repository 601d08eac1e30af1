/* The shape that all algorithms have: limiter.c picks one of these tables and calls through it.
 * The functions mean what their namesakes in limiter.h mean, except that limiter.c has already
 * dealt with looks (cost 0) and with costs that can never pass, so `cost` is 1 … asked->burst
 * wherever something is charged or waited for. */
#ifndef LIMITER_ALGORITHM_H
#define LIMITER_ALGORITHM_H

#include "limiter/limiter.h"

struct algorithm {
    /* LIMITER_ADMIT or LIMITER_REFUSE. */
    enum limiter_outcome (*admit)(const struct limiter_policy *asked,
                                  const struct limiter_policy *held,
                                  const struct limiter_state *state, uint64_t cost,
                                  int64_t now_ns, struct limiter_step *step);
    /* retry_after_ns is asked for by `refused`. *out comes zeroed. */
    void (*report)(const struct limiter_policy *asked, const struct limiter_policy *held,
                   const struct limiter_state *state, uint64_t cost, bool refused,
                   int64_t now_ns, struct limiter_report *out);
    /* *out comes zeroed. All that is needed is in *step: the state before it may be gone. */
    void (*report_admitted)(const struct limiter_policy *asked, const struct limiter_step *step,
                            uint64_t cost, int64_t now_ns, struct limiter_report *out);
    bool (*refund)(const struct limiter_policy *held, const struct limiter_state *state,
                   uint64_t units, int64_t now_ns, struct limiter_step *step);
    int64_t (*idle_at_ns)(const struct limiter_policy *held, const struct limiter_state *state);
    bool (*convert)(const struct limiter_policy *from, const struct limiter_policy *to,
                    const struct limiter_state *state, int64_t at_ns, struct limiter_step *step);
};

#endif
