/* CL.THROTTLE's algorithm: the original's vectors, exact fractions of nanoseconds, the ends of what
 * may be asked for, and keys that are asked with other numbers. */
#include "counter.h"

#include <criterion/criterion.h>

__extension__ typedef __int128 wide;

#define BURST_MOST UINT64_C(999999999999999) /* max_burst + 1 */
#define COUNT_MOST UINT64_C(999999999999999)
#define PERIOD_MOST DAYS(3653)

/* A key and its latest answer, in the original's five numbers. */
struct key {
    struct limiter_state state;
    bool exists;
};

struct answer {
    enum limiter_outcome outcome;
    struct limiter_report report;
};

static struct limiter_policy numbers(uint64_t max_burst, uint64_t count, int64_t period_ns)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, LIMITER_THROTTLE, count, max_burst + 1, period_ns, NULL);
    return policy;
}

static struct answer ask(struct key *key, const struct limiter_policy *asked, uint64_t quantity,
                         int64_t now_ns)
{
    const struct limiter_state *state = key->exists ? &key->state : NULL;
    struct limiter_step step;
    struct answer answer;
    answer.outcome = limiter_admit(asked, asked, state, quantity, now_ns, &step);
    if (answer.outcome == LIMITER_ADMIT) {
        limiter_report_admitted(asked, asked, state, &step, quantity, now_ns, &answer.report);
    } else {
        limiter_report(asked, asked, state, quantity, answer.outcome, now_ns, &answer.report);
    }
    if (answer.outcome == LIMITER_ADMIT && quantity > 0) {
        key->state = step.next;
        key->exists = true;
    }
    return answer;
}

static int64_t seconds_up(int64_t ns)
{
    return ns / SECONDS(1) + (ns % SECONDS(1) > 0);
}

static void expect(struct answer answer, bool limited, uint64_t remaining, int64_t retry_s,
                   int64_t reset_s)
{
    int64_t retry = answer.outcome == LIMITER_REFUSE ? seconds_up(answer.report.retry_after_ns)
                                                     : -1;
    cr_expect_eq(answer.outcome != LIMITER_ADMIT, limited);
    cr_expect_eq(answer.report.remaining, remaining, "remaining %llu, not %llu",
                 (unsigned long long)answer.report.remaining, (unsigned long long)remaining);
    cr_expect_eq(retry, retry_s, "retry %lld, not %lld", (long long)retry, (long long)retry_s);
    cr_expect_eq(seconds_up(answer.report.reset_after_ns), reset_s, "reset %lld, not %lld",
                 (long long)seconds_up(answer.report.reset_after_ns), (long long)reset_s);
}

Test(throttle, vectors_of_the_original)
{
    struct limiter_policy a = numbers(15, 30, SECONDS(60));
    struct limiter_policy b = numbers(4, 1, SECONDS(60));
    struct limiter_policy c = numbers(0, 1, SECONDS(1));
    struct limiter_policy f = numbers(2, 10, SECONDS(1));
    struct limiter_policy g = numbers(9, 100, SECONDS(1));
    struct key key = {.exists = false};
    expect(ask(&key, &a, 1, T0), false, 15, -1, 2);
    expect(ask(&key, &a, 1, T0), false, 14, -1, 4);
    key.exists = false;
    expect(ask(&key, &b, 5, T0), false, 0, -1, 300);
    expect(ask(&key, &b, 1, T0), true, 0, 60, 300);
    expect(ask(&key, &b, 6, T0), true, 0, -1, 300);
    key.exists = false;
    expect(ask(&key, &c, 1, T0), false, 0, -1, 1);
    expect(ask(&key, &c, 1, T0), true, 0, 1, 1);
    key.exists = false;
    expect(ask(&key, &b, 6, T0), true, 5, -1, 0);
    expect(ask(&key, &b, 0, T0), false, 5, -1, 0);
    cr_expect_not(key.exists);
    expect(ask(&key, &f, 1, T0), false, 2, -1, 1);
    key.exists = false;
    expect(ask(&key, &g, 10, T0), false, 0, -1, 1);
    expect(ask(&key, &g, 1, T0), true, 0, 1, 1);
}

