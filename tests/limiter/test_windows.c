/* Fixed windows, sliding logs and sliding counters beyond what the cases say. */
#include "counter.h"

#include <criterion/criterion.h>

static struct limiter_policy fixed(uint64_t limit, int64_t window_ns)
{
    return counter_policy(LIMITER_FIXED_WINDOW, limit, 0, window_ns);
}

static struct limiter_policy sliding_log(uint64_t limit, int64_t window_ns)
{
    return counter_policy(LIMITER_SLIDING_LOG, limit, 0, window_ns);
}

static struct limiter_policy sliding_counter(uint64_t limit, int64_t window_ns)
{
    return counter_policy(LIMITER_SLIDING_COUNTER, limit, 0, window_ns);
}

/* Windows lie at whole multiples of W before the epoch as well: [-10, 0), not (-10, 0]. */
Test(fixed_window, before_the_epoch)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = fixed(1, SECONDS(10));
    cr_assert_eq(counter_ask(&counter, &policy, 1, SECONDS(-10)).report.reset_after_ns,
                 SECONDS(10));
    cr_assert_eq(counter_ask(&counter, &policy, 1, -1).report.retry_after_ns, 1);
    cr_assert_eq(counter_ask(&counter, &policy, 1, 0).report.reset_after_ns, SECONDS(10));
}

Test(fixed_window, a_changed_window_takes_the_use_along)
{
    struct counter counter = {.exists = false};
    struct limiter_policy hourly = fixed(10, SECONDS(3600));
    struct limiter_policy by_minute = fixed(10, SECONDS(60));
    counter_ask(&counter, &hourly, 7, T0 + SECONDS(5));
    cr_assert(counter_convert(&counter, &by_minute, T0 + SECONDS(90)));
    struct counter_answer look = counter_ask(&counter, &by_minute, 0, T0 + SECONDS(91));
    cr_assert_eq(look.report.remaining, 3u);
    cr_assert_eq(look.report.reset_after_ns, SECONDS(29));
    cr_assert_eq(counter_ask(&counter, &by_minute, 0, T0 + SECONDS(120)).report.remaining, 10u);
}

Test(fixed_window, an_ended_window_leaves_nothing_to_take_along)
{
    struct counter counter = {.exists = false};
    struct limiter_policy by_minute = fixed(10, SECONDS(60));
    struct limiter_policy hourly = fixed(10, SECONDS(3600));
    counter_ask(&counter, &by_minute, 7, T0);
    cr_assert_not(counter_convert(&counter, &hourly, T0 + SECONDS(60)));
}

Test(fixed_window, two_spellings_of_a_calendar_are_one)
{
    static const struct calendar_shift here[] = {{INT64_MIN, 3600}, {1000, 7200}};
    static const struct calendar_shift there[] = {{INT64_MIN, 3600}, {1000, 7200}};
    static const struct calendar_shift other[] = {{INT64_MIN, 3600}, {1000, 0}};
    struct calendar a = {.unit = CALENDAR_DAY, .zone = {here, 2}};
    struct calendar b = {.unit = CALENDAR_DAY, .zone = {there, 2}};
    struct calendar c = {.unit = CALENDAR_DAY, .zone = {other, 2}};
    struct calendar d = {.unit = CALENDAR_WEEK, .zone = {here, 2}};
    struct calendar e = {.unit = CALENDAR_DAY, .zone = {here, 1}};
    cr_assert(calendar_equal(&a, &b));
    cr_assert_not(calendar_equal(&a, &c));
    cr_assert_not(calendar_equal(&a, &d));
    cr_assert_not(calendar_equal(&a, &e));

    struct counter counter = {.exists = false};
    struct limiter_policy from;
    struct limiter_policy to;
    limiter_policy_init(&from, LIMITER_FIXED_WINDOW, 5, 0, 0, &a);
    limiter_policy_init(&to, LIMITER_FIXED_WINDOW, 9, 0, 0, &b);
    counter_ask(&counter, &from, 3, T0);
    cr_assert(counter_convert(&counter, &to, T0 + SECONDS(100)));
    cr_assert_eq(counter.state.time_ns, T0);
    limiter_policy_init(&to, LIMITER_FIXED_WINDOW, 9, 0, 0, &d);
    cr_assert(counter_convert(&counter, &to, T0 + SECONDS(200)));
    cr_assert_eq(counter.state.time_ns, T0 + SECONDS(200));
    struct limiter_policy plain = fixed(9, SECONDS(86400));
    cr_assert(counter_convert(&counter, &plain, T0 + SECONDS(300)));
    cr_assert_eq(counter_ask(&counter, &plain, 0, T0 + SECONDS(300)).report.remaining, 6u);
}

