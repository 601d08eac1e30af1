#include "counter.h"

#include <criterion/criterion.h>

static struct limiter_policy token(uint64_t limit, uint64_t burst, int64_t window_ns)
{
    return counter_policy(LIMITER_TOKEN_BUCKET, limit, burst, window_ns);
}

static struct limiter_policy leaky(uint64_t limit, uint64_t burst, int64_t window_ns)
{
    return counter_policy(LIMITER_LEAKY_BUCKET, limit, burst, window_ns);
}

/* 3 per second: a third of a second is no whole number of nanoseconds, and still none is lost
 * nor won in a thousand seconds. */
Test(token_bucket, thirds_of_a_second_are_exact)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = token(3, 2, SECONDS(1));
    cr_assert_eq(counter_ask(&counter, &policy, 2, T0).outcome, LIMITER_ADMIT);
    for (int64_t i = 1; i <= 3000; i++) {
        int64_t due_ns = T0 + (SECONDS(i) + 2) / 3;
        struct counter_answer early = counter_ask(&counter, &policy, 1, due_ns - 1);
        cr_assert_eq(early.outcome, LIMITER_REFUSE);
        cr_assert_eq(early.report.retry_after_ns, 1);
        cr_assert_eq(counter_ask(&counter, &policy, 1, due_ns).outcome, LIMITER_ADMIT);
    }
}

/* A bucket drains at the rate of its last admission, whoever asks. */
Test(token_bucket, drains_at_the_rate_of_the_last_admission)
{
    struct counter counter = {.exists = false};
    struct limiter_policy slow = token(1, 10, SECONDS(10));
    struct limiter_policy fast = token(10, 10, SECONDS(10));
    counter_ask(&counter, &slow, 10, T0);
    struct counter_answer refused = counter_ask(&counter, &fast, 2, T0);
    cr_assert_eq(refused.report.retry_after_ns, SECONDS(20));
    cr_assert_eq(refused.report.reset_after_ns, SECONDS(100));
    struct counter_answer granted = counter_ask(&counter, &fast, 1, T0 + SECONDS(10));
    cr_assert_eq(granted.report.reset_after_ns, SECONDS(10));
    refused = counter_ask(&counter, &slow, 2, T0 + SECONDS(10));
    cr_assert_eq(refused.report.retry_after_ns, SECONDS(2));
}

Test(token_bucket, refund_keeps_the_fraction)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = token(1, 5, SECONDS(10));
    counter_ask(&counter, &policy, 5, T0);
    cr_assert(counter_refund(&counter, 2, T0 + SECONDS(5)));
    /* Used is 2.5. */
    struct counter_answer look = counter_ask(&counter, &policy, 0, T0 + SECONDS(5));
    cr_assert_eq(look.report.remaining, 2u);
    cr_assert_eq(look.report.reset_after_ns, SECONDS(25));
}

Test(token_bucket, a_lower_burst_forgives_what_is_above_it)
{
    struct counter counter = {.exists = false};
    struct limiter_policy before = token(1, 100, SECONDS(10));
    struct limiter_policy after = token(1, 5, SECONDS(10));
    counter_ask(&counter, &before, 100, T0);
    cr_assert(counter_convert(&counter, &after, T0 + SECONDS(1)));
    struct counter_answer refused = counter_ask(&counter, &after, 1, T0 + SECONDS(1));
    cr_assert_eq(refused.report.retry_after_ns, SECONDS(10));
    cr_assert_eq(refused.report.reset_after_ns, SECONDS(50));
}

/* Drained at the old rate up to the reload and at the new one after, though touched only later. */
Test(token_bucket, a_new_rate_holds_from_the_reload_on)
{
    struct counter counter = {.exists = false};
    struct limiter_policy before = token(1, 10, SECONDS(10));
    struct limiter_policy after = token(10, 10, SECONDS(10));
    counter_ask(&counter, &before, 10, T0);
    cr_assert(counter_convert(&counter, &after, T0 + SECONDS(20)));
    cr_assert_eq(counter.state.time_ns, T0 + SECONDS(20));
    struct counter_answer look = counter_ask(&counter, &after, 0, T0 + SECONDS(23));
    cr_assert_eq(look.report.remaining, 5u);
    cr_assert_eq(look.report.reset_after_ns, SECONDS(5));
}

