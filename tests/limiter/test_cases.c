/* The cases made from public bug reports about rate limiters (cases.md), as far as they are pure
 * arithmetic; each test bears its case's number. Columns of a row: seconds since T0, cost, times,
 * outcome, remaining, retry_after. */
#include "counter.h"

#include <criterion/criterion.h>

#define YES LIMITER_ADMIT
#define NO LIMITER_REFUSE
#define NEVER LIMITER_NEVER
#define S(n) SECONDS(n)

static struct limiter_policy bucket(uint64_t limit, int64_t window_ns, uint64_t burst)
{
    return counter_policy(LIMITER_TOKEN_BUCKET, limit, burst, window_ns);
}

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

Test(cases, rb_01_fixed_window)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = fixed(5, S(60));
    COUNTER_PLAY(&counter, &policy, {S(0), 1, 1, YES, 4, 0}, {S(59), 1, 4, YES, 3, 0},
                 {S(59), 1, 1, NO, 0, S(1)}, {S(60), 1, 5, YES, 4, 0},
                 {S(60), 1, 1, NO, 0, S(60)});
}

Test(cases, rb_01_sliding_log)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_log(5, S(60));
    COUNTER_PLAY(&counter, &policy, {S(0), 1, 1, YES, 4, 0}, {S(59), 1, 4, YES, 3, 0},
                 {S(59), 1, 1, NO, 0, S(1)}, {S(60), 1, 1, YES, 0, 0},
                 {S(60), 1, 5, NO, 0, S(59)});
}

Test(cases, rb_01_sliding_counter)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_counter(5, S(60));
    COUNTER_PLAY(&counter, &policy, {S(0), 1, 1, YES, 4, 0}, {S(59), 1, 4, YES, 3, 0},
                 {S(59), 1, 1, NO, 0, S(13)}, {S(60), 1, 6, NO, 0, S(12)});
}

Test(cases, rb_02)
{
    static const int64_t waits[LIMITER_ALGORITHMS] = {
        [LIMITER_TOKEN_BUCKET] = S(10), [LIMITER_LEAKY_BUCKET] = S(10),
        [LIMITER_FIXED_WINDOW] = S(60), [LIMITER_SLIDING_LOG] = S(60),
        [LIMITER_SLIDING_COUNTER] = S(70)};
    for (int i = 0; i < LIMITER_ALGORITHMS; i++) {
        struct counter counter = {.exists = false};
        struct limiter_policy policy = counter_policy((enum limiter_algorithm)i, 6, 6, S(60));
        COUNTER_PLAY(&counter, &policy, {0, 1, 6, YES, 5, 0}, {0, 1, 3, NO, 0, waits[i]});
    }
}

Test(cases, rb_04)
{
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct counter c = {.exists = false};
    struct limiter_policy policy = bucket(6, S(4), 6);
    COUNTER_PLAY(&a, &policy, {0, 7, 1, NEVER, 6, 0}, {0, 6, 1, YES, 0, 0},
                 {0, 7, 1, NEVER, 0, 0}, {S(10), 7, 1, NEVER, 6, 0}, {S(10), 1, 1, YES, 5, 0});
    policy = sliding_log(12, S(90));
    COUNTER_PLAY(&b, &policy, {0, 7, 1, YES, 5, 0}, {0, 50, 1, NEVER, 5, 0},
                 {0, 6, 1, NO, 5, S(90)}, {0, 5, 1, YES, 0, 0});
    policy = bucket(1, S(1), 5);
    COUNTER_PLAY(&c, &policy, {0, 1, 1, YES, 4, 0}, {0, 5, 1, NO, 4, S(1)},
                 {0, 6, 1, NEVER, 4, 0}, {S(1), 5, 1, YES, 0, 0});
}

