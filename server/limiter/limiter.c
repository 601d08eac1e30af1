/* Policies, and the one place that knows which algorithm is meant. What holds for all of them is
 * decided here: a look is always granted, a cost above B or L never is. */
#include "limiter/limiter.h"

#include "limiter/algorithm.h"
#include "limiter/fixed_window.h"
#include "limiter/leaky_bucket.h"
#include "limiter/sliding_counter.h"
#include "limiter/sliding_log.h"
#include "limiter/throttle.h"
#include "limiter/token_bucket.h"

#include <stddef.h>

static inline const struct algorithm *algorithm_of(const struct limiter_policy *policy)
{
    static const struct algorithm *const algorithms[] = {
        [LIMITER_TOKEN_BUCKET] = &token_bucket_algorithm,
        [LIMITER_LEAKY_BUCKET] = &leaky_bucket_algorithm,
        [LIMITER_FIXED_WINDOW] = &fixed_window_algorithm,
        [LIMITER_SLIDING_LOG] = &sliding_log_algorithm,
        [LIMITER_SLIDING_COUNTER] = &sliding_counter_algorithm,
        [LIMITER_THROTTLE] = &throttle_algorithm,
    };
    return algorithms[policy->algorithm];
}

static bool is_bucket(enum limiter_algorithm algorithm)
{
    return algorithm == LIMITER_TOKEN_BUCKET || algorithm == LIMITER_LEAKY_BUCKET ||
           algorithm == LIMITER_THROTTLE;
}

/* L = 0 closes a route whatever the burst, and a bucket without a burst of its own has L. */
static uint64_t capacity_units(enum limiter_algorithm algorithm, uint64_t limit, uint64_t burst)
{
    return limit > 0 && burst > 0 && is_bucket(algorithm) ? burst : limit;
}

void limiter_policy_init(struct limiter_policy *policy, enum limiter_algorithm algorithm,
                         uint64_t limit, uint64_t burst, int64_t window_ns,
                         const struct calendar *calendar)
{
    uint64_t window = window_ns > 0 ? (uint64_t)window_ns : 1;
    uint64_t units = capacity_units(algorithm, limit, burst);
    *policy = (struct limiter_policy){
        .algorithm = algorithm,
        .limit = limit,
        .burst = units,
        .window_ns = calendar != NULL ? 0 : window_ns,
        .calendar = calendar,
        .by_window = arith_divisor_make(window),
        .by_limit = arith_divisor_make(limit > 0 ? limit : 1),
    };
}

/* A counter that is as if never used is the same as no counter: of one that was given back whole
 * nothing counts any more, not even its time. (A log that still has old entries to drop keeps its
 * time, since entries ascend.) */
static inline const struct limiter_state *in_use(const struct limiter_state *state)
{
    if (state == NULL || (state->lo | state->hi) != 0) {
        return state;
    }
    return state->log != NULL && state->log->count > 0 ? state : NULL;
}

enum limiter_outcome limiter_admit(const struct limiter_policy *asked,
                                   const struct limiter_policy *held,
                                   const struct limiter_state *state, uint64_t cost,
                                   int64_t now_ns, struct limiter_step *step)
{
    if (cost == 0) {
        return LIMITER_ADMIT;
    }
    if (cost > asked->burst) {
        return LIMITER_NEVER;
    }
    return algorithm_of(asked)->admit(asked, held, in_use(state), cost, now_ns, step);
}

void limiter_report(const struct limiter_policy *asked, const struct limiter_policy *held,
                    const struct limiter_state *state, uint64_t cost,
                    enum limiter_outcome outcome, int64_t now_ns, struct limiter_report *out)
{
    bool refused = outcome == LIMITER_REFUSE;
    *out = (struct limiter_report){.remaining = 0};
    algorithm_of(asked)->report(asked, held, in_use(state), cost, refused, now_ns, out);
    /* A request that names one counter twice can be refused for what it would itself have used. */
    if (refused && out->retry_after_ns < 1) {
        out->retry_after_ns = 1;
    }
}

void limiter_report_admitted(const struct limiter_policy *asked,
                             const struct limiter_policy *held,
                             const struct limiter_state *before, const struct limiter_step *step,
                             uint64_t cost, int64_t now_ns, struct limiter_report *out)
{
    if (cost == 0) {
        limiter_report(asked, held, before, cost, LIMITER_ADMIT, now_ns, out);
        return;
    }
    *out = (struct limiter_report){.remaining = 0};
    algorithm_of(asked)->report_admitted(asked, step, cost, now_ns, out);
}

bool limiter_admit_brief(const struct limiter_policy *policy, const struct limiter_state *state,
                         uint64_t cost, int64_t now_ns, struct limiter_state *next,
                         struct limiter_report *out)
{
    return policy->algorithm == LIMITER_TOKEN_BUCKET && cost > 0 && cost <= policy->burst &&
           token_bucket_admit_brief(policy, state, cost, now_ns, next, out);
}

bool limiter_refund(const struct limiter_policy *held, const struct limiter_state *state,
                    uint64_t units, int64_t now_ns, struct limiter_step *step)
{
    if (state == NULL || units == 0) {
        return false;
    }
    return algorithm_of(held)->refund(held, state, units, now_ns, step);
}

int64_t limiter_idle_at_ns(const struct limiter_policy *held, const struct limiter_state *state)
{
    return algorithm_of(held)->idle_at_ns(held, state);
}

bool limiter_convert(const struct limiter_policy *from, const struct limiter_policy *to,
                     const struct limiter_state *state, int64_t at_ns, struct limiter_step *step)
{
    if (from->algorithm != to->algorithm) {
        return false;
    }
    return algorithm_of(from)->convert(from, to, state, at_ns, step);
}

const char *limiter_algorithm_name(enum limiter_algorithm algorithm)
{
    switch (algorithm) {
    case LIMITER_TOKEN_BUCKET:
        return "token_bucket";
    case LIMITER_LEAKY_BUCKET:
        return "leaky_bucket";
    case LIMITER_FIXED_WINDOW:
        return "fixed_window";
    case LIMITER_SLIDING_LOG:
        return "sliding_window_log";
    case LIMITER_SLIDING_COUNTER:
        return "sliding_window_counter";
    case LIMITER_THROTTLE:
        return "throttle";
    case LIMITER_ALGORITHMS:
        break;
    }
    return "unknown";
}