Test(token_bucket, a_new_window_rounds_a_fraction_up)
{
    struct counter counter = {.exists = false};
    struct limiter_policy before = token(1, 5, SECONDS(3));
    struct limiter_policy after = token(1, 5, SECONDS(2));
    counter_ask(&counter, &before, 2, T0);
    /* 4/3 of a unit are left: 2 666 666 666.7 parts of the new window. */
    cr_assert(counter_convert(&counter, &after, T0 + SECONDS(2)));
    cr_assert_eq(counter.state.lo, UINT64_C(2666666667));
    cr_assert_eq(counter.state.hi, 0u);
}

Test(token_bucket, nothing_left_at_a_reload_is_forgotten)
{
    struct counter counter = {.exists = false};
    struct limiter_policy before = token(1, 5, SECONDS(1));
    struct limiter_policy after = token(2, 5, SECONDS(1));
    struct limiter_policy closed = token(0, 0, SECONDS(1));
    counter_ask(&counter, &before, 2, T0);
    struct counter kept = counter;
    cr_assert_not(counter_convert(&counter, &after, T0 + SECONDS(2)));
    cr_assert(counter_convert(&kept, &after, T0 + SECONDS(2) - 1));
    cr_assert_not(counter_convert(&kept, &closed, T0 + SECONDS(2) - 1));
}

Test(token_bucket, same_numbers_leave_the_state_as_it_is)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = token(1, 5, SECONDS(1));
    counter_ask(&counter, &policy, 2, T0);
    cr_assert(counter_convert(&counter, &policy, T0 + YEARS(1)));
    cr_assert_eq(counter.state.time_ns, T0);
    cr_assert_eq(counter.state.lo, UINT64_C(2000000000));
}

/* 10 per second: callers that hold their calls for `delay` send one each 100 ms. */
Test(leaky_bucket, calls_leave_evenly_spaced)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = leaky(10, 20, SECONDS(1));
    for (int i = 0; i < 20; i++) {
        int64_t now_ns = T0 + MS(i);
        struct counter_answer answer = counter_ask(&counter, &policy, 1, now_ns);
        cr_assert_eq(answer.outcome, LIMITER_ADMIT);
        cr_assert_eq(now_ns + answer.report.delay_ns, T0 + MS(100 * i));
    }
    cr_assert_eq(counter_ask(&counter, &policy, 1, T0 + MS(20)).outcome, LIMITER_REFUSE);
}

Test(leaky_bucket, no_delay_for_the_first_a_look_or_a_refusal)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = leaky(1, 3, SECONDS(1));
    cr_assert_eq(counter_ask(&counter, &policy, 2, T0).report.delay_ns, 0);
    cr_assert_eq(counter_ask(&counter, &policy, 0, T0).report.delay_ns, 0);
    cr_assert_eq(counter_ask(&counter, &policy, 2, T0).report.delay_ns, 0);
    cr_assert_eq(counter_ask(&counter, &policy, 1, T0).report.delay_ns, SECONDS(2));
    cr_assert_eq(counter_ask(&counter, &policy, 3, T0 + SECONDS(3)).report.delay_ns, 0);
}

/* The queue drains at the rate that holds from the admission on, its own. */
Test(leaky_bucket, delay_at_the_admitted_rate)
{
    struct counter counter = {.exists = false};
    struct limiter_policy slow = leaky(1, 10, SECONDS(1));
    struct limiter_policy fast = leaky(4, 10, SECONDS(1));
    counter_ask(&counter, &slow, 6, T0);
    cr_assert_eq(counter_ask(&counter, &fast, 1, T0).report.delay_ns, MS(1500));
    cr_assert_eq(counter_ask(&counter, &slow, 1, T0).report.delay_ns, SECONDS(7));
}

Test(leaky_bucket, delay_is_rounded_up)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = leaky(3, 3, SECONDS(1));
    counter_ask(&counter, &policy, 1, T0);
    cr_assert_eq(counter_ask(&counter, &policy, 1, T0).report.delay_ns, 333333334);
}