Test(cases, rb_05)
{
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct limiter_policy policy = fixed(3, S(60));
    COUNTER_PLAY(&a, &policy, {S(10), 0, 1, YES, 3, 0}, {S(20), 1, 3, YES, 2, 0},
                 {S(21), 0, 1, YES, 0, 0}, {MS(21500), 0, 100, YES, 0, 0},
                 {S(22), 1, 1, NO, 0, S(38)}, {S(60), 0, 1, YES, 3, 0}, {S(60), 1, 1, YES, 2, 0});
    policy = bucket(1, S(10), 1);
    COUNTER_PLAY(&b, &policy, {0, 1, 1, YES, 0, 0}, {S(4), 0, 1, YES, 0, 0},
                 {MS(9999), 0, 1, YES, 0, 0}, {S(10), 1, 1, YES, 0, 0});
}

/* A negative cost never comes this far; a refund gives back what it would have. */
Test(cases, rb_06)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = fixed(5, S(60));
    cr_assert_not(counter_refund(&counter, 1, T0));
    COUNTER_PLAY(&counter, &policy, {0, 0, 1, YES, 5, 0}, {0, 1, 5, YES, 4, 0},
                 {0, 1, 1, NO, 0, S(60)});
    cr_assert(counter_refund(&counter, 2, T0 + S(1)));
    COUNTER_PLAY(&counter, &policy, {S(1), 0, 1, YES, 2, 0}, {S(1), 1, 2, YES, 1, 0},
                 {S(1), 1, 1, NO, 0, S(59)});
    cr_assert(counter_refund(&counter, 100, T0 + S(2)));
    COUNTER_PLAY(&counter, &policy, {S(2), 0, 1, YES, 5, 0});
    cr_assert_not(counter_refund(&counter, INT64_MAX, T0 + S(3)));
    COUNTER_PLAY(&counter, &policy, {S(3), 0, 1, YES, 5, 0});
}

Test(cases, rb_08)
{
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct limiter_policy policy = bucket(4, S(1), 4);
    COUNTER_PLAY(&a, &policy, {0, 1, 4, YES, 3, 0}, {MS(375), 1, 1, YES, 0, 0},
                 {MS(500), 1, 1, YES, 0, 0}, {MS(625), 1, 1, NO, 0, MS(125)},
                 {MS(750), 1, 1, YES, 0, 0});
    policy = bucket(100, S(1), 10);
    COUNTER_PLAY(&b, &policy, {0, 1, 10, YES, 9, 0});
    for (int i = 1; i <= 1000; i++) {
        struct counter_answer answer = counter_ask(&b, &policy, 1, T0 + MS(i));
        cr_assert_eq(answer.outcome, i % 10 == 0 ? YES : NO, "at %d ms", i);
    }
}

Test(cases, rb_09)
{
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct limiter_policy policy = bucket(1, S(3), 1);
    COUNTER_PLAY(&a, &policy, {0, 1, 1, YES, 0, 0}, {MS(2999), 1, 1, NO, 0, MS(1)},
                 {S(3), 1, 1, YES, 0, 0}, {S(5), 1, 1, NO, 0, S(1)}, {S(6), 1, 1, YES, 0, 0});
    policy = bucket(10, DAYS(7), 10);
    COUNTER_PLAY(&b, &policy, {0, 1, 10, YES, 9, 0}, {0, 1, 1, NO, 0, S(60480)},
                 {MS(60479999), 1, 1, NO, 0, MS(1)}, {S(60480), 1, 1, YES, 0, 0},
                 {S(604800), 0, 1, YES, 9, 0});
}

Test(cases, rb_11)
{
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct limiter_policy policy = sliding_log(4, DAYS(365));
    COUNTER_PLAY(&a, &policy, {0, 1, 4, YES, 3, 0}, {0, 1, 1, NO, 0, S(31536000)},
                 {MS(2147483648), 1, 1, NO, 0, MS(29388516352)},
                 {MS(4294967296), 1, 1, NO, 0, MS(27241032704)},
                 {MS(31535999999), 1, 1, NO, 0, MS(1)}, {S(31536000), 1, 1, YES, 3, 0});
    policy = bucket(6, DAYS(45), 6);
    COUNTER_PLAY(&b, &policy, {0, 1, 6, YES, 5, 0}, {0, 1, 1, NO, 0, S(648000)},
                 {MS(647999999), 1, 1, NO, 0, MS(1)}, {S(648000), 1, 1, YES, 0, 0},
                 {S(3888000), 0, 1, YES, 5, 0}, {S(7776000), 0, 1, YES, 6, 0});
}