Test(throttle, five_units_one_per_five_seconds)
{
    struct limiter_policy k = numbers(4, 10, SECONDS(50));
    struct key key = {.exists = false};
    expect(ask(&key, &k, 1, T0), false, 4, -1, 5);
    expect(ask(&key, &k, 1, T0), false, 3, -1, 10);
    expect(ask(&key, &k, 3, T0), false, 0, -1, 25);
    expect(ask(&key, &k, 1, T0), true, 0, 5, 25);
    expect(ask(&key, &k, 0, T0), false, 0, -1, 25);
    expect(ask(&key, &k, 6, T0), true, 0, -1, 25);
    expect(ask(&key, &k, 1, T0 + MS(500)), true, 0, 5, 25);
    expect(ask(&key, &k, 1, T0 + MS(4999)), true, 0, 1, 21);
    expect(ask(&key, &k, 1, T0 + SECONDS(5)), false, 0, -1, 25);
    expect(ask(&key, &k, 5, T0 + SECONDS(25)), true, 4, 5, 5);
    expect(ask(&key, &k, 0, T0 + SECONDS(55)), false, 5, -1, 0);
}

Test(throttle, a_burst_of_1501_and_a_key_that_lives_on)
{
    struct limiter_policy f = numbers(1500, 1500, SECONDS(90));
    struct key key = {.exists = false};
    for (uint64_t i = 0; i < 1501; i++) {
        struct answer answer = ask(&key, &f, 1, T0);
        cr_assert_eq(answer.outcome, LIMITER_ADMIT);
        cr_assert_eq(answer.report.remaining, 1500 - i);
    }
    expect(ask(&key, &f, 1, T0), true, 0, 1, 91);
    cr_expect_eq(limiter_idle_at_ns(&f, &key.state), T0 + MS(60) * 1501);
}

/* 1 per 1/3 s: three steps are a second, and no third of a nanosecond is lost or won. */
Test(throttle, thirds_of_a_nanosecond_add_up)
{
    struct limiter_policy third = numbers(2, 3, SECONDS(1));
    struct key key = {.exists = false};
    expect(ask(&key, &third, 3, T0), false, 0, -1, 1);
    int64_t at_ns = T0;
    for (int i = 1; i <= 3000; i++) {
        /* The i-th unit is back at i/3 s, rounded up to whole ns. */
        int64_t due_ns = T0 + (int64_t)(((wide)i * SECONDS(1) + 2) / 3);
        struct answer early = ask(&key, &third, 1, due_ns - 1);
        cr_assert_eq(early.outcome, LIMITER_REFUSE, "%d", i);
        cr_assert_eq(early.report.retry_after_ns, 1);
        cr_assert_eq(ask(&key, &third, 1, due_ns).outcome, LIMITER_ADMIT, "%d", i);
        at_ns = due_ns;
    }
    cr_expect_eq(limiter_idle_at_ns(&third, &key.state), T0 + SECONDS(1001));
    cr_expect_eq(at_ns, T0 + SECONDS(1000));
}

/* The same question over and over: exact against the empty instant kept as a whole number of 1/L
 * ns. */
struct reference {
    wide empty; /* since T0, in 1/L ns */
};

static wide ceil_div(wide a, wide b)
{
    return (a + b - 1) / b;
}

static void check(const struct limiter_policy *asked, struct reference *reference, struct key *key,
                  uint64_t quantity, int64_t now_ns)
{
    wide limit = (wide)asked->limit;
    wide unit = asked->window_ns;
    wide now = (wide)(now_ns - T0) * limit;
    wide used = reference->empty > now ? reference->empty - now : 0;
    wide room = ((wide)asked->burst - (wide)quantity) * unit;
    struct answer answer = ask(key, asked, quantity, now_ns);
    if (quantity > asked->burst) {
        cr_assert_eq(answer.outcome, LIMITER_NEVER);
    } else if (used > room && quantity > 0) {
        wide wait = ceil_div(used - room, limit);
        cr_assert_eq(answer.outcome, LIMITER_REFUSE);
        cr_assert_eq((wide)answer.report.retry_after_ns, wait > INT64_MAX ? INT64_MAX : wait);
    } else {
        cr_assert_eq(answer.outcome, LIMITER_ADMIT);
        used += (wide)quantity * unit;
        reference->empty = now + used;
    }
    wide left = (wide)asked->burst * unit - used;
    wide reset = ceil_div(used, limit);
    cr_assert_eq((wide)answer.report.remaining, left / unit);
    cr_assert_eq((wide)answer.report.reset_after_ns, reset > INT64_MAX ? INT64_MAX : reset);
}

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Of any size up to `most`: as many small numbers as large ones. */
static uint64_t random_upto(uint64_t *seed, uint64_t most)
{
    uint64_t value = random_next(seed) >> (random_next(seed) % 64);
    return value % (most + 1);
}

