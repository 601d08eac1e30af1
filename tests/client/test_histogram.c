#include "histogram.h"
#include "random.h"
#include "zipf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static struct histogram *make(void)
{
    struct histogram *histogram = malloc(sizeof *histogram);
    histogram_init(histogram);
    return histogram;
}

Test(histogram, shares_of_sorted_values)
{
    static const double shares[] = {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0};
    struct random random = {9};
    enum { COUNT = 20000 };
    uint64_t *values = calloc(COUNT, sizeof *values);
    struct histogram *histogram = make();
    for (int i = 0; i < COUNT; i++) {
        values[i] = random_next(&random) >> random_below(&random, 64);
        histogram_record(histogram, values[i]);
    }
    qsort(values, COUNT, sizeof *values, compare);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        uint64_t rank = (uint64_t)ceil(shares[i] * COUNT);
        double want = (double)values[rank == 0 ? 0 : rank - 1];
        double got = (double)histogram_at(histogram, shares[i]);
        cr_expect_leq(fabs(got - want), want * 0.004, "%g: %g instead of %g", shares[i], got,
                      want);
    }
    cr_expect_eq(histogram_at(histogram, 1.0), values[COUNT - 1], "the maximum is exact");
    free(histogram);
    free(values);
}

Test(histogram, buckets_are_in_order_and_side_by_side)
{
    uint32_t last = 0;
    cr_expect_eq(histogram_bucket(0), 0);
    cr_expect_eq(histogram_bucket(255), 255);
    for (uint64_t value = 1; value < 1 << 20; value++) {
        uint32_t bucket = histogram_bucket(value);
        cr_assert(bucket == last || bucket == last + 1, "%llu", (unsigned long long)value);
        last = bucket;
    }
    cr_expect_lt(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS);
}

Test(histogram, small_values_are_exact)
{
    struct histogram *histogram = make();
    cr_expect_eq(histogram_at(histogram, 0.5), 0);
    cr_expect_eq(histogram_mean(histogram), 0.0);
    for (uint64_t value = 1; value <= 100; value++) {
        histogram_record(histogram, value);
    }
    cr_expect_eq(histogram_at(histogram, 0.5), 50);
    cr_expect_eq(histogram_at(histogram, 0.99), 99);
    cr_expect_eq(histogram_at(histogram, 1.0), 100);
    cr_expect_eq(histogram_at(histogram, 0.0), 1);
    cr_expect_float_eq(histogram_mean(histogram), 50.5, 1e-9);
    free(histogram);
}

Test(histogram, sums_of_two)
{
    struct histogram *a = make();
    struct histogram *b = make();
    histogram_record(a, 10);
    histogram_record(b, 30);
    histogram_record(b, 20);
    histogram_add(a, b);
    cr_expect_eq(a->count, 3);
    cr_expect_eq(histogram_at(a, 0.5), 20);
    cr_expect_eq(histogram_at(a, 1.0), 30);
    cr_expect_eq(a->min, 10);
    free(a);
    free(b);
}

/* Each of the first keys comes as often as 1/n^0.99 says, within five standard deviations. */
Test(zipf, shares)
{
    enum { KEYS = 1000, DRAWS = 2000000 };
    struct zipf zipf;
    struct random random = {4};
    uint64_t *seen = calloc(KEYS, sizeof *seen);
    double sum = 0;
    cr_assert(zipf_init(&zipf, KEYS));
    for (int i = 0; i < DRAWS; i++) {
        uint32_t key = zipf_next(&zipf, &random);
        cr_assert_lt(key, KEYS);
        seen[key]++;
    }
    for (int i = 0; i < KEYS; i++) {
        sum += pow(i + 1, -0.99);
    }
    for (int i = 0; i < KEYS; i++) {
        double share = pow(i + 1, -0.99) / sum;
        double slack = 5 * sqrt(DRAWS * share * (1 - share));
        cr_expect_leq(fabs((double)seen[i] - DRAWS * share), slack, "key %d: %llu", i,
                      (unsigned long long)seen[i]);
    }
    zipf_deinit(&zipf);
    free(seen);
}

Test(zipf, one_key)
{
    struct zipf zipf;
    struct random random = {4};
    cr_assert(zipf_init(&zipf, 1));
    for (int i = 0; i < 100; i++) {
        cr_expect_eq(zipf_next(&zipf, &random), 0);
    }
    zipf_deinit(&zipf);
}

Test(random, all_of_a_range_alike)
{
    struct random random = {0};
    int seen[10] = {0};
    for (int i = 0; i < 100000; i++) {
        seen[random_below(&random, 10)]++;
    }
    for (int i = 0; i < 10; i++) {
        cr_expect(seen[i] > 9500 && seen[i] < 10500, "%d: %d", i, seen[i]);
    }
}