static struct limiter_policy by_calendar(const struct calendar *calendar, uint64_t limit)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, LIMITER_FIXED_WINDOW, limit, 0, 0, calendar);
    return policy;
}

Test(cases, rb_13)
{
    static const struct calendar_shift utc = {.from_s = INT64_MIN};
    struct calendar day = {.unit = CALENDAR_DAY, .zone = {.shifts = &utc, .count = 1}};
    struct calendar month = {.unit = CALENDAR_MONTH, .zone = {.shifts = &utc, .count = 1}};
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct limiter_policy policy = by_calendar(&day, 3);
    COUNTER_PLAY(&a, &policy, {S(22 * 3600), 1, 3, YES, 2, 0},
                 {MS(86399999), 1, 1, NO, 0, MS(1)}, {S(86400), 1, 1, YES, 2, 0},
                 {S(86401), 1, 2, YES, 1, 0}, {S(86400 + 10 * 3600), 1, 1, NO, 0, S(50400)},
                 {S(86400 + 81000), 1, 1, NO, 0, S(5400)}, {S(2 * 86400), 1, 1, YES, 2, 0});
    policy = by_calendar(&month, 1);
    COUNTER_PLAY(&b, &policy, {DAYS(31) - S(1), 1, 1, YES, 0, 0}, {DAYS(31), 1, 1, YES, 0, 0},
                 {DAYS(59) - S(1), 1, 1, NO, 0, S(1)}, {DAYS(59), 1, 1, YES, 0, 0},
                 {DAYS(761), 1, 1, YES, 0, 0}, /* 2028-02-01 */
                 {DAYS(789) + S(43200), 1, 1, NO, 0, S(43200)}, {DAYS(790), 1, 1, YES, 0, 0});
}

Test(cases, rb_15)
{
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct limiter_policy policy = bucket(10, S(1), 1);
    COUNTER_PLAY(&a, &policy, {0, 1, 1, YES, 0, 0}, {MS(1), 1, 1, NO, 0, MS(99)},
                 {US(99999), 1, 1, NO, 0, US(1)}, {MS(100), 1, 1, YES, 0, 0});
    policy = bucket(2000, S(1), 1);
    COUNTER_PLAY(&b, &policy, {0, 1, 1, YES, 0, 0}, {US(100), 1, 1, NO, 0, US(400)});
}

Test(cases, rb_16)
{
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct counter c = {.exists = false};
    struct limiter_policy policy = sliding_log(3, S(100));
    COUNTER_PLAY(&a, &policy, {0, 1, 1, YES, 2, 0}, {S(30), 1, 1, YES, 1, 0},
                 {S(45), 1, 1, YES, 0, 0}, {S(50), 1, 1, NO, 0, S(50)},
                 {S(100), 1, 1, YES, 0, 0}, {S(101), 1, 1, NO, 0, S(29)},
                 {S(101), 2, 1, NO, 0, S(44)});
    policy = bucket(1, S(10), 1);
    COUNTER_PLAY(&b, &policy, {0, 1, 1, YES, 0, 0}, {S(2), 1, 1, NO, 0, S(8)},
                 {MS(9500), 1, 1, NO, 0, MS(500)}, {S(10), 1, 1, YES, 0, 0});
    policy = fixed(1, S(10));
    COUNTER_PLAY(&c, &policy, {0, 1, 1, YES, 0, 0}, {S(2), 1, 1, NO, 0, S(8)},
                 {MS(9500), 1, 1, NO, 0, MS(500)}, {S(10), 1, 1, YES, 0, 0});
}

Test(cases, rb_18)
{
    static const int64_t at_s[] = {20, 20, 21, 23, 89, 90};
    static const int64_t reset_s[] = {70, 70, 69, 67, 1, 90};
    struct counter counter = {.exists = false};
    struct limiter_policy policy = fixed(3, S(90));
    for (int i = 0; i < 6; i++) {
        struct counter_answer answer = counter_ask(&counter, &policy, 1, T0 + S(at_s[i]));
        cr_assert_eq(answer.report.reset_after_ns, S(reset_s[i]), "request %d", i);
        cr_assert_eq(answer.outcome, i == 3 || i == 4 ? NO : YES);
    }
}

