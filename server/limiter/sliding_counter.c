/* In use, `into` ns into the current window:
 *
 *     current + previous x (W - into) / W        compared in parts of 1/W, never divided
 *
 *   |<------ W ------>|<-into->|               |
 *   |    previous     |  current               |
 *             |<------ W ----->| covers W - into of the previous window
 *
 * Units are below 2^51 and W below 2^59, so every product stays inside 128 bits. */
#include "limiter/sliding_counter.h"

#include "limiter/instant.h"

/* A counter as it stands at one instant. */
struct stand {
    uint64_t current;
    uint64_t previous;
    uint64_t into; /* ns into the current window */
};

static struct stand stand_at(const struct limiter_policy *policy,
                             const struct limiter_state *state, int64_t at_ns)
{
    uint64_t window = policy->by_window.value;
    struct stand stand = {.into = instant_into_window(at_ns, policy->by_window)};
    if (state == NULL) {
        return stand;
    }
    uint64_t gap = instant_gap(at_ns, state->time_ns);
    if (gap <= stand.into) {
        stand.current = state->lo;
        stand.previous = state->hi;
    } else if (gap - stand.into <= window) {
        stand.previous = state->lo;
    }
    return stand;
}

static struct limiter_step step_to(struct stand stand, int64_t at_ns)
{
    return (struct limiter_step){
        .next = {.time_ns = at_ns, .lo = stand.current, .hi = stand.previous}};
}

/* ceil(count x parts / W), where parts <= W. */
static uint64_t share_ceil(uint64_t count, uint64_t parts, struct arith_divisor window)
{
    arith_u128 product = (arith_u128)count * parts;
    if (product >> 64 == 0) {
        return arith_div_ceil((uint64_t)product, window);
    }
    return (uint64_t)((product + window.value - 1) / window.value);
}

/* Units in use, rounded up. */
static uint64_t in_use_ceil(const struct limiter_policy *policy, struct stand stand)
{
    uint64_t parts = policy->by_window.value - stand.into;
    return stand.current + share_ceil(stand.previous, parts, policy->by_window);
}

static uint64_t remaining_of(const struct limiter_policy *asked, struct stand stand)
{
    uint64_t used = in_use_ceil(asked, stand);
    return used < asked->limit ? asked->limit - used : 0;
}

static int64_t reset_after_ns(const struct limiter_policy *policy, struct stand stand,
                              int64_t at_ns, int64_t now_ns)
{
    uint64_t window = policy->by_window.value;
    uint64_t ahead = window - stand.into;
    if (stand.current > 0) {
        return instant_wait_ns(now_ns, at_ns, (arith_u128)ahead + window);
    }
    return stand.previous > 0 ? instant_wait_ns(now_ns, at_ns, ahead) : 0;
}

/* How far into a window the previous count must have faded for `room` units to hold what is left
 * of it: the least e with count x (W - e) <= room x W. At the latest W, the next one's start. */
static uint64_t fades_at(uint64_t count, uint64_t room, uint64_t window)
{
    if (count <= room) {
        return 0;
    }
    return window - (uint64_t)((arith_u128)room * window / count);
}

/* ns from the instant of `stand` until `cost` fits, if nothing else happens: in this window, or
 * in the next one, whose previous is this one's current, or in the one after, which is empty. */
static uint64_t fits_after(const struct limiter_policy *asked, struct stand stand, uint64_t cost)
{
    uint64_t window = asked->by_window.value;
    uint64_t room = asked->limit - cost;
    uint64_t ahead = window - stand.into;
    if (stand.current <= room) {
        uint64_t into = fades_at(stand.previous, room - stand.current, window);
        return into > stand.into ? into - stand.into : 0;
    }
    return ahead + fades_at(stand.current, room, window);
}

static enum limiter_outcome admit(const struct limiter_policy *asked,
                                  const struct limiter_policy *held,
                                  const struct limiter_state *state, uint64_t cost,
                                  int64_t now_ns, struct limiter_step *step)
{
    (void)held;
    int64_t at_ns = instant_of(state, now_ns);
    struct stand stand = stand_at(asked, state, at_ns);
    uint64_t room = asked->limit - cost;
    uint64_t window = asked->by_window.value;
    if (stand.current > room || (arith_u128)stand.previous * (window - stand.into) >
                                    (arith_u128)(room - stand.current) * window) {
        return LIMITER_REFUSE;
    }
    stand.current += cost;
    *step = step_to(stand, at_ns);
    return LIMITER_ADMIT;
}

static void report(const struct limiter_policy *asked, const struct limiter_policy *held,
                   const struct limiter_state *state, uint64_t cost, bool refused,
                   int64_t now_ns, struct limiter_report *out)
{
    (void)held;
    int64_t at_ns = instant_of(state, now_ns);
    struct stand stand = stand_at(asked, state, at_ns);
    out->remaining = remaining_of(asked, stand);
    out->reset_after_ns = reset_after_ns(asked, stand, at_ns, now_ns);
    if (refused) {
        out->retry_after_ns = instant_wait_ns(now_ns, at_ns, fits_after(asked, stand, cost));
    }
}

static void report_admitted(const struct limiter_policy *asked, const struct limiter_step *step,
                            uint64_t cost, int64_t now_ns, struct limiter_report *out)
{
    (void)cost;
    int64_t at_ns = step->next.time_ns;
    struct stand stand = stand_at(asked, &step->next, at_ns);
    out->remaining = remaining_of(asked, stand);
    out->reset_after_ns = reset_after_ns(asked, stand, at_ns, now_ns);
}

static bool refund(const struct limiter_policy *held, const struct limiter_state *state,
                   uint64_t units, int64_t now_ns, struct limiter_step *step)
{
    int64_t at_ns = instant_of(state, now_ns);
    struct stand stand = stand_at(held, state, at_ns);
    if (stand.current == 0 && stand.previous == 0) {
        return false;
    }
    uint64_t of_current = units < stand.current ? units : stand.current;
    uint64_t rest = units - of_current;
    stand.current -= of_current;
    stand.previous -= rest < stand.previous ? rest : stand.previous;
    *step = step_to(stand, at_ns);
    return true;
}

static int64_t idle_at_ns(const struct limiter_policy *held, const struct limiter_state *state)
{
    uint64_t window = held->by_window.value;
    uint64_t ahead = window - instant_into_window(state->time_ns, held->by_window);
    if (state->lo > 0) {
        return instant_after_ns(state->time_ns, (arith_u128)ahead + window);
    }
    return state->hi > 0 ? instant_after_ns(state->time_ns, ahead) : state->time_ns;
}

static bool convert(const struct limiter_policy *from, const struct limiter_policy *to,
                    const struct limiter_state *state, int64_t at_ns, struct limiter_step *step)
{
    if (from->window_ns == to->window_ns) {
        *step = (struct limiter_step){.next = *state};
        return true;
    }
    int64_t since_ns = instant_of(state, at_ns);
    uint64_t used = in_use_ceil(from, stand_at(from, state, since_ns));
    *step = step_to((struct stand){.current = used}, since_ns);
    return used > 0;
}

const struct algorithm sliding_counter_algorithm = {
    .admit = admit,
    .report = report,
    .report_admitted = report_admitted,
    .refund = refund,
    .idle_at_ns = idle_at_ns,
    .convert = convert,
};
