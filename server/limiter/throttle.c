/* One unit keeps a key from being empty for W / L ns, so with the numbers of one request all waits
 * are whole parts of 1/L ns: an amount is counted in them (a unit is W parts, B units are the most)
 * and nothing is rounded. The largest amount is below 10^15 x 3653 days in ns < 2^109 parts.
 *
 * A state has no room for L beside the wait, and needs none: the wait is kept as a binary fraction
 * of ns, rounded up, with at least as many places as L has bits. Steps of 1/L are wider than its
 * last place, so for the same L exactly one multiple of 1/L rounds to it, and that is found again
 * (count_parts). For another L the wait is rounded up to its next part, where it is no multiple to
 * the last place that is kept.
 *
 *   (hi, lo) = wait at time_ns, as
 *              [ whole ns | places of fraction | nothing left, 1 bit | number of places, 6 bits ]
 *
 * Most keys need one word: a wait without a fraction below 4 years, one below 4 s with an L of up
 * to 2^25, one below an hour with up to 2^15. The most that can be asked for needs 117 bits.
 *
 * Numbers that are not known (L = 0) are those of the builtin policy: with it the store asks
 * whether a key is used up, which is told as it was after the latest admission. */
#include "limiter/throttle.h"

#include "limiter/instant.h"

#include <stddef.h>

#define PLACES_MASK 63u
#define NOTHING_LEFT 64u
#define VALUE_SHIFT 7
#define NARROW_BITS (64 - VALUE_SHIFT)
#define WIDE_BITS (128 - VALUE_SHIFT)
#define NARROW_PLACES_MOST 32 /* of a fraction that 64-bit arithmetic finds */
#define WIDE_PLACES_MOST 63

/* Above every amount that can be admitted, and still far from the end of 128 bits. */
#define PARTS_MOST ((arith_u128)1 << 126)

/* How long a key is not empty. */
struct wait {
    arith_u128 whole_ns;
    uint64_t fraction; /* in 1 / 2^places ns */
    uint32_t places;
};

static struct wait wait_at(const struct limiter_state *state, int64_t at_ns)
{
    if (state == NULL) {
        return (struct wait){.whole_ns = 0};
    }
    arith_u128 word = (arith_u128)state->hi << 64 | state->lo;
    uint32_t places = (uint32_t)state->lo & PLACES_MASK;
    arith_u128 value = word >> VALUE_SHIFT;
    arith_u128 whole = value >> places;
    uint64_t elapsed = instant_gap(at_ns, state->time_ns);
    if (whole < elapsed) {
        return (struct wait){.whole_ns = 0};
    }
    return (struct wait){.whole_ns = whole - elapsed,
                         .fraction = (uint64_t)value & ((UINT64_C(1) << places) - 1),
                         .places = places};
}

static arith_u128 wait_ceil_ns(const struct wait *wait)
{
    return wait->whole_ns + (wait->fraction > 0);
}

static uint32_t bits_of(uint64_t value)
{
    return value == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(value);
}

/* As many as there is room for, in one word where that is enough for L. */
static uint32_t places_for(arith_u128 whole, uint64_t limit)
{
    uint32_t whole_bits = whole >> 64 == 0 ? bits_of((uint64_t)whole)
                                           : 64 + bits_of((uint64_t)(whole >> 64));
    uint32_t least = bits_of(limit);
    if (whole_bits + least <= NARROW_BITS && least <= NARROW_PLACES_MOST) {
        uint32_t room = NARROW_BITS - whole_bits;
        return room < NARROW_PLACES_MOST ? room : NARROW_PLACES_MOST;
    }
    uint32_t room = WIDE_BITS - whole_bits;
    return room < WIDE_PLACES_MOST ? room : WIDE_PLACES_MOST;
}

/* n / L ns as a fraction of that many places, rounded up. */
static uint64_t fraction_of(const struct limiter_policy *asked, uint64_t n, uint32_t places)
{
    if (places <= 32 && asked->limit >> 32 == 0) {
        return arith_div_ceil(n << places, asked->by_limit);
    }
    arith_u128 scaled = (arith_u128)n << places;
    return (uint64_t)((scaled + asked->limit - 1) / asked->limit);
}

/* The wait in 1/L ns. */
static arith_u128 count_parts(const struct limiter_policy *asked, const struct wait *wait)
{
    arith_u128 parts;
    if (__builtin_mul_overflow(wait->whole_ns, (arith_u128)asked->limit, &parts) ||
        parts > PARTS_MOST) {
        return PARTS_MOST;
    }
    if (wait->fraction == 0) {
        return parts;
    }
    uint64_t n = (uint64_t)(((arith_u128)wait->fraction * asked->limit) >> wait->places);
    bool same = n > 0 && fraction_of(asked, n, wait->places) == wait->fraction;
    return parts + n + !same;
}