Test(throttle, exact_for_all_numbers)
{
    uint64_t seed = 88172645463325252u;
    for (int round = 0; round < 20000; round++) {
        uint64_t burst = random_upto(&seed, BURST_MOST - 1);
        uint64_t count = 1 + random_upto(&seed, COUNT_MOST - 1);
        int64_t period = SECONDS(1 + random_upto(&seed, PERIOD_MOST / SECONDS(1) - 1));
        struct limiter_policy asked = numbers(burst, count, period);
        struct reference reference = {.empty = 0};
        struct key key = {.exists = false};
        int64_t now_ns = T0;
        for (int i = 0; i < 30; i++) {
            uint64_t gap = random_upto(&seed, (uint64_t)period / 4);
            now_ns += random_next(&seed) % 3 == 0 ? 0 : (int64_t)gap % SECONDS(9000000);
            check(&asked, &reference, &key, random_upto(&seed, burst + 2), now_ns);
        }
    }
}

Test(throttle, the_ends_of_what_may_be_asked)
{
    static const uint64_t counts[] = {1, 2, 3, COUNT_MOST - 1, COUNT_MOST};
    static const int64_t periods[] = {SECONDS(1), PERIOD_MOST};
    for (int i = 0; i < 10; i++) {
        struct limiter_policy asked = numbers(BURST_MOST - 1, counts[i / 2], periods[i % 2]);
        struct reference reference = {.empty = 0};
        struct key key = {.exists = false};
        uint64_t part = BURST_MOST / 3;
        check(&asked, &reference, &key, 1, T0);
        check(&asked, &reference, &key, part, T0);
        check(&asked, &reference, &key, BURST_MOST - part - 1, T0);
        check(&asked, &reference, &key, 1, T0);
        check(&asked, &reference, &key, 0, T0);
        check(&asked, &reference, &key, UINT64_C(1) << 63, T0);
        check(&asked, &reference, &key, 1, T0 + 1);
        check(&asked, &reference, &key, BURST_MOST, T0 + SECONDS(1));
    }
}

/* What is left until empty stays, whatever the numbers of the next question. */
Test(throttle, other_numbers_keep_the_time_until_empty)
{
    struct limiter_policy slow = numbers(4, 1, SECONDS(60));
    struct limiter_policy fast = numbers(9, 10, SECONDS(1));
    struct limiter_policy odd = numbers(99, 7, SECONDS(1));
    struct key key = {.exists = false};
    expect(ask(&key, &slow, 1, T0), false, 4, -1, 60);
    expect(ask(&key, &fast, 0, T0), false, 0, -1, 60);
    struct answer refused = ask(&key, &fast, 1, T0);
    cr_expect_eq(refused.outcome, LIMITER_REFUSE);
    cr_expect_eq(refused.report.retry_after_ns, SECONDS(60) - MS(900));
    expect(ask(&key, &fast, 1, T0 + SECONDS(60) - MS(900)), false, 0, -1, 1);
    expect(ask(&key, &slow, 1, T0 + SECONDS(60) - MS(900)), false, 3, -1, 61);
    key.exists = false;
    (void)ask(&key, &odd, 1, T0); /* 142857142.857… ns */
    cr_expect_eq(ask(&key, &fast, 0, T0).report.reset_after_ns, 142857143);
    cr_expect_eq(ask(&key, &fast, 1, T0).report.reset_after_ns, 242857143);
    cr_expect_eq(ask(&key, &odd, 0, T0).report.reset_after_ns, 242857143);
}

