/* The table of vectors in the contract: how many of a given traffic pass. */
#include "counter.h"

#include <criterion/criterion.h>

static struct limiter_policy five_in_ten(enum limiter_algorithm algorithm)
{
    return counter_policy(algorithm, 5, 5, SECONDS(10));
}

/* Five from 8 s to 9.99 s and five from 10 s to 11.99 s, evenly spread. */
static int two_spans(enum limiter_algorithm algorithm)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = five_in_ten(algorithm);
    int passed = 0;
    for (int i = 0; i < 10; i++) {
        int64_t now_ns = T0 + SECONDS(i < 5 ? 8 : 10) + MS(398) * (i % 5);
        passed += counter_ask(&counter, &policy, 1, now_ns).outcome == LIMITER_ADMIT;
    }
    return passed;
}

static int one_a_second(enum limiter_algorithm algorithm)
{
    struct counter counter = {.exists = false};
    struct limiter_policy policy = five_in_ten(algorithm);
    int passed = 0;
    for (int i = 0; i < 60; i++) {
        passed += counter_ask(&counter, &policy, 1, T0 + SECONDS(i)).outcome == LIMITER_ADMIT;
    }
    return passed;
}

Test(vectors, two_spans)
{
    cr_assert_eq(two_spans(LIMITER_FIXED_WINDOW), 10);
    cr_assert_eq(two_spans(LIMITER_SLIDING_LOG), 5);
    cr_assert_eq(two_spans(LIMITER_TOKEN_BUCKET), 6);
    cr_assert_eq(two_spans(LIMITER_LEAKY_BUCKET), 6);
}

Test(vectors, one_a_second)
{
    cr_assert_eq(one_a_second(LIMITER_FIXED_WINDOW), 30);
    cr_assert_eq(one_a_second(LIMITER_SLIDING_LOG), 30);
    cr_assert_eq(one_a_second(LIMITER_TOKEN_BUCKET), 34);
    cr_assert_eq(one_a_second(LIMITER_LEAKY_BUCKET), 34);
}
