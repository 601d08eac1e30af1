/* What holds for every algorithm: names, policies, looks, costs that can never pass. */
#include "counter.h"

#include <criterion/criterion.h>
#include <string.h>

Test(limiter, names)
{
    static const char *const names[LIMITER_ALGORITHMS] = {
        "token_bucket", "leaky_bucket", "fixed_window", "sliding_window_log",
        "sliding_window_counter"};
    for (int i = 0; i < LIMITER_ALGORITHMS; i++) {
        cr_assert_str_eq(limiter_algorithm_name((enum limiter_algorithm)i), names[i]);
    }
}

Test(limiter, policy_init)
{
    struct limiter_policy bucket = counter_policy(LIMITER_TOKEN_BUCKET, 60, 20, SECONDS(60));
    cr_assert_eq(bucket.burst, 20u);
    cr_assert_eq(bucket.by_window.value, UINT64_C(60000000000));
    cr_assert_eq(bucket.by_limit.value, 60u);

    struct limiter_policy plain = counter_policy(LIMITER_LEAKY_BUCKET, 60, 0, SECONDS(60));
    cr_assert_eq(plain.burst, 60u);
    struct limiter_policy window = counter_policy(LIMITER_FIXED_WINDOW, 7, 99, SECONDS(60));
    cr_assert_eq(window.burst, 7u);

    static const struct calendar_shift utc = {.from_s = INT64_MIN};
    struct calendar day = {.unit = CALENDAR_DAY, .zone = {.shifts = &utc, .count = 1}};
    struct limiter_policy daily;
    limiter_policy_init(&daily, LIMITER_FIXED_WINDOW, 7, 0, DAYS(1), &day);
    cr_assert_eq(daily.window_ns, 0);
    cr_assert_eq(daily.calendar, &day);
}

static uint64_t random_below(uint64_t *random, unsigned bits)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (*random >> 8) & ((UINT64_C(1) << bits) - 1);
}

/* Where the brief way answers at all it answers as the long one does, and near the ends of 64 bits
 * it does not answer wrongly; it does answer the everyday questions. */
Test(limiter, the_brief_way_is_the_long_one)
{
    uint64_t random = UINT64_C(88172645463325252);
    unsigned answered = 0;
    for (unsigned i = 0; i < 2000000; i++) {
        unsigned bits = 1 + (unsigned)random_below(&random, 6) % 49;
        struct limiter_policy policy =
            counter_policy(i % 16 == 0 ? LIMITER_LEAKY_BUCKET : LIMITER_TOKEN_BUCKET,
                           random_below(&random, bits), random_below(&random, bits),
                           1 + (int64_t)random_below(&random, 1 + (bits + i) % 58));
        struct limiter_state state = {.time_ns = (int64_t)random_below(&random, 50),
                                      .lo = random_below(&random, 1 + (i / 7) % 56)
                                            << random_below(&random, 3),
                                      .hi = i % 32 == 0};
        uint64_t cost = random_below(&random, 1 + i % 8);
        int64_t now_ns = state.time_ns + (int64_t)random_below(&random, 1 + i % 40) - 100;
        struct limiter_state next = {0};
        struct limiter_report brief = {0};
        struct limiter_report full;
        struct limiter_step step;
        if (!limiter_admit_brief(&policy, &state, cost, now_ns, &next, &brief)) {
            continue;
        }
        answered++;
        cr_assert_eq(limiter_admit(&policy, &policy, &state, cost, now_ns, &step),
                     LIMITER_ADMIT);
        limiter_report_admitted(&policy, &policy, &state, &step, cost, now_ns, &full);
        cr_assert(next.time_ns == step.next.time_ns && next.lo == step.next.lo &&
                  next.hi == step.next.hi);
        cr_assert(brief.remaining == full.remaining && brief.delay_ns == full.delay_ns &&
                  brief.retry_after_ns == full.retry_after_ns &&
                  brief.reset_after_ns == full.reset_after_ns);
    }
    cr_assert_gt(answered, 100000u);
}

Test(limiter, a_refund_of_nothing)
{
    for (int i = 0; i < LIMITER_ALGORITHMS; i++) {
        struct counter counter = {.exists = false};
        struct limiter_policy policy =
            counter_policy((enum limiter_algorithm)i, 6, 6, SECONDS(60));
        cr_assert_not(counter_refund(&counter, 1, T0));
        counter_ask(&counter, &policy, 3, T0);
        cr_assert_not(counter_refund(&counter, 0, T0 + SECONDS(1)));
        cr_assert(counter_refund(&counter, 1, T0 + SECONDS(1)));
    }
}

