/* The log belongs to the store; here it is read by index. Each entry carries the running total of
 * units, so what any stretch of entries holds is one subtraction, and both questions (which entry
 * is the oldest that counts, which one's leaving frees enough) are binary searches.
 *
 *   entry     0      1      2      3        total of i: units admitted up to and with i
 *   at        s0  <= s1  <= s2  <= s3       modulo 2^32; no stretch that counts holds more than
 *             |--gone--|------count----|    10^6 units, so differences are exact
 *
 * An admission leaves what was used after it in step->next.lo, which a log does not store: so its
 * report needs no look at a log that may have changed since. */
#include "limiter/sliding_log.h"

#include "limiter/instant.h"

/* The entries that count at one instant: [first, count). */
struct live {
    uint32_t first;
    uint32_t used;
};

static bool has_left(int64_t entry_ns, int64_t at_ns, uint64_t window)
{
    return entry_ns <= at_ns && instant_gap(at_ns, entry_ns) >= window;
}

/* The total just before entry `index`. */
static uint32_t total_before(const struct limiter_log *log, uint32_t index)
{
    return index == 0 ? log->base : log->at(log, index - 1).total;
}

static uint32_t first_live(const struct limiter_log *log, int64_t at_ns, uint64_t window)
{
    uint32_t low = 0;
    uint32_t high = log->count;
    if (high == 0 || !has_left(log->at(log, 0).at_ns, at_ns, window)) {
        return 0;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (has_left(log->at(log, middle).at_ns, at_ns, window)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct live live_at(const struct limiter_state *state, int64_t at_ns, uint64_t window)
{
    if (state == NULL || state->log == NULL || state->log->count == 0) {
        return (struct live){.used = 0};
    }
    const struct limiter_log *log = state->log;
    uint32_t first = first_live(log, at_ns, window);
    uint32_t newest = log->at(log, log->count - 1).total;
    return (struct live){.first = first, .used = newest - total_before(log, first)};
}

/* How long until an entry that counts leaves. */
static int64_t leaves_after_ns(int64_t entry_ns, int64_t now_ns, uint64_t window)
{
    if (entry_ns >= now_ns) {
        return instant_wait_ns(now_ns, entry_ns, window);
    }
    uint64_t past = instant_gap(now_ns, entry_ns);
    return past < window ? (int64_t)(window - past) : 0;
}

/* The oldest entry with which at least `units` of those that count have left. */
static int64_t entry_that_frees(const struct limiter_log *log, uint32_t first, uint32_t units)
{
    uint32_t before = total_before(log, first);
    uint32_t low = first;
    uint32_t high = log->count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (log->at(log, middle).total - before < units) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return log->at(log, low).at_ns;
}

static uint64_t remaining_of(const struct limiter_policy *asked, uint64_t used)
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
    struct live live = live_at(state, at_ns, (uint64_t)asked->window_ns);
    if (live.used > asked->limit - cost) {
        return LIMITER_REFUSE;
    }
    *step = (struct limiter_step){.next = {.time_ns = at_ns, .lo = live.used + cost},
                                  .log_drop = live.first,
                                  .log_append = (uint32_t)cost};
    return LIMITER_ADMIT;
}

static void report(const struct limiter_policy *asked, const struct limiter_policy *held,
                   const struct limiter_state *state, uint64_t cost, bool refused,
                   int64_t now_ns, struct limiter_report *out)
{
    (void)held;
    uint64_t window = (uint64_t)asked->window_ns;
    struct live live = live_at(state, instant_of(state, now_ns), window);
    out->remaining = remaining_of(asked, live.used);
    if (live.used == 0) {
        return;
    }
    const struct limiter_log *log = state->log;
    out->reset_after_ns = leaves_after_ns(log->at(log, log->count - 1).at_ns, now_ns, window);
    if (refused && live.used > asked->limit - cost) {
        uint32_t excess = (uint32_t)(live.used - (asked->limit - cost));
        int64_t entry_ns = entry_that_frees(log, live.first, excess);
        out->retry_after_ns = leaves_after_ns(entry_ns, now_ns, window);
    }
}

static void report_admitted(const struct limiter_policy *asked, const struct limiter_step *step,
                            uint64_t cost, int64_t now_ns, struct limiter_report *out)
{
    (void)cost;
    out->remaining = remaining_of(asked, step->next.lo);
    out->reset_after_ns = instant_wait_ns(now_ns, step->next.time_ns, (uint64_t)asked->window_ns);
}

static bool refund(const struct limiter_policy *held, const struct limiter_state *state,
                   uint64_t units, int64_t now_ns, struct limiter_step *step)
{
    int64_t at_ns = instant_of(state, now_ns);
    struct live live = live_at(state, at_ns, (uint64_t)held->window_ns);
    if (live.used == 0) {
        return false;
    }
    *step = (struct limiter_step){.next = {.time_ns = at_ns},
                                  .log_pop = units < live.used ? (uint32_t)units : live.used};
    return true;
}

static int64_t idle_at_ns(const struct limiter_policy *held, const struct limiter_state *state)
{
    const struct limiter_log *log = state->log;
    if (log == NULL || log->count == 0) {
        return state->time_ns;
    }
    return instant_after_ns(log->at(log, log->count - 1).at_ns, (uint64_t)held->window_ns);
}

static bool convert(const struct limiter_policy *from, const struct limiter_policy *to,
                    const struct limiter_state *state, int64_t at_ns, struct limiter_step *step)
{
    if (from->window_ns == to->window_ns) {
        *step = (struct limiter_step){.next = *state};
        return true;
    }
    /* Only what counts under both windows stays: the rest could not count again. */
    int64_t since_ns = instant_of(state, at_ns);
    int64_t window_ns = from->window_ns < to->window_ns ? from->window_ns : to->window_ns;
    struct live live = live_at(state, since_ns, (uint64_t)window_ns);
    *step = (struct limiter_step){.next = {.time_ns = since_ns}, .log_drop = live.first};
    return live.used > 0;
}

const struct algorithm sliding_log_algorithm = {
    .admit = admit,
    .report = report,
    .report_admitted = report_admitted,
    .refund = refund,
    .idle_at_ns = idle_at_ns,
    .convert = convert,
};
