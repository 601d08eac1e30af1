/* A state is the count of the window that its own time lies in; when the time asked about lies in
 * a later window the count is 0. Neither the window's start nor its end need fit 64 bits: only how
 * far the instant lies from both is computed. */
#include "limiter/fixed_window.h"

#include "limiter/instant.h"

/* Where an instant lies in its window: start <= at < at + ahead = end. */
struct place {
    uint64_t into;  /* ns since the window's start */
    uint64_t ahead; /* ns until its end */
};

static inline struct place place_of(const struct limiter_policy *policy, int64_t at_ns)
{
    if (policy->calendar != NULL) {
        int64_t start_ns;
        int64_t end_ns;
        calendar_window(policy->calendar, at_ns, &start_ns, &end_ns);
        return (struct place){.into = instant_gap(at_ns, start_ns),
                              .ahead = instant_gap(end_ns, at_ns)};
    }
    uint64_t into = instant_into_window(at_ns, policy->by_window);
    return (struct place){.into = into, .ahead = policy->by_window.value - into};
}

/* What is used in the window of at_ns, which is not before the state's own time. */
static inline uint64_t used_at(const struct limiter_state *state, int64_t at_ns,
                               struct place place)
{
    if (state == NULL || instant_gap(at_ns, state->time_ns) > place.into) {
        return 0;
    }
    return state->lo;
}

static inline uint64_t remaining_of(const struct limiter_policy *asked, uint64_t used)
{
    return used < asked->limit ? asked->limit - used : 0;
}

static enum limiter_outcome admit(const struct limiter_policy *asked,
                                  const struct limiter_policy *held,
                                  const struct limiter_state *state, uint64_t cost,
                                  int64_t now_ns, struct limiter_step *step)
{
    (void)held;
    int64_t at_ns = instant_of(state, now_ns);
    uint64_t used = used_at(state, at_ns, place_of(asked, at_ns));
    if (used > asked->limit - cost) {
        return LIMITER_REFUSE;
    }
    *step = (struct limiter_step){.next = {.time_ns = at_ns, .lo = used + cost}};
    return LIMITER_ADMIT;
}

static void report(const struct limiter_policy *asked, const struct limiter_policy *held,
                   const struct limiter_state *state, uint64_t cost, bool refused,
                   int64_t now_ns, struct limiter_report *out)
{
    (void)held;
    (void)cost;
    int64_t at_ns = instant_of(state, now_ns);
    struct place place = place_of(asked, at_ns);
    out->remaining = remaining_of(asked, used_at(state, at_ns, place));
    out->reset_after_ns = instant_wait_ns(now_ns, at_ns, place.ahead);
    out->retry_after_ns = refused ? out->reset_after_ns : 0;
}

static void report_admitted(const struct limiter_policy *asked, const struct limiter_step *step,
                            uint64_t cost, int64_t now_ns, struct limiter_report *out)
{
    (void)cost;
    struct place place = place_of(asked, step->next.time_ns);
    out->remaining = remaining_of(asked, step->next.lo);
    out->reset_after_ns = instant_wait_ns(now_ns, step->next.time_ns, place.ahead);
}

static bool refund(const struct limiter_policy *held, const struct limiter_state *state,
                   uint64_t units, int64_t now_ns, struct limiter_step *step)
{
    int64_t at_ns = instant_of(state, now_ns);
    uint64_t used = used_at(state, at_ns, place_of(held, at_ns));
    if (used == 0) {
        return false;
    }
    *step = (struct limiter_step){
        .next = {.time_ns = at_ns, .lo = units < used ? used - units : 0}};
    return true;
}

static int64_t idle_at_ns(const struct limiter_policy *held, const struct limiter_state *state)
{
    if (state->lo == 0) {
        return state->time_ns;
    }
    return instant_after_ns(state->time_ns, place_of(held, state->time_ns).ahead);
}

static bool convert(const struct limiter_policy *from, const struct limiter_policy *to,
                    const struct limiter_state *state, int64_t at_ns, struct limiter_step *step)
{
    bool same_window = from->calendar != NULL && to->calendar != NULL
                           ? calendar_equal(from->calendar, to->calendar)
                           : from->calendar == to->calendar && from->window_ns == to->window_ns;
    if (same_window) {
        *step = (struct limiter_step){.next = *state};
        return true;
    }
    int64_t since_ns = instant_of(state, at_ns);
    uint64_t used = used_at(state, since_ns, place_of(from, since_ns));
    *step = (struct limiter_step){.next = {.time_ns = since_ns, .lo = used}};
    return used > 0;
}

const struct algorithm fixed_window_algorithm = {
    .admit = admit,
    .report = report,
    .report_admitted = report_admitted,
    .refund = refund,
    .idle_at_ns = idle_at_ns,
    .convert = convert,
};
