/* Four edges for each algorithm: a clock set back, instants at the ends of 64 bits, costs and sums
 * at their largest, and a counter left alone for 200 years. */
#include "counter.h"

#include "base/limits.h"

#include <criterion/criterion.h>

#define Q LIMITS_QUOTA_MAX

static struct limiter_policy six_a_minute(enum limiter_algorithm algorithm)
{
    return counter_policy(algorithm, 6, 6, SECONDS(60));
}

/* An hour back: nothing is minted, waits hold from the request's own now, and the counter goes on
 * from its own time as though the clock had never gone back. */
static void clock_back(enum limiter_algorithm algorithm, int64_t retry_ns, int64_t reset_ns)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = six_a_minute(algorithm);
    int64_t early_ns = T0 - SECONDS(3600);
    counter_ask(&counter, &policy, 4, T0);

    struct counter_answer look = counter_ask(&counter, &policy, 0, early_ns);
    cr_assert_eq(look.report.remaining, 2u);
    struct counter_answer granted = counter_ask(&counter, &policy, 2, early_ns);
    cr_assert_eq(granted.outcome, LIMITER_ADMIT);
    cr_assert_eq(granted.report.reset_after_ns, SECONDS(3600) + reset_ns);
    cr_assert_eq(counter.state.time_ns, T0);

    struct counter_answer refused = counter_ask(&counter, &policy, 1, early_ns);
    cr_assert_eq(refused.outcome, LIMITER_REFUSE);
    cr_assert_eq(refused.report.retry_after_ns, SECONDS(3600) + retry_ns);
    cr_assert_eq(counter_ask(&counter, &policy, 1, T0).report.retry_after_ns, retry_ns);
    cr_assert(counter_refund(&counter, 1, early_ns));
    cr_assert_eq(counter.state.time_ns, T0);
    cr_assert_eq(counter_ask(&counter, &policy, 0, T0).report.remaining, 1u);
}

Test(edges, token_bucket_clock_back)
{
    clock_back(LIMITER_TOKEN_BUCKET, SECONDS(10), SECONDS(60));
}

Test(edges, leaky_bucket_clock_back)
{
    clock_back(LIMITER_LEAKY_BUCKET, SECONDS(10), SECONDS(60));
    struct counter counter = {.exists = false};
    struct limiter_policy policy = six_a_minute(LIMITER_LEAKY_BUCKET);
    counter_ask(&counter, &policy, 2, T0);
    struct counter_answer answer = counter_ask(&counter, &policy, 1, T0 - SECONDS(5));
    cr_assert_eq(answer.report.delay_ns, SECONDS(25)); /* its turn is at T0 + 20 s */
}

Test(edges, fixed_window_clock_back)
{
    clock_back(LIMITER_FIXED_WINDOW, SECONDS(60), SECONDS(60));
}

Test(edges, sliding_log_clock_back)
{
    clock_back(LIMITER_SLIDING_LOG, SECONDS(60), SECONDS(60));
}

Test(edges, sliding_counter_clock_back)
{
    clock_back(LIMITER_SLIDING_COUNTER, SECONDS(70), SECONDS(120));
}

/* Every call at the first and the last instants that exist: no wrap, and waits held at the end. */
static void time_overflow(enum limiter_algorithm algorithm)
{
    static const int64_t instants[] = {INT64_MIN, INT64_MIN + 1, -1, 0, INT64_MAX - 1, INT64_MAX};
    for (int i = 0; i < 6; i++) {
        struct counter counter = {.exists = false};
        struct limiter_policy policy = counter_policy(algorithm, 6, 6, LIMITS_WINDOW_NS_MAX);
        int64_t now_ns = instants[i];
        for (int k = 0; k < 6; k++) {
            struct counter_answer answer = counter_ask(&counter, &policy, 1, now_ns);
            cr_assert_eq(answer.outcome, LIMITER_ADMIT);
            cr_assert_eq(answer.report.remaining, (uint64_t)(5 - k));
        }
        struct counter_answer refused = counter_ask(&counter, &policy, 1, now_ns);
        cr_assert_eq(refused.outcome, LIMITER_REFUSE);
        cr_assert_leq(refused.report.retry_after_ns, 2 * LIMITS_WINDOW_NS_MAX);
        cr_assert(limiter_idle_at_ns(&policy, &counter.state) > now_ns || now_ns == INT64_MAX);
        /* From the far side of time the wait is longer than 64 bits can say. */
        refused = counter_ask(&counter, &policy, 1, INT64_MIN);
        cr_assert_eq(refused.outcome, LIMITER_REFUSE);
        cr_assert(now_ns < 0 || refused.report.retry_after_ns == INT64_MAX);
        cr_assert(now_ns < 0 || refused.report.reset_after_ns == INT64_MAX);
    }
}

