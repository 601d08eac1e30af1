#include "reference.h"

#include <criterion/criterion.h>

static wide floor_div(wide a, wide b)
{
    wide quotient = a / b;
    return a % b < 0 ? quotient - 1 : quotient;
}

static bool is_bucket(const struct reference *r)
{
    return r->algorithm == LIMITER_TOKEN_BUCKET || r->algorithm == LIMITER_LEAKY_BUCKET;
}

/* A counter's own time does not go back. */
static wide own_time(const struct reference *r, wide now)
{
    return r->exists && r->time > now ? r->time : now;
}

void reference_forget(struct reference *r, enum limiter_algorithm algorithm)
{
    r->algorithm = algorithm;
    r->exists = false;
    r->used = 0;
    r->events = 0;
}

wide reference_queued(const struct reference *r, wide now)
{
    wide t = own_time(r, now);
    if (!r->exists) {
        return 0;
    }
    wide left = r->used - (t - r->time) * r->held.limit;
    return left > 0 ? left : 0;
}

/* Units admitted in window number `index` of length `window`. */
static wide in_window(const struct reference *r, wide index, wide window)
{
    wide sum = 0;
    for (int i = 0; i < r->events; i++) {
        sum += floor_div(r->at[i], window) == index ? r->units[i] : 0;
    }
    return sum;
}

static wide in_log(const struct reference *r, wide now, wide window)
{
    wide sum = 0;
    for (int i = 0; i < r->events; i++) {
        sum += r->at[i] + window > now ? r->units[i] : 0;
    }
    return sum;
}

/* What a sliding counter has in use, in parts of 1/window of a unit. */
static wide in_use_parts(const struct reference *r, wide now, wide window)
{
    wide index = floor_div(now, window);
    wide elapsed = now - index * window;
    return in_window(r, index, window) * window +
           in_window(r, index - 1, window) * (window - elapsed);
}

bool reference_fits(const struct reference *r, struct reference_numbers asked, wide cost,
                    wide now)
{
    wide t = own_time(r, now);
    wide w = asked.window;
    if (cost == 0) {
        return true;
    }
    switch (r->algorithm) {
    case LIMITER_TOKEN_BUCKET:
    case LIMITER_LEAKY_BUCKET:
        return cost <= asked.burst && reference_queued(r, t) + cost * w <= asked.burst * w;
    case LIMITER_FIXED_WINDOW:
        return in_window(r, floor_div(t, w), w) + cost <= asked.limit;
    case LIMITER_SLIDING_LOG:
        return in_log(r, t, w) + cost <= asked.limit;
    case LIMITER_SLIDING_COUNTER:
        return cost <= asked.limit && in_use_parts(r, t, w) + cost * w <= asked.limit * w;
    case LIMITER_THROTTLE:
    case LIMITER_ALGORITHMS:
        break;
    }
    return false;
}

bool reference_is_fresh(const struct reference *r, wide now)
{
    wide t = own_time(r, now);
    wide w = r->held.window;
    if (!r->exists) {
        return true;
    }
    if (is_bucket(r)) {
        return reference_queued(r, t) == 0;
    }
    if (r->algorithm == LIMITER_SLIDING_LOG) {
        return in_log(r, t, w) == 0;
    }
    if (r->algorithm == LIMITER_FIXED_WINDOW) {
        return in_window(r, floor_div(t, w), w) == 0;
    }
    return in_use_parts(r, t, w) == 0;
}

wide reference_window_end(const struct reference *r, struct reference_numbers asked, wide now)
{
    return (floor_div(own_time(r, now), asked.window) + 1) * asked.window;
}

/* Keeps what may still count: two windows and more. */
static void drop_old(struct reference *r, wide now)
{
    int kept = 0;
    for (int i = 0; i < r->events; i++) {
        if (r->units[i] > 0 && r->at[i] + 3 * r->held.window > now) {
            r->at[kept] = r->at[i];
            r->units[kept++] = r->units[i];
        }
    }
    r->events = kept;
}

void reference_charge(struct reference *r, struct reference_numbers asked, wide cost, wide now)
{
    wide t = own_time(r, now);
    wide queued = reference_queued(r, t);
    r->exists = true;
    r->held = asked;
    r->time = t;
    r->charged = t;
    if (is_bucket(r)) {
        r->used = queued + cost * asked.window;
        return;
    }
    drop_old(r, t);
    cr_assert_lt(r->events, REFERENCE_EVENTS);
    r->at[r->events] = t;
    r->units[r->events++] = cost;
}

static wide take_back(struct reference *r, int i, wide units)
{
    wide back = units < r->units[i] ? units : r->units[i];
    r->units[i] -= back;
    return back;
}

/* A log that was given back may still hold entries that had left by themselves since its latest
 * admission; they go with the next one. */
static bool holds_old_entries(const struct reference *r)
{
    for (int i = 0; r->algorithm == LIMITER_SLIDING_LOG && i < r->events; i++) {
        if (r->units[i] > 0 && r->at[i] + r->held.window > r->charged) {
            return true;
        }
    }
    return false;
}