/* In UTC a calendar day is a window of 24 hours: random traffic gets the same answers from both. */
Test(fixed_window, a_utc_day_is_a_window_of_24_hours)
{
    static const struct calendar_shift utc = {.from_s = INT64_MIN};
    struct calendar day = {.unit = CALENDAR_DAY, .zone = {&utc, 1}};
    struct limiter_policy daily;
    struct limiter_policy plain = fixed(9, DAYS(1));
    struct counter by_day = {.exists = false};
    struct counter by_hours = {.exists = false};
    uint64_t random = 362436069;
    int64_t now_ns = -YEARS(100);
    limiter_policy_init(&daily, LIMITER_FIXED_WINDOW, 9, 0, 0, &day);
    for (int i = 0; i < 200000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t cost = (random >> 40) % 4;
        now_ns += (int64_t)((random >> 20) % (uint64_t)DAYS(1)) - DAYS(1) / 3;
        struct counter_answer a = counter_ask(&by_day, &daily, cost, now_ns);
        struct counter_answer b = counter_ask(&by_hours, &plain, cost, now_ns);
        cr_assert_eq(a.outcome, b.outcome);
        cr_assert_eq(a.report.remaining, b.report.remaining);
        cr_assert_eq(a.report.retry_after_ns, b.report.retry_after_ns);
        cr_assert_eq(a.report.reset_after_ns, b.report.reset_after_ns);
        if (i % 7 == 0) {
            cr_assert_eq(counter_refund(&by_day, 2, now_ns), counter_refund(&by_hours, 2, now_ns));
        }
        cr_assert(!by_day.exists || limiter_idle_at_ns(&daily, &by_day.state) ==
                                        limiter_idle_at_ns(&plain, &by_hours.state));
    }
}

/* 300 entries: the right ones are dropped, and the wait is that of the entry that frees enough. */
Test(sliding_log, many_entries)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_log(600, SECONDS(300));
    for (int i = 0; i < 300; i++) {
        cr_assert_eq(counter_ask(&counter, &policy, 2, T0 + SECONDS(i)).outcome, LIMITER_ADMIT);
    }
    for (uint64_t cost = 1; cost <= 600; cost++) {
        struct counter_answer answer = counter_ask(&counter, &policy, cost, T0 + SECONDS(299));
        int64_t frees_s = (int64_t)(cost + 1) / 2 - 1;
        cr_assert_eq(answer.report.retry_after_ns, SECONDS(1 + frees_s));
    }
    cr_assert_eq(counter_ask(&counter, &policy, 1, T0 + SECONDS(449)).report.remaining, 299u);
    cr_assert_eq(counter.view.count, 151u);
}

Test(sliding_log, refund_takes_the_newest_first)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_log(6, SECONDS(10));
    counter_ask(&counter, &policy, 3, T0);
    counter_ask(&counter, &policy, 3, T0 + SECONDS(4));
    cr_assert(counter_refund(&counter, 4, T0 + SECONDS(5)));
    struct counter_answer look = counter_ask(&counter, &policy, 0, T0 + SECONDS(5));
    cr_assert_eq(look.report.remaining, 4u);
    cr_assert_eq(look.report.reset_after_ns, SECONDS(5));
    cr_assert_eq(limiter_idle_at_ns(&policy, &counter.state), T0 + SECONDS(10));
}

/* What has left the window was used and cannot be given back. */
Test(sliding_log, refund_stops_at_what_still_counts)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_log(6, SECONDS(10));
    struct limiter_step step;
    counter_ask(&counter, &policy, 3, T0);
    counter_ask(&counter, &policy, 2, T0 + SECONDS(4));
    cr_assert(limiter_refund(&policy, &counter.state, 100, T0 + SECONDS(10), &step));
    cr_assert_eq(step.log_pop, 2u);
    cr_assert_not(limiter_refund(&policy, &counter.state, 100, T0 + SECONDS(14), &step));
}

Test(sliding_log, a_longer_window_keeps_only_what_counted)
{
    struct counter counter = {.exists = false};
    struct limiter_policy brief = sliding_log(6, SECONDS(10));
    struct limiter_policy longer = sliding_log(6, SECONDS(60));
    counter_ask(&counter, &brief, 2, T0);
    counter_ask(&counter, &brief, 3, T0 + SECONDS(5));
    cr_assert(counter_convert(&counter, &longer, T0 + SECONDS(12)));
    struct counter_answer look = counter_ask(&counter, &longer, 0, T0 + SECONDS(12));
    cr_assert_eq(look.report.remaining, 3u);
    cr_assert_eq(look.report.reset_after_ns, SECONDS(53));
}