Test(throttle, changing_numbers_move_the_wait_by_less_than_a_part)
{
    uint64_t seed = 362436069u;
    for (int round = 0; round < 20000; round++) {
        struct key key = {.exists = false};
        double exact_ns = 0; /* until empty; sums below 2^40 are exact to 2^-12 */
        for (int i = 0; i < 10; i++) {
            uint64_t count = 1 + random_upto(&seed, 1000);
            struct limiter_policy asked =
                numbers(1000, count, SECONDS(1 + random_next(&seed) % 8));
            exact_ns += (double)asked.window_ns / (double)asked.limit;
            struct answer answer = ask(&key, &asked, 1, T0);
            if (answer.outcome != LIMITER_ADMIT) {
                break;
            }
            double off_ns = (double)answer.report.reset_after_ns - exact_ns;
            cr_assert_gt(off_ns, -1e-3 * (i + 1), "%d: %g", i, off_ns);
            cr_assert_lt(off_ns, i + 2);
        }
    }
}

/* A clock that goes back wins nothing, and the wait holds from the request's own now. */
Test(throttle, time_that_goes_back)
{
    struct limiter_policy k = numbers(4, 10, SECONDS(50));
    struct key key = {.exists = false};
    (void)ask(&key, &k, 5, T0);
    struct answer answer = ask(&key, &k, 1, T0 - SECONDS(7));
    cr_expect_eq(answer.outcome, LIMITER_REFUSE);
    cr_expect_eq(answer.report.retry_after_ns, SECONDS(12));
    cr_expect_eq(answer.report.reset_after_ns, SECONDS(32));
    (void)ask(&key, &k, 1, T0 + SECONDS(5));
    cr_expect_eq(ask(&key, &k, 1, T0 - SECONDS(100)).report.retry_after_ns, SECONDS(110));
    cr_expect_eq(ask(&key, &k, 1, INT64_MIN).outcome, LIMITER_REFUSE);
    cr_expect_eq(ask(&key, &k, 1, INT64_MIN).report.retry_after_ns, INT64_MAX);
    cr_expect_eq(ask(&key, &k, 5, INT64_MAX).outcome, LIMITER_ADMIT);
}

Test(throttle, a_reload_leaves_it_alone)
{
    struct limiter_policy builtin = numbers(0, 1, SECONDS(1));
    struct limiter_policy k = numbers(9, 7, SECONDS(3));
    struct key key = {.exists = false};
    struct limiter_step step;
    (void)ask(&key, &k, 4, T0);
    cr_assert(limiter_convert(&builtin, &builtin, &key.state, T0 + SECONDS(1), &step));
    cr_expect_eq(step.next.time_ns, key.state.time_ns);
    cr_expect_eq(step.next.lo, key.state.lo);
    cr_expect_eq(step.next.hi, key.state.hi);
    cr_expect_not(limiter_refund(&builtin, &key.state, 1, T0, &step));
    cr_expect_str_eq(limiter_algorithm_name(LIMITER_THROTTLE), "throttle");
}

/* The store asks with the builtin policy, which has no numbers, whether a key is used up. */
Test(throttle, asked_without_numbers)
{
    struct limiter_policy builtin;
    struct limiter_policy k = numbers(4, 10, SECONDS(50));
    struct limiter_report report;
    struct key key = {.exists = false};
    limiter_policy_init(&builtin, LIMITER_THROTTLE, 0, 0, SECONDS(1), NULL);
    (void)ask(&key, &k, 4, T0);
    limiter_report(&builtin, &builtin, &key.state, 0, LIMITER_ADMIT, T0, &report);
    cr_expect_gt(report.remaining, 0);
    cr_expect_eq(report.reset_after_ns, SECONDS(20));
    (void)ask(&key, &k, 1, T0);
    limiter_report(&builtin, &builtin, &key.state, 0, LIMITER_ADMIT, T0, &report);
    cr_expect_eq(report.remaining, 0);
    limiter_report(&builtin, &builtin, &key.state, 0, LIMITER_ADMIT, T0 + SECONDS(25), &report);
    cr_expect_gt(report.remaining, 0);
    cr_expect_eq(limiter_idle_at_ns(&builtin, &key.state), T0 + SECONDS(25));
    cr_expect_eq(limiter_admit(&builtin, &builtin, &key.state, 1, T0, NULL), LIMITER_NEVER);
}
