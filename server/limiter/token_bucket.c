/* One unit is W parts, and L parts drain each nanosecond: so the amount at any nanosecond is a
 * whole number of parts and nothing is ever rounded away. The largest amounts are below
 * 10^15 x 3653 days in ns < 2^109, so sums of two stay inside 128 bits; a product of a gap between
 * two instants (< 2^64) and L (< 2^50) does too.
 *
 *      used (parts)
 *   B x W  |- - - - - - - - - -    admitted while used + c x W stays at or below this line
 *          |   |\   |\
 *          |   | \  | \
 *          |  _|  \_|  \           the slope is L parts a nanosecond
 *          +--------------- time
 *
 * Divisions are needed only for what an answer shows. Amounts below 2^64 parts divide by the
 * reciprocals in the policy; wider ones take the 128-bit division. */
#include "limiter/token_bucket.h"

const struct algorithm token_bucket_algorithm = {
    .admit = token_bucket_admit,
    .report = token_bucket_report,
    .report_admitted = token_bucket_report_admitted,
    .refund = token_bucket_refund,
    .idle_at_ns = token_bucket_idle_at_ns,
    .convert = token_bucket_convert,
};

/* What is still used at `at_ns`, which is not before the state's own time. */
static inline arith_u128 used_at(const struct limiter_policy *held,
                                 const struct limiter_state *state, int64_t at_ns)
{
    if (state == NULL) {
        return 0;
    }
    arith_u128 used = token_bucket_used(state);
    arith_u128 drained = (arith_u128)instant_gap(at_ns, state->time_ns) * held->limit;
    return drained < used ? used - drained : 0;
}

/* The most that may be used for `cost` more units to fit. */
static inline arith_u128 room_for(const struct limiter_policy *asked, uint64_t cost)
{
    return (arith_u128)(asked->burst - cost) * (uint64_t)asked->window_ns;
}

static inline void set_next(struct limiter_step *step, arith_u128 used, int64_t time_ns)
{
    *step = (struct limiter_step){
        .next = {.time_ns = time_ns, .lo = (uint64_t)used, .hi = (uint64_t)(used >> 64)}};
}

enum limiter_outcome token_bucket_admit(const struct limiter_policy *asked,
                                        const struct limiter_policy *held,
                                        const struct limiter_state *state, uint64_t cost,
                                        int64_t now_ns, struct limiter_step *step)
{
    int64_t at_ns = instant_of(state, now_ns);
    arith_u128 used = used_at(held, state, at_ns);
    if (used > room_for(asked, cost)) {
        return LIMITER_REFUSE;
    }
    set_next(step, used + (arith_u128)cost * (uint64_t)asked->window_ns, at_ns);
    return LIMITER_ADMIT;
}

void token_bucket_report(const struct limiter_policy *asked, const struct limiter_policy *held,
                         const struct limiter_state *state, uint64_t cost, bool refused,
                         int64_t now_ns, struct limiter_report *out)
{
    int64_t at_ns = instant_of(state, now_ns);
    arith_u128 used = used_at(held, state, at_ns);
    out->remaining = token_bucket_remaining(asked, used);
    if (used > 0) {
        out->reset_after_ns = instant_wait_ns(now_ns, at_ns, token_bucket_drain_ns(held, used));
    }
    if (refused) {
        arith_u128 room = room_for(asked, cost);
        arith_u128 excess = used > room ? used - room : 0;
        out->retry_after_ns = instant_wait_ns(now_ns, at_ns, token_bucket_drain_ns(held, excess));
    }
}

void token_bucket_report_admitted(const struct limiter_policy *asked,
                                  const struct limiter_step *step, uint64_t cost, int64_t now_ns,
                                  struct limiter_report *out)
{
    (void)cost;
    arith_u128 used = token_bucket_used(&step->next);
    out->remaining = token_bucket_remaining(asked, used);
    out->reset_after_ns =
        instant_wait_ns(now_ns, step->next.time_ns, token_bucket_drain_ns(asked, used));
}

bool token_bucket_refund(const struct limiter_policy *held, const struct limiter_state *state,
                         uint64_t units, int64_t now_ns, struct limiter_step *step)
{
    int64_t at_ns = instant_of(state, now_ns);
    arith_u128 used = used_at(held, state, at_ns);
    arith_u128 back = (arith_u128)units * (uint64_t)held->window_ns;
    if (used == 0) {
        return false;
    }
    set_next(step, back < used ? used - back : 0, at_ns);
    return true;
}

int64_t token_bucket_idle_at_ns(const struct limiter_policy *held,
                                const struct limiter_state *state)
{
    arith_u128 used = token_bucket_used(state);
    if (used > 0 && held->limit == 0) {
        return INT64_MAX;
    }
    return instant_after_ns(state->time_ns, token_bucket_drain_ns(held, used));
}

/* The same amount in parts of another window, a fraction of such a part rounded up. Whole units
 * and the rest go apart, because the amount times the new window could pass 128 bits. */
static arith_u128 rescaled(arith_u128 used, uint64_t from_window, uint64_t to_window)
{
    arith_u128 units = used / from_window;
    arith_u128 rest = (used % from_window) * to_window;
    return units * to_window + (rest + from_window - 1) / from_window;
}

bool token_bucket_convert(const struct limiter_policy *from, const struct limiter_policy *to,
                          const struct limiter_state *state, int64_t at_ns,
                          struct limiter_step *step)
{
    if (from->limit == to->limit && from->burst == to->burst &&
        from->window_ns == to->window_ns) {
        *step = (struct limiter_step){.next = *state};
        return true;
    }
    int64_t since_ns = instant_of(state, at_ns);
    arith_u128 used = used_at(from, state, since_ns);
    if (from->window_ns != to->window_ns) {
        used = rescaled(used, (uint64_t)from->window_ns, (uint64_t)to->window_ns);
    }
    arith_u128 capacity = room_for(to, 0);
    used = used < capacity ? used : capacity;
    set_next(step, used, since_ns);
    return used > 0;
}
