/* What an algorithm decides: (policy, state, cost, now) -> (next state, verdict).
 *
 * Pure arithmetic: no clock, no allocation, no I/O, no lock, const state in. Exact integers
 * throughout; a bucket counts in units of 1/W (W the window in ns), so no fraction is lost.
 *
 * Words: L limit, W window, B burst (capacity), c cost.  Sources: token bucket as in J. Turner,
 * "New directions in communications (or which way to the information age?)", 1986, kept as used
 * amount; leaky bucket as a queue (ITU-T I.371's continuous-state form, with a delay); sliding
 * log and two-window sliding counter as commonly practised.
 *
 * `asked` is the policy of the request's own numbers; `held` the one of the counter's latest
 * admission (for a fresh counter: the same as asked). Only a bucket makes a difference: it drains
 * at held's rate. A state of NULL is a fresh counter. */
#ifndef LIMITER_LIMITER_H
#define LIMITER_LIMITER_H

#include "base/arith.h"
#include "limiter/calendar.h"

#include <stdbool.h>
#include <stdint.h>

enum limiter_algorithm {
    LIMITER_TOKEN_BUCKET,
    LIMITER_LEAKY_BUCKET,
    LIMITER_FIXED_WINDOW,
    LIMITER_SLIDING_LOG,
    LIMITER_SLIDING_COUNTER,
    LIMITER_ALGORITHMS, /* those that a limits file can name */
    LIMITER_THROTTLE    /* CL.THROTTLE's own (throttle.h) */
};

/* The numbers of one limit under one plan value or override. Immutable; made by
 * limiter_policy_init. */
struct limiter_policy {
    enum limiter_algorithm algorithm;
    uint32_t id;                     /* index in its policy set; the store keeps it in the slot */
    uint64_t limit;                  /* L */
    uint64_t burst;                  /* B of a bucket, else L: what answers show as `limit` */
    int64_t window_ns;               /* W; 0 for a calendar window */
    const struct calendar *calendar; /* calendar windows only, not owned */
    struct arith_divisor by_window;  /* W */
    struct arith_divisor by_limit;   /* L, or 1 where L is 0 */
};

void limiter_policy_init(struct limiter_policy *policy, enum limiter_algorithm algorithm,
                         uint64_t limit, uint64_t burst, int64_t window_ns,
                         const struct calendar *calendar);

/* One admission of a sliding log. `total` counts units admitted up to and including this entry,
 * modulo 2^32: differences of totals are sums. */
struct limiter_log_entry {
    int64_t at_ns;
    uint32_t total;
};

/* Read access to a log that the store keeps. Entries ascend in at_ns. Access by index is O(1). */
struct limiter_log {
    uint32_t count;
    uint32_t base; /* total just before entry 0 */
    struct limiter_log_entry (*at)(const struct limiter_log *log, uint32_t index);
};

/* A counter, unpacked. What lo and hi mean:
 *   buckets         (hi, lo) = used, as a 128-bit number of 1/W units, at time_ns
 *   fixed window    lo = used in the window that contains time_ns; hi = 0
 *   sliding counter lo = used in the current window (the one of time_ns), hi = in the previous
 *   sliding log     0; the entries are in *log
 *   throttle        (hi, lo) = the wait until empty at time_ns (throttle.c) */
struct limiter_state {
    int64_t time_ns; /* the counter's own time: of its latest change */
    uint64_t lo;
    uint64_t hi;
    const struct limiter_log *log; /* sliding log only, else NULL */
};

enum limiter_outcome {
    LIMITER_ADMIT,
    LIMITER_REFUSE, /* would pass later */
    LIMITER_NEVER   /* c > B (c > L): can never be allowed */
};

/* What to do to the counter. The store applies it. */
struct limiter_step {
    struct limiter_state next; /* log pointer unset; for a log only time_ns counts */
    uint32_t log_drop;         /* oldest entries to drop first */
    uint32_t log_append;       /* then units to append at next.time_ns (0: none), merged into the
                                * newest entry where its instant is the same */
    uint32_t log_pop;          /* or units to take back, newest first */
};

/* What a row of an answer shows. Durations in ns, exact, rounded up to whole ns. */
struct limiter_report {
    uint64_t remaining;     /* whole units that would be granted at this instant */
    int64_t retry_after_ns; /* refused: wait until the same request passes; else 0 */
    int64_t reset_after_ns; /* until as if never used; a fixed window: until its end */
    int64_t delay_ns;       /* leaky bucket, admitted: how long to hold the call */
};

/* Would `cost` be granted at now_ns? Fills *step when it is (cost 0 is always granted and leaves
 * the counter as it is: *step is then not to be applied). */
enum limiter_outcome limiter_admit(const struct limiter_policy *asked,
                                   const struct limiter_policy *held,
                                   const struct limiter_state *state, uint64_t cost,
                                   int64_t now_ns, struct limiter_step *step);

/* The numbers of a counter as it stands in *state (uncharged), for a request of `cost`.
 * `outcome` as limiter_admit said: LIMITER_REFUSE asks for retry_after_ns as well; for an admitted
 * request that is not charged (another limit refused it) the numbers are those before it. */
void limiter_report(const struct limiter_policy *asked, const struct limiter_policy *held,
                    const struct limiter_state *state, uint64_t cost,
                    enum limiter_outcome outcome, int64_t now_ns, struct limiter_report *out);

/* The numbers after an admission: *before is the state that limiter_admit saw, *step what it
 * answered. delay_ns is filled here. */
void limiter_report_admitted(const struct limiter_policy *asked,
                             const struct limiter_policy *held,
                             const struct limiter_state *before, const struct limiter_step *step,
                             uint64_t cost, int64_t now_ns, struct limiter_report *out);

/* The way of nearly every question, limiter_admit and limiter_report_admitted at once: a token
 * bucket with amounts below 2^64 parts, held by the same policy, admits. Fills *next and *out.
 * False: it is not so simple, nothing was filled. */
bool limiter_admit_brief(const struct limiter_policy *policy, const struct limiter_state *state,
                         uint64_t cost, int64_t now_ns, struct limiter_state *next,
                         struct limiter_report *out);

/* Gives back up to `units`; never an error. False: nothing to give back, leave the counter. */
bool limiter_refund(const struct limiter_policy *held, const struct limiter_state *state,
                    uint64_t units, int64_t now_ns, struct limiter_step *step);

/* The first instant at which the counter is as if never used (held at INT64_MAX); at or before
 * state->time_ns when it is already. */
int64_t limiter_idle_at_ns(const struct limiter_policy *held, const struct limiter_state *state);

/* A reload at at_ns (semantics "what was used stays used"): `from` held the counter, `to` are the
 * new file's numbers for the same plan value or override. Same algorithm on both sides. False:
 * nothing is left of it, forget the counter. */
bool limiter_convert(const struct limiter_policy *from, const struct limiter_policy *to,
                     const struct limiter_state *state, int64_t at_ns, struct limiter_step *step);

/* "token_bucket" …; the names of the limits file. */
const char *limiter_algorithm_name(enum limiter_algorithm algorithm);

#endif
