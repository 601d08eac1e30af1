/* What the summary is counted with: exact while small, bounded and honest when large. */
#include "simulate_distinct.h"
#include "simulate_series.h"
#include "simulate_table.h"
#include "simulate_top.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* splitmix64: the same numbers on every machine. */
static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

Test(simulate_distinct, exact_while_few)
{
    struct simulate_distinct distinct;
    bool exact;
    simulate_distinct_init(&distinct);
    cr_expect_eq(simulate_distinct_count(&distinct, &exact), 0);
    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 50000; i++) {
            simulate_distinct_add(&distinct, mix(i));
        }
    }
    simulate_distinct_add(&distinct, 0);
    simulate_distinct_add(&distinct, 0);
    cr_expect_eq(simulate_distinct_count(&distinct, &exact), 50001);
    cr_expect(exact);
    simulate_distinct_deinit(&distinct);
}

Test(simulate_distinct, close_when_many)
{
    static const uint64_t sizes[] = {70000, 200000, 1000000};
    for (size_t s = 0; s < 3; s++) {
        struct simulate_distinct distinct;
        bool exact;
        simulate_distinct_init(&distinct);
        for (uint64_t i = 0; i < sizes[s]; i++) {
            simulate_distinct_add(&distinct, mix(i));
            simulate_distinct_add(&distinct, mix(i / 2));
        }
        double count = (double)simulate_distinct_count(&distinct, &exact);
        cr_expect_not(exact);
        cr_expect(count > (double)sizes[s] * 0.97 && count < (double)sizes[s] * 1.03,
                  "%.0f for %llu", count, (unsigned long long)sizes[s]);
        simulate_distinct_deinit(&distinct);
    }
}

static void add(struct simulate_top *top, uint64_t thing)
{
    char label[32];
    int size = snprintf(label, sizeof(label), "%06llu", (unsigned long long)thing);
    struct fingerprint id = {.lo = mix(thing), .hi = mix(thing + 1000000007)};
    simulate_top_add(top, id, slice_make(label, (size_t)size));
}

Test(simulate_top, exact_while_few)
{
    struct simulate_top top;
    struct simulate_top_entry best[3];
    simulate_top_init(&top);
    cr_expect_eq(simulate_top_best(&top, best, 3), 0);
    for (uint64_t thing = 0; thing < 1000; thing++) {
        for (uint64_t i = 0; i <= thing / 2; i++) {
            add(&top, thing);
        }
    }
    cr_assert_eq(simulate_top_best(&top, best, 3), 3);
    cr_expect_str_eq(best[0].label, "000998"); /* as often as 999; the label decides */
    cr_expect_str_eq(best[1].label, "000999");
    cr_expect_str_eq(best[2].label, "000996");
    cr_expect_eq(best[0].count, 500);
    cr_expect_eq(top.missed, 0);
    simulate_top_deinit(&top);
}

Test(simulate_top, frequent_ones_survive_many_rare_ones)
{
    struct simulate_top top;
    struct simulate_top_entry best[5];
    simulate_top_init(&top);
    for (uint64_t i = 0; i < 200000; i++) {
        add(&top, 100 + i);
        if (i % 10 == 0) {
            add(&top, i / 10 % 5);
        }
    }
    cr_assert_eq(simulate_top_best(&top, best, 5), 5);
    for (int i = 0; i < 5; i++) {
        cr_expect_lt(strtoul(best[i].label, NULL, 10), 5, "%s", best[i].label);
        cr_expect_leq(best[i].count, 4000);
        cr_expect_geq(best[i].count + top.missed, 4000);
    }
    cr_expect_gt(top.missed, 0);
    simulate_top_deinit(&top);
}

static uint64_t sum(const struct simulate_series *series)
{
    uint64_t total = 0;
    for (size_t i = 0; i < SIMULATE_SERIES_BINS; i++) {
        total += series->bins[i];
    }
    return total;
}

/* Instants of any span, also backwards: nothing is lost, and each lies in the bin it is told. */
static void check_span(int64_t first_ns, int64_t step_ns, int count)
{
    struct simulate_series *series = calloc(1, sizeof(*series));
    struct simulate_axis axis = {.used = false};
    for (int i = 0; i < count; i++) {
        int64_t at = first_ns + step_ns * i;
        size_t bin = simulate_series_bin(&axis, &series, 1, at);
        int64_t width = simulate_series_width_ns(&axis);
        cr_assert_lt(bin, SIMULATE_SERIES_BINS);
        int64_t start = (axis.first + (int64_t)bin) * width;
        cr_assert(start <= at && at - start < width, "%lld in bin %zu of %lld",
                  (long long)at, bin, (long long)width);
        series->bins[bin]++;
        cr_assert_eq(sum(series), (uint64_t)i + 1);
    }
    simulate_series_coarsen(&axis, &series, 1, 100);
    cr_expect_eq(sum(series), (uint64_t)count);
    for (size_t i = 100; i < SIMULATE_SERIES_BINS; i++) {
        cr_expect_eq(series->bins[i], 0);
    }
    free(series);
}

Test(simulate_series, any_span_fits)
{
    check_span(1431857100000000000, 30 * INT64_C(1000000000), 10000);
    check_span(1431857100000000000, -30 * INT64_C(1000000000), 10000);
    check_span(0, 1, 1000);
    check_span(-500, 1, 1000);
    check_span(-1431857100000000000, 86400 * INT64_C(1000000000), 20000);
}

static const char *text_of(struct buf *buf)
{
    buf_append_byte(buf, 0);
    return (const char *)buf->data + buf->start;
}

Test(simulate_table, columns_align_by_characters)
{
    struct simulate_table table;
    struct buf out;
    buf_init(&out, 0);
    simulate_table_init(&table, "lrr");
    simulate_table_cell(&table, "%s", "n\xC3\xA4me");
    simulate_table_cell(&table, "%s", "count");
    simulate_table_cell(&table, "%s", "share");
    simulate_table_cell(&table, "%s", "abcdef");
    simulate_table_count(&table, "", 1234567);
    simulate_table_share(&table, 1, 8);
    simulate_table_append(&table, " ", "<", ">", &out);
    cr_expect_str_eq(text_of(&out), " <n\xC3\xA4me        count   share>\n"
                                    " abcdef  1,234,567  12.5 %\n");
    simulate_table_deinit(&table);
    buf_deinit(&out);
}

Test(simulate_table, durations_round_up)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {{0, "0s"},
                {999, "999ns"},
                {1000001, "2ms"},
                {1000000001, "2s"},
                {3600000000000, "1h"},
                {86400000000001, "1d1m"},
                {604800000000001, "1w1h"},
                {INT64_MAX, "292 years"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out;
        buf_init(&out, 0);
        simulate_table_append_duration(&out, rows[i].ns);
        cr_expect_str_eq(text_of(&out), rows[i].text);
        buf_deinit(&out);
    }
}
