/* Instants and the waits between them, held at the ends of what 64 bits of nanoseconds can say. */
#ifndef LIMITER_INSTANT_H
#define LIMITER_INSTANT_H

#include "limiter/limiter.h"

#include <stddef.h>

/* The time that counts for a decision: a counter's own time does not go back. */
static inline int64_t instant_of(const struct limiter_state *state, int64_t now_ns)
{
    return state != NULL && state->time_ns > now_ns ? state->time_ns : now_ns;
}

/* later - earlier as an unsigned number, which holds any difference of two instants. */
static inline uint64_t instant_gap(int64_t later_ns, int64_t earlier_ns)
{
    return (uint64_t)later_ns - (uint64_t)earlier_ns;
}

/* How long from now_ns until `ahead` ns after `at_ns`, where at_ns >= now_ns. */
static inline int64_t instant_wait_ns(int64_t now_ns, int64_t at_ns, arith_u128 ahead)
{
    arith_u128 before = instant_gap(at_ns, now_ns);
    if (ahead > (arith_u128)INT64_MAX) {
        return INT64_MAX;
    }
    return arith_clamp_ns(before + ahead);
}

/* at_ns + ahead, held at INT64_MAX. */
static inline int64_t instant_after_ns(int64_t at_ns, arith_u128 ahead)
{
    if (ahead > instant_gap(INT64_MAX, at_ns)) {
        return INT64_MAX;
    }
    return (int64_t)((uint64_t)at_ns + (uint64_t)ahead);
}

/* How far at_ns lies into its window of `window` ns; windows begin at whole multiples of it since
 * the epoch, before the epoch as well. */
static inline uint64_t instant_into_window(int64_t at_ns, struct arith_divisor window)
{
    uint64_t distance = at_ns < 0 ? ~(uint64_t)at_ns : (uint64_t)at_ns;
    uint64_t rest = distance - arith_div_floor(distance, window) * window.value;
    return at_ns < 0 ? window.value - 1 - rest : rest;
}

#endif