static void idle_held_at_the_end(enum limiter_algorithm algorithm)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = counter_policy(algorithm, 6, 6, LIMITS_WINDOW_NS_MAX);
    counter_ask(&counter, &policy, 6, INT64_MAX - 5);
    cr_assert_eq(limiter_idle_at_ns(&policy, &counter.state), INT64_MAX);
}

Test(edges, token_bucket_time_overflow)
{
    time_overflow(LIMITER_TOKEN_BUCKET);
    idle_held_at_the_end(LIMITER_TOKEN_BUCKET);
}

Test(edges, leaky_bucket_time_overflow)
{
    time_overflow(LIMITER_LEAKY_BUCKET);
    idle_held_at_the_end(LIMITER_LEAKY_BUCKET);
}

Test(edges, fixed_window_time_overflow)
{
    time_overflow(LIMITER_FIXED_WINDOW);
    idle_held_at_the_end(LIMITER_FIXED_WINDOW);
}

Test(edges, sliding_log_time_overflow)
{
    time_overflow(LIMITER_SLIDING_LOG);
    idle_held_at_the_end(LIMITER_SLIDING_LOG);
}

Test(edges, sliding_counter_time_overflow)
{
    time_overflow(LIMITER_SLIDING_COUNTER);
    idle_held_at_the_end(LIMITER_SLIDING_COUNTER);
}

/* The largest quota, the longest window, the largest cost. */
static void cost_overflow(enum limiter_algorithm algorithm, uint64_t most)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = counter_policy(algorithm, most, most, LIMITS_WINDOW_NS_MAX);
    uint64_t beyond[] = {most + 1, UINT64_C(1) << 32, LIMITS_COST_MAX - 1, LIMITS_COST_MAX};
    cr_assert_eq(counter_ask(&counter, &policy, most - 1, T0).report.remaining, 1u);
    for (int i = 0; i < 4; i++) {
        struct counter_answer answer = counter_ask(&counter, &policy, beyond[i], T0);
        cr_assert(beyond[i] <= most || answer.outcome == LIMITER_NEVER);
        cr_assert(beyond[i] <= most || answer.report.retry_after_ns == 0);
        cr_assert_eq(answer.report.remaining, 1u);
    }
    cr_assert_eq(counter_ask(&counter, &policy, most, T0).outcome, LIMITER_REFUSE);
    cr_assert_eq(counter_ask(&counter, &policy, 2, T0).outcome, LIMITER_REFUSE);
    cr_assert_eq(counter_ask(&counter, &policy, 1, T0).report.remaining, 0u);
    cr_assert(counter_refund(&counter, LIMITS_COST_MAX, T0));
    cr_assert_eq(counter_ask(&counter, &policy, 0, T0).report.remaining, most);
}

Test(edges, token_bucket_cost_overflow)
{
    cost_overflow(LIMITER_TOKEN_BUCKET, Q);
}

Test(edges, leaky_bucket_cost_overflow)
{
    cost_overflow(LIMITER_LEAKY_BUCKET, Q);
}