/* The daemon's clock does not step, so these are the answers by its own time. */
Test(cases, rb_20)
{
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct counter c = {.exists = false};
    struct limiter_policy policy = bucket(2, S(10), 2);
    COUNTER_PLAY(&a, &policy, {0, 1, 2, YES, 1, 0}, {0, 1, 1, NO, 0, S(5)},
                 {MS(4999), 1, 1, NO, 0, MS(1)}, {S(5), 1, 1, YES, 0, 0},
                 {S(10), 1, 1, YES, 0, 0}, {S(12), 1, 2, NO, 0, S(3)});
    policy = sliding_log(2, S(10));
    COUNTER_PLAY(&b, &policy, {0, 1, 2, YES, 1, 0}, {0, 1, 1, NO, 0, S(10)},
                 {MS(4999), 1, 1, NO, 0, MS(5001)}, {S(5), 1, 1, NO, 0, S(5)},
                 {S(10), 1, 1, YES, 1, 0}, {S(12), 1, 1, YES, 0, 0}, {S(12), 1, 1, NO, 0, S(8)});
    policy = fixed(2, S(10));
    COUNTER_PLAY(&c, &policy, {0, 1, 2, YES, 1, 0}, {0, 1, 1, NO, 0, S(10)},
                 {MS(4999), 1, 1, NO, 0, MS(5001)}, {S(5), 1, 1, NO, 0, S(5)},
                 {S(10), 1, 1, YES, 1, 0}, {S(12), 1, 1, YES, 0, 0}, {S(12), 1, 1, NO, 0, S(8)});
}

Test(cases, rb_22)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_log(3, S(5));
    for (int i = 0; i < 20; i++) {
        struct counter_answer answer = counter_ask(&counter, &policy, 1, T0 + S(i));
        cr_assert_eq(answer.outcome, i % 5 < 3 ? YES : NO, "at %d s", i);
        cr_assert_eq(answer.report.retry_after_ns, i % 5 < 3 ? 0 : S(5 - i % 5));
    }
    cr_assert_eq(counter.view.count, 3u);
}

Test(cases, rb_24)
{
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct limiter_policy policy = fixed(12, S(180));
    for (int i = 0; i <= 80; i++) {
        struct counter_answer answer = counter_ask(&a, &policy, 1, T0 + S(45 * i));
        cr_assert_eq(answer.outcome, YES);
        cr_assert_eq(answer.report.remaining, (uint64_t)(11 - i % 4));
        cr_assert_eq(answer.report.reset_after_ns, S(180 - 45 * (i % 4)));
    }
    COUNTER_PLAY(&b, &policy, {0, 1, 12, YES, 11, 0}, {0, 1, 1, NO, 0, S(180)});
    for (int i = 1; i < 180; i++) {
        struct counter_answer answer = counter_ask(&b, &policy, 1, T0 + S(i));
        cr_assert_eq(answer.report.retry_after_ns, S(180 - i));
    }
    COUNTER_PLAY(&b, &policy, {S(180), 1, 1, YES, 11, 0});
}

Test(cases, rb_29)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = bucket(1, S(3600), 5);
    COUNTER_PLAY(&counter, &policy, {0, 1, 5, YES, 4, 0});
    for (int i = 1; i <= 20; i++) {
        struct limiter_policy same = bucket(1, S(3600), 5);
        cr_assert(counter_convert(&counter, &same, T0 + S(i)));
    }
    COUNTER_PLAY(&counter, &policy, {S(21), 1, 1, NO, 0, S(3579)});
}