/* The most that may be waited for `cost` more units to fit. */
static arith_u128 room_for(const struct limiter_policy *asked, uint64_t cost)
{
    return (arith_u128)(asked->burst - cost) * (uint64_t)asked->window_ns;
}

static uint64_t remaining_of(const struct limiter_policy *asked, arith_u128 parts)
{
    arith_u128 capacity = room_for(asked, 0);
    arith_u128 left = parts < capacity ? capacity - parts : 0;
    return left >> 64 == 0 ? arith_div_floor((uint64_t)left, asked->by_window)
                           : (uint64_t)(left / (uint64_t)asked->window_ns);
}

static void set_next(const struct limiter_policy *asked, arith_u128 parts, int64_t time_ns,
                     struct limiter_step *step)
{
    bool narrow = parts >> 64 == 0;
    arith_u128 whole = narrow ? arith_div_floor((uint64_t)parts, asked->by_limit)
                              : parts / asked->limit;
    uint64_t n = (uint64_t)(parts - whole * asked->limit);
    uint32_t places = n == 0 ? 0 : places_for(whole, asked->limit);
    arith_u128 value = whole << places | (n == 0 ? 0 : fraction_of(asked, n, places));
    uint32_t marks = places | (remaining_of(asked, parts) > 0 ? 0 : NOTHING_LEFT);
    arith_u128 word = value << VALUE_SHIFT | marks;
    *step = (struct limiter_step){
        .next = {.time_ns = time_ns, .lo = (uint64_t)word, .hi = (uint64_t)(word >> 64)}};
}

static enum limiter_outcome throttle_admit(const struct limiter_policy *asked,
                                           const struct limiter_policy *held,
                                           const struct limiter_state *state, uint64_t cost,
                                           int64_t now_ns, struct limiter_step *step)
{
    (void)held;
    int64_t at_ns = instant_of(state, now_ns);
    struct wait wait = wait_at(state, at_ns);
    arith_u128 parts = count_parts(asked, &wait);
    if (parts > room_for(asked, cost)) {
        return LIMITER_REFUSE;
    }
    set_next(asked, parts + (arith_u128)cost * (uint64_t)asked->window_ns, at_ns, step);
    return LIMITER_ADMIT;
}

static void throttle_report(const struct limiter_policy *asked, const struct limiter_policy *held,
                            const struct limiter_state *state, uint64_t cost, bool refused,
                            int64_t now_ns, struct limiter_report *out)
{
    (void)held;
    int64_t at_ns = instant_of(state, now_ns);
    struct wait wait = wait_at(state, at_ns);
    arith_u128 parts = count_parts(asked, &wait);
    arith_u128 empty_ns = wait_ceil_ns(&wait);
    out->remaining = asked->limit > 0 ? remaining_of(asked, parts)
                                      : empty_ns == 0 || (state->lo & NOTHING_LEFT) == 0;
    if (empty_ns > 0) {
        out->reset_after_ns = instant_wait_ns(now_ns, at_ns, empty_ns);
    }
    if (refused && asked->limit > 0) {
        arith_u128 room = room_for(asked, cost);
        arith_u128 excess = parts > room ? parts - room : 0;
        out->retry_after_ns =
            instant_wait_ns(now_ns, at_ns, (excess + asked->limit - 1) / asked->limit);
    }
}

static void throttle_report_admitted(const struct limiter_policy *asked,
                                     const struct limiter_step *step, uint64_t cost,
                                     int64_t now_ns, struct limiter_report *out)
{
    (void)cost;
    struct wait wait = wait_at(&step->next, step->next.time_ns);
    out->remaining = remaining_of(asked, count_parts(asked, &wait));
    out->reset_after_ns = instant_wait_ns(now_ns, step->next.time_ns, wait_ceil_ns(&wait));
}

/* The protocol has no command that gives units back. */
static bool throttle_refund(const struct limiter_policy *held, const struct limiter_state *state,
                            uint64_t units, int64_t now_ns, struct limiter_step *step)
{
    (void)held;
    (void)state;
    (void)units;
    (void)now_ns;
    (void)step;
    return false;
}

static int64_t throttle_idle_at_ns(const struct limiter_policy *held,
                                   const struct limiter_state *state)
{
    (void)held;
    struct wait wait = wait_at(state, state->time_ns);
    return instant_after_ns(state->time_ns, wait_ceil_ns(&wait));
}

/* No file has numbers for it, so no reload changes anything. */
static bool throttle_convert(const struct limiter_policy *from, const struct limiter_policy *to,
                             const struct limiter_state *state, int64_t at_ns,
                             struct limiter_step *step)
{
    (void)from;
    (void)to;
    (void)at_ns;
    *step = (struct limiter_step){.next = *state};
    return true;
}

const struct algorithm throttle_algorithm = {
    .admit = throttle_admit,
    .report = throttle_report,
    .report_admitted = throttle_report_admitted,
    .refund = throttle_refund,
    .idle_at_ns = throttle_idle_at_ns,
    .convert = throttle_convert,
};
