/* What a simulation counts for its summary, in memory that does not grow with the traffic. */
#ifndef SIMULATE_TALLY_H
#define SIMULATE_TALLY_H

#include "simulate.h"
#include "simulate_distinct.h"
#include "simulate_series.h"
#include "simulate_top.h"

#define SIMULATE_TALLY_WORST ((size_t)10)

/* One limit by its name, over all reloads. */
struct simulate_tally_limit {
    char *name; /* NULL: not met yet */
    enum limiter_algorithm algorithm;
    bool shadow;            /* as last met */
    uint64_t decided;       /* requests that it had a say in */
    uint64_t refused;       /* of these, refused by it */
    uint64_t would_refuse;  /* as a shadow, where nothing else refused */
    int64_t longest_wait_ns; /* of what it refused; -1: none */
    int64_t longest_delay_ns;
    bool never;             /* it refused something for ever */
    struct simulate_distinct counters;
    struct simulate_top worst;
    struct simulate_series *refusals; /* NULL: none, or no chart */
};

struct simulate_tally {
    const struct hash_key *key; /* borrowed */
    uint64_t lines;             /* items of any kind */
    uint64_t requests;          /* op allow that was decided */
    uint64_t allowed;
    uint64_t refused;
    uint64_t not_limited;       /* of the allowed: nothing limited them */
    uint64_t errors;            /* items answered with an error */
    uint64_t refunds;
    uint64_t resets;
    uint64_t reloads;
    uint64_t reloads_refused;
    struct request_error first_error;
    uint64_t first_error_line;
    int64_t first_ns; /* the span */
    int64_t last_ns;
    bool charted;
    struct simulate_axis axis;
    struct simulate_series *allowed_series; /* NULL: no chart */
    struct simulate_series *refused_series;
    struct simulate_tally_limit *limits; /* by the number of its name */
    uint32_t limit_count;
    struct buf scratch;
    uint8_t route[LIMITS_KEY_BYTES_MAX];
    bool failed; /* out of memory: some counts are too low */
};

/* `charted`: keep what a chart needs. */
void simulate_tally_init(struct simulate_tally *tally, const struct hash_key *key, bool charted);
void simulate_tally_deinit(struct simulate_tally *tally);

/* Counts one answer; it must come with details. `set`: the limits it was decided by. */
void simulate_tally_add(struct simulate_tally *tally, const struct policy_set *set,
                        const struct traffic_item *item, const struct simulate_answer *answer);

/* The series of the chart, into `out` (room for limit_count + 2); returns how many. */
size_t simulate_tally_series(const struct simulate_tally *tally, struct simulate_series **out);

/* The limits that had a say, most refusals first, into `out` (room for limit_count); returns how
 * many. */
size_t simulate_tally_order(const struct simulate_tally *tally,
                            const struct simulate_tally_limit **out);

/* What it refused, or would have as a shadow. */
static inline uint64_t simulate_tally_refusals(const struct simulate_tally_limit *limit)
{
    return limit->refused + limit->would_refuse;
}

#endif