Test(cases, rb_30)
{
    static const struct {
        uint64_t limit;
        struct counter_row row;
    } lines[] = {{50, {S(0), 1, 4, YES, 49, 0}}, {20, {S(10), 1, 1, YES, 15, 0}},
                 {3, {S(20), 1, 1, NO, 0, S(40)}}, {8, {S(30), 1, 1, YES, 2, 0}},
                 {50, {S(40), 1, 1, YES, 43, 0}}, {8, {S(60), 1, 1, YES, 7, 0}}};
    struct counter counter = {.exists = false};
    for (int i = 0; i < 6; i++) {
        struct limiter_policy policy = fixed(lines[i].limit, S(60));
        cr_assert(i == 0 || counter_convert(&counter, &policy, T0 + lines[i].row.at_ns - 1));
        counter_play(&counter, &policy, &lines[i].row, 1);
    }
}

Test(cases, rb_30_window_shortened)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = sliding_log(3, S(60));
    COUNTER_PLAY(&counter, &policy, {S(0), 1, 1, YES, 2, 0}, {S(1), 1, 1, YES, 1, 0},
                 {S(2), 1, 1, YES, 0, 0});
    policy = sliding_log(3, S(10));
    counter_convert(&counter, &policy, T0 + S(15));
    COUNTER_PLAY(&counter, &policy, {S(15), 1, 1, YES, 2, 0});
}

/* What a daemon finds when it comes back: the states as they were, a later now. */
Test(cases, rb_45)
{
    struct counter a = {.exists = false};
    struct counter b = {.exists = false};
    struct counter c = {.exists = false};
    struct limiter_policy policy = bucket(5, S(300), 5);
    COUNTER_PLAY(&a, &policy, {0, 1, 5, YES, 4, 0}, {S(21), 1, 1, NO, 0, S(39)},
                 {S(32), 1, 1, NO, 0, S(28)});
    policy = sliding_log(2, S(100));
    COUNTER_PLAY(&b, &policy, {0, 1, 1, YES, 1, 0}, {S(5), 1, 1, YES, 0, 0},
                 {S(21), 1, 1, NO, 0, S(79)}, {S(32), 1, 1, NO, 0, S(68)});
    policy = fixed(3, S(3600));
    COUNTER_PLAY(&c, &policy, {0, 1, 3, YES, 2, 0}, {S(21), 1, 1, NO, 0, S(3579)},
                 {S(32), 1, 1, NO, 0, S(3568)});
}

Test(cases, rb_51)
{
    static const struct {
        int64_t at_ms;
        uint64_t cost;
        enum limiter_outcome outcome;
        uint64_t remaining;
        int64_t retry_ms;
        int64_t reset_ms;
    } lines[] = {{0, 1, YES, 4, 0, 5000},       {0, 1, YES, 3, 0, 10000},
                 {0, 3, YES, 0, 0, 25000},      {0, 1, NO, 0, 5000, 25000},
                 {0, 0, YES, 0, 0, 25000},      {0, 6, NEVER, 0, 0, 25000},
                 {500, 1, NO, 0, 4500, 24500},  {4999, 1, NO, 0, 1, 20001},
                 {5000, 1, YES, 0, 0, 25000},   {25000, 5, NO, 4, 5000, 5000},
                 {55000, 0, YES, 5, 0, 0}};
    struct counter counter = {.exists = false};
    struct limiter_policy policy = bucket(10, S(50), 5);
    for (int i = 0; i < 11; i++) {
        struct counter_answer answer =
            counter_ask(&counter, &policy, lines[i].cost, T0 + MS(lines[i].at_ms));
        cr_assert_eq(answer.outcome, lines[i].outcome, "line %d", i);
        cr_assert_eq(answer.report.remaining, lines[i].remaining, "line %d", i);
        cr_assert_eq(answer.report.retry_after_ns, MS(lines[i].retry_ms), "line %d", i);
        cr_assert_eq(answer.report.reset_after_ns, MS(lines[i].reset_ms), "line %d", i);
    }
}

Test(cases, rb_51_fast)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = bucket(1500, S(90), 1501);
    COUNTER_PLAY(&counter, &policy, {0, 1, 1501, YES, 1500, 0}, {0, 1, 1, NO, 0, MS(60)});
    struct counter_answer answer = counter_ask(&counter, &policy, 0, T0);
    cr_assert_eq(answer.report.reset_after_ns, MS(90060));
}