/* 1 per 10 years with a burst of 10^15: to drain it takes 10^16 years. */
Test(edges, token_bucket_wait_overflow)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = counter_policy(LIMITER_TOKEN_BUCKET, 1, Q,
                                                  LIMITS_WINDOW_NS_MAX);
    struct counter_answer answer = counter_ask(&counter, &policy, Q, T0);
    cr_assert_eq(answer.report.reset_after_ns, INT64_MAX);
    cr_assert_eq(counter_ask(&counter, &policy, 1, T0).report.retry_after_ns,
                 LIMITS_WINDOW_NS_MAX);
    struct limiter_step step;
    struct limiter_report report;
    cr_assert_eq(limiter_admit(&policy, &policy, &counter.state, Q, T0, &step), LIMITER_REFUSE);
    limiter_report(&policy, &policy, &counter.state, Q, LIMITER_REFUSE, T0, &report);
    cr_assert_eq(report.retry_after_ns, INT64_MAX);
    cr_assert_eq(limiter_idle_at_ns(&policy, &counter.state), INT64_MAX);
}

Test(edges, fixed_window_cost_overflow)
{
    cost_overflow(LIMITER_FIXED_WINDOW, Q);
}

Test(edges, sliding_log_cost_overflow)
{
    cost_overflow(LIMITER_SLIDING_LOG, LIMITS_LOG_QUOTA_MAX);
}

/* A log counts modulo 2^32: here 10^6 units at a time pass that mark. */
Test(edges, sliding_log_sum_overflow)
{
    struct counter counter = {.view = {.base = UINT32_MAX - 700}};
    struct limiter_policy policy = counter_policy(LIMITER_SLIDING_LOG, LIMITS_LOG_QUOTA_MAX, 0,
                                                  SECONDS(1));
    for (int i = 0; i < 5000; i++) {
        struct counter_answer answer =
            counter_ask(&counter, &policy, LIMITS_LOG_QUOTA_MAX - 500, T0 + SECONDS(i));
        cr_assert_eq(answer.outcome, LIMITER_ADMIT);
        cr_assert_eq(answer.report.remaining, 500u);
        answer = counter_ask(&counter, &policy, 501, T0 + SECONDS(i) + MS(1));
        cr_assert_eq(answer.report.retry_after_ns, MS(999));
    }
}

Test(edges, sliding_counter_cost_overflow)
{
    cost_overflow(LIMITER_SLIDING_COUNTER, Q);
}

static void idle_200_years(enum limiter_algorithm algorithm)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = six_a_minute(algorithm);
    int64_t later_ns = T0 + YEARS(200);
    counter_ask(&counter, &policy, 6, T0);
    struct counter_answer look = counter_ask(&counter, &policy, 0, later_ns);
    cr_assert_eq(look.report.remaining, 6u);
    cr_assert(algorithm == LIMITER_FIXED_WINDOW || look.report.reset_after_ns == 0);
    cr_assert_not(counter_refund(&counter, 1, later_ns));
    cr_assert_eq(counter_ask(&counter, &policy, 6, later_ns).report.remaining, 0u);
    cr_assert_eq(counter_ask(&counter, &policy, 1, later_ns).outcome, LIMITER_REFUSE);
}

Test(edges, token_bucket_idle_200_years)
{
    idle_200_years(LIMITER_TOKEN_BUCKET);
    /* The fastest rate that there is drains more in 200 years than 128 bits of 1/W would hold
     * units, were it not compared before it is subtracted. */
    struct counter counter = {.exists = false};
    struct limiter_policy policy = counter_policy(LIMITER_TOKEN_BUCKET, Q, Q, MS(1));
    counter_ask(&counter, &policy, Q, INT64_MIN);
    cr_assert_eq(counter_ask(&counter, &policy, Q, INT64_MAX).report.remaining, 0u);
}

Test(edges, leaky_bucket_idle_200_years)
{
    idle_200_years(LIMITER_LEAKY_BUCKET);
    struct counter counter = {.exists = false};
    struct limiter_policy policy = six_a_minute(LIMITER_LEAKY_BUCKET);
    counter_ask(&counter, &policy, 6, T0);
    cr_assert_eq(counter_ask(&counter, &policy, 6, T0 + YEARS(200)).report.delay_ns, 0);
}

Test(edges, fixed_window_idle_200_years)
{
    idle_200_years(LIMITER_FIXED_WINDOW);
}

Test(edges, sliding_log_idle_200_years)
{
    idle_200_years(LIMITER_SLIDING_LOG);
}

Test(edges, sliding_counter_idle_200_years)
{
    idle_200_years(LIMITER_SLIDING_COUNTER);
}