/* At equality the request passes; a nanosecond before it does not. */
Test(sliding_counter, compared_exactly)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_counter(3, SECONDS(7));
    int64_t start_ns = T0 - T0 % SECONDS(7);
    counter_ask(&counter, &policy, 3, start_ns);
    /* 3 x (7 - e)/7 + 1 <= 3 from e = 7/3 s on. */
    int64_t next_ns = start_ns + SECONDS(7);
    struct counter_answer refused = counter_ask(&counter, &policy, 1, next_ns);
    cr_assert_eq(refused.report.retry_after_ns, INT64_C(2333333334));
    cr_assert_eq(counter_ask(&counter, &policy, 1, next_ns + 2333333333).outcome, LIMITER_REFUSE);
    cr_assert_eq(counter_ask(&counter, &policy, 1, next_ns + 2333333334).outcome, LIMITER_ADMIT);
}

/* What is full now passes only after the next window as well. */
Test(sliding_counter, waits_into_the_window_after_the_next)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_counter(4, SECONDS(10));
    counter_ask(&counter, &policy, 4, T0 + SECONDS(3));
    struct counter_answer refused = counter_ask(&counter, &policy, 4, T0 + SECONDS(3));
    cr_assert_eq(refused.report.retry_after_ns, SECONDS(17));
    cr_assert_eq(refused.report.reset_after_ns, SECONDS(17));
    refused = counter_ask(&counter, &policy, 3, T0 + SECONDS(3));
    cr_assert_eq(refused.report.retry_after_ns, MS(14500));
}

/* The largest numbers: three quarters of 999 999 999 999 999 is no whole number. */
Test(sliding_counter, rounds_wide_products_up)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_counter(999999999999999, DAYS(3652));
    counter_ask(&counter, &policy, 999999999999999, 0);
    struct counter_answer look = counter_ask(&counter, &policy, 0, DAYS(3652 + 913));
    cr_assert_eq(look.report.remaining, UINT64_C(249999999999999));
    look = counter_ask(&counter, &policy, 0, DAYS(3652) + 1);
    cr_assert_eq(look.report.remaining, 0u);
}

Test(sliding_counter, refund_takes_the_current_window_first)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_counter(20, SECONDS(10));
    counter_ask(&counter, &policy, 8, T0);
    counter_ask(&counter, &policy, 3, T0 + SECONDS(15));
    cr_assert(counter_refund(&counter, 5, T0 + SECONDS(15)));
    cr_assert_eq(counter.state.lo, 0u);
    cr_assert_eq(counter.state.hi, 6u);
    struct counter_answer look = counter_ask(&counter, &policy, 0, T0 + SECONDS(15));
    cr_assert_eq(look.report.remaining, 17u);
    cr_assert_eq(look.report.reset_after_ns, SECONDS(5));
}

Test(sliding_counter, a_changed_window_rounds_the_use_up)
{
    struct counter counter = {.exists = false};
    struct limiter_policy before = sliding_counter(20, SECONDS(10));
    struct limiter_policy after = sliding_counter(20, SECONDS(30));
    counter_ask(&counter, &before, 7, T0);
    counter_ask(&counter, &before, 1, T0 + SECONDS(11));
    /* 1 + 7 x 8/10 = 6.6 at 12 s. */
    cr_assert(counter_convert(&counter, &after, T0 + SECONDS(12)));
    cr_assert_eq(counter.state.lo, 7u);
    cr_assert_eq(counter.state.hi, 0u);
    cr_assert_eq(counter.state.time_ns, T0 + SECONDS(12));
}

Test(sliding_counter, the_same_window_keeps_both_counts)
{
    struct counter counter = {.exists = false};
    struct limiter_policy before = sliding_counter(20, SECONDS(10));
    struct limiter_policy after = sliding_counter(4, SECONDS(10));
    counter_ask(&counter, &before, 7, T0);
    counter_ask(&counter, &before, 1, T0 + SECONDS(11));
    cr_assert(counter_convert(&counter, &after, T0 + SECONDS(12)));
    cr_assert_eq(counter.state.lo, 1u);
    cr_assert_eq(counter.state.hi, 7u);
    cr_assert_eq(counter.state.time_ns, T0 + SECONDS(11));
    cr_assert_eq(counter_ask(&counter, &after, 0, T0 + SECONDS(12)).report.remaining, 0u);
}