wide reference_refund(struct reference *r, wide units, wide now)
{
    wide t = own_time(r, now);
    wide w = r->held.window;
    wide left = units;
    if (units == 0 || reference_is_fresh(r, t)) {
        return 0;
    }
    if (is_bucket(r)) {
        wide queued = reference_queued(r, t);
        r->used = queued > units * w ? queued - units * w : 0;
        r->time = t;
        r->exists = r->used > 0;
        return 0;
    }
    for (int i = r->events - 1; i >= 0; i--) {
        wide age = floor_div(t, w) - floor_div(r->at[i], w);
        bool counts = r->algorithm == LIMITER_SLIDING_LOG    ? r->at[i] + w > t
                      : r->algorithm == LIMITER_FIXED_WINDOW ? age == 0
                                                             : age <= 1;
        left -= counts ? take_back(r, i, left) : 0;
    }
    r->time = t;
    /* Given back whole: as if never used, which is the same as no counter. */
    r->exists = !reference_is_fresh(r, t) || holds_old_entries(r);
    r->events = r->exists ? r->events : 0;
    return r->algorithm == LIMITER_SLIDING_LOG ? units - left : 0;
}

/* a x b >= c x d, where a and c are below 2^126 and b and d below 2^63: in two 64-bit digits. */
static bool product_reaches(wide a, wide b, wide c, wide d)
{
    const wide digit = (wide)1 << 64;
    wide left_low = (a % digit) * b;
    wide left_high = (a / digit) * b + left_low / digit;
    wide right_low = (c % digit) * d;
    wide right_high = (c / digit) * d + right_low / digit;
    return left_high != right_high ? left_high > right_high
                                   : left_low % digit >= right_low % digit;
}

/* The least x with x / to_window >= used / from_window, by halving. */
static wide rescaled(wide used, wide from_window, wide to_window)
{
    wide low = 0;
    wide high = (wide)1 << 112;
    while (low < high) {
        wide middle = low + (high - low) / 2;
        if (product_reaches(middle, from_window, used, to_window)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void convert_bucket(struct reference *r, struct reference_numbers to, wide t)
{
    wide queued = rescaled(reference_queued(r, t), r->held.window, to.window);
    r->used = queued < to.burst * to.window ? queued : to.burst * to.window;
    r->time = t;
}

static void keep_only(struct reference *r, wide at, wide units)
{
    r->at[0] = at;
    r->units[0] = units;
    r->events = units > 0;
    r->time = at;
}

static void convert_window(struct reference *r, wide t)
{
    wide w = r->held.window;
    if (r->algorithm == LIMITER_FIXED_WINDOW) {
        keep_only(r, t, in_window(r, floor_div(t, w), w));
        return;
    }
    if (r->algorithm == LIMITER_SLIDING_COUNTER) {
        wide parts = in_use_parts(r, t, w);
        keep_only(r, t, parts / w + (parts % w > 0));
        return;
    }
    for (int i = 0; i < r->events; i++) {
        r->units[i] = r->at[i] + w > t ? r->units[i] : 0;
    }
    r->time = t;
}

void reference_convert(struct reference *r, struct reference_numbers to, wide at)
{
    wide t = own_time(r, at);
    if (is_bucket(r)) {
        bool same = r->held.limit == to.limit && r->held.burst == to.burst &&
                    r->held.window == to.window;
        if (!same) {
            convert_bucket(r, to, t);
        }
    } else if (r->held.window != to.window) {
        convert_window(r, t);
    }
    r->held = to;
}

/* The reference itself against the table of the contract: five at 8 … 9.99 s, five from 10 s. */
static int admitted_of_two_spans(enum limiter_algorithm algorithm, int64_t window_ns)
{
    static struct reference r;
    struct reference_numbers numbers = {.limit = 5, .burst = 5, .window = window_ns};
    int admitted = 0;
    reference_forget(&r, algorithm);
    for (int i = 0; i < 10; i++) {
        wide now = (i < 5 ? 8000000000 : 10000000000) + (wide)(i % 5) * 398000000;
        if (reference_fits(&r, numbers, 1, now)) {
            reference_charge(&r, numbers, 1, now);
            admitted++;
        }
    }
    return admitted;
}

Test(reference, two_spans)
{
    cr_assert_eq(admitted_of_two_spans(LIMITER_FIXED_WINDOW, 10000000000), 10);
    cr_assert_eq(admitted_of_two_spans(LIMITER_SLIDING_LOG, 10000000000), 5);
    cr_assert_eq(admitted_of_two_spans(LIMITER_TOKEN_BUCKET, 10000000000), 6);
}

Test(reference, products_wider_than_128_bits)
{
    wide large = (wide)1 << 110;
    cr_assert(product_reaches(large, 3, large, 3));
    cr_assert(product_reaches(large + 1, INT64_MAX, large, INT64_MAX));
    cr_assert_not(product_reaches(large, INT64_MAX, large + 1, INT64_MAX));
    cr_assert_eq(rescaled(10, 3, 7), 24); /* 10/3 = 23.3/7 */
    cr_assert_eq(rescaled(large, 6, 4), large / 6 * 4 + 3); /* 2^110 is 4 more than a 6-fold */
}