/* L = 0 closes a route: B is 0 as well, whatever was said of it. */
Test(limiter, limit_zero)
{
    for (int i = 0; i < LIMITER_ALGORITHMS; i++) {
        struct counter counter = {.exists = false};
        struct limiter_policy closed =
            counter_policy((enum limiter_algorithm)i, 0, 20, SECONDS(60));
        cr_assert_eq(closed.burst, 0u);
        cr_assert_eq(counter_ask(&counter, &closed, 1, T0).outcome, LIMITER_NEVER);
        struct counter_answer look = counter_ask(&counter, &closed, 0, T0);
        cr_assert_eq(look.outcome, LIMITER_ADMIT);
        cr_assert_eq(look.report.remaining, 0u);
        cr_assert_eq(look.report.retry_after_ns, 0);
        cr_assert_not(counter.exists);
    }
}

/* A counter that an open plan filled is looked at with the closed plan's numbers. */
Test(limiter, limit_zero_on_a_used_counter)
{
    for (int i = 0; i < LIMITER_ALGORITHMS; i++) {
        enum limiter_algorithm algorithm = (enum limiter_algorithm)i;
        struct counter counter = {.exists = false};
        struct limiter_policy open = counter_policy(algorithm, 6, 6, SECONDS(60));
        struct limiter_policy closed = counter_policy(algorithm, 0, 0, SECONDS(60));
        counter_ask(&counter, &open, 3, T0);
        struct counter_answer never = counter_ask(&counter, &closed, 1, T0);
        cr_assert_eq(never.outcome, LIMITER_NEVER);
        cr_assert_eq(never.report.remaining, 0u);
        cr_assert_gt(never.report.reset_after_ns, 0);
        cr_assert_eq(counter_ask(&counter, &open, 0, T0).report.remaining, 3u);
    }
}

Test(limiter, a_look_at_nothing)
{
    for (int i = 0; i < LIMITER_ALGORITHMS; i++) {
        struct counter counter = {.exists = false};
        struct limiter_policy policy =
            counter_policy((enum limiter_algorithm)i, 6, 6, SECONDS(60));
        struct counter_answer look = counter_ask(&counter, &policy, 0, T0 + SECONDS(1));
        int64_t end_ns = i == LIMITER_FIXED_WINDOW ? SECONDS(59) : 0;
        cr_assert_eq(look.report.remaining, 6u);
        cr_assert_eq(look.report.reset_after_ns, end_ns);
        cr_assert_not(counter.exists);
    }
}

/* Bytes of the state before and after: looks and refusals leave them alone. */
Test(limiter, refusals_and_looks_change_nothing)
{
    for (int i = 0; i < LIMITER_ALGORITHMS; i++) {
        struct counter counter = {.exists = false};
        struct limiter_policy policy =
            counter_policy((enum limiter_algorithm)i, 6, 6, SECONDS(60));
        counter_ask(&counter, &policy, 5, T0);
        struct counter before = counter;
        for (int k = 0; k < 50; k++) {
            cr_assert_eq(counter_ask(&counter, &policy, 6, T0 + MS(k)).outcome, LIMITER_REFUSE);
            cr_assert_eq(counter_ask(&counter, &policy, 7, T0 + MS(k)).outcome, LIMITER_NEVER);
            cr_assert_eq(counter_ask(&counter, &policy, 0, T0 + MS(k)).outcome, LIMITER_ADMIT);
        }
        cr_assert_eq(memcmp(&before.state, &counter.state, sizeof counter.state), 0);
        cr_assert_eq(before.view.count, counter.view.count);
    }
}

/* Used is used: each request measures it by its own numbers. */
Test(limiter, plans_share_one_counter)
{
    for (int i = 0; i < LIMITER_ALGORITHMS; i++) {
        enum limiter_algorithm algorithm = (enum limiter_algorithm)i;
        struct counter counter = {.exists = false};
        struct limiter_policy free_plan = counter_policy(algorithm, 5, 5, SECONDS(60));
        struct limiter_policy pro_plan = counter_policy(algorithm, 50, 50, SECONDS(60));
        cr_assert_eq(counter_ask(&counter, &pro_plan, 20, T0).report.remaining, 30u);
        cr_assert_eq(counter_ask(&counter, &free_plan, 0, T0).report.remaining, 0u);
        cr_assert_eq(counter_ask(&counter, &free_plan, 1, T0).outcome, LIMITER_REFUSE);
        cr_assert_eq(counter_ask(&counter, &pro_plan, 1, T0).report.remaining, 29u);
    }
}

Test(limiter, algorithms_do_not_convert_into_one_another)
{
    struct limiter_policy token = counter_policy(LIMITER_TOKEN_BUCKET, 6, 6, SECONDS(60));
    struct limiter_policy leaky = counter_policy(LIMITER_LEAKY_BUCKET, 6, 6, SECONDS(60));
    struct counter counter = {.exists = false};
    struct limiter_step step;
    counter_ask(&counter, &token, 3, T0);
    cr_assert_not(limiter_convert(&token, &leaky, &counter.state, T0, &step));
}
