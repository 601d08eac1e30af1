/* Exact integer arithmetic for the limiters. Nothing here rounds unless its name says how. */
#ifndef BASE_ARITH_H
#define BASE_ARITH_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 arith_u128;

/* Division by a number known in advance, by multiplication with its reciprocal. */
struct arith_divisor {
    uint64_t value;      /* > 0 */
    uint64_t reciprocal; /* floor((2^64 - 1) / value) */
};

static inline struct arith_divisor arith_divisor_make(uint64_t value)
{
    return (struct arith_divisor){.value = value, .reciprocal = UINT64_MAX / value};
}

/* floor(x / d): the estimate is at most 2 too small (q*r <= x*2^-64*(2^64-1)/d), so two
 * corrections make it exact. */
static inline uint64_t arith_div_floor(uint64_t x, struct arith_divisor d)
{
    uint64_t quotient = (uint64_t)(((arith_u128)x * d.reciprocal) >> 64);
    uint64_t rest = x - quotient * d.value;
    while (rest >= d.value) {
        rest -= d.value;
        quotient++;
    }
    return quotient;
}

static inline uint64_t arith_div_ceil(uint64_t x, struct arith_divisor d)
{
    uint64_t quotient = (uint64_t)(((arith_u128)x * d.reciprocal) >> 64);
    uint64_t rest = x - quotient * d.value;
    while (rest > d.value) {
        rest -= d.value;
        quotient++;
    }
    return quotient + (rest > 0);
}

static inline int64_t arith_clamp_ns(arith_u128 ns)
{
    return ns > (arith_u128)INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* a + b, held at INT64_MAX; b >= 0. */
static inline int64_t arith_add_ns(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* later - earlier, 0 when negative, held at INT64_MAX. */
static inline int64_t arith_since_ns(int64_t later, int64_t earlier)
{
    int64_t difference;
    if (later <= earlier) {
        return 0;
    }
    return __builtin_sub_overflow(later, earlier, &difference) ? INT64_MAX : difference;
}

#endif
