#include "base/limits.h"
#include "base/metrics.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>

Test(metrics, workers_add_up)
{
    struct metrics *metrics = metrics_create(3);
    uint32_t login = metrics_limit(metrics, slice_text("login"));
    cr_assert_neq(login, METRICS_NO_LIMIT);
    for (uint32_t i = 0; i < 3; i++) {
        struct metrics_worker *worker = metrics_worker(metrics, i);
        for (uint32_t j = 0; j <= i; j++) {
            metrics_decision(worker, login, METRICS_REFUSED);
            metrics_no_limit(worker);
            metrics_request_error(worker, METRICS_HTTP, 3);
            metrics_counter_evicted(worker, login);
        }
        metrics_decision(worker, METRICS_NO_LIMIT, METRICS_ALLOWED);
        metrics_request(worker, METRICS_NATIVE, METRICS_BATCH, 10 + i);
        metrics_counter_refused(worker, login);
    }
    cr_expect_eq(metrics_read_decisions(metrics, login, METRICS_REFUSED), 6);
    cr_expect_eq(metrics_read_decisions(metrics, login, METRICS_ALLOWED), 0);
    cr_expect_eq(metrics_read_decisions(metrics, METRICS_NO_LIMIT, METRICS_ALLOWED), 3);
    cr_expect_eq(metrics_read_no_limit(metrics), 6);
    cr_expect_eq(metrics_read_request_errors(metrics, METRICS_HTTP, 3), 6);
    cr_expect_eq(metrics_read_request_errors(metrics, METRICS_HTTP, 5), 0);
    cr_expect_eq(metrics_read_request_errors(metrics, METRICS_NATIVE, 3), 0);
    cr_expect_eq(metrics_read_requests(metrics, METRICS_NATIVE, METRICS_BATCH), 33);
    cr_expect_eq(metrics_read_requests(metrics, METRICS_NATIVE, METRICS_RESET), 0);
    cr_expect_eq(metrics_read_counters_evicted(metrics, login), 6);
    cr_expect_eq(metrics_read_counters_refused(metrics, login), 3);
    cr_expect_eq(metrics_read_counters_refused(metrics, METRICS_NO_LIMIT), 0);
    metrics_destroy(&metrics);
    cr_expect_null(metrics);
    metrics_destroy(&metrics);
}

Test(metrics, a_code_that_is_none_counts_as_unknown)
{
    struct metrics *metrics = metrics_create(1);
    struct metrics_worker *worker = metrics_worker(metrics, 0);
    metrics_request_error(worker, METRICS_GRPC, -1);
    metrics_request_error(worker, METRICS_GRPC, METRICS_CODES);
    metrics_request_error(worker, METRICS_GRPC, METRICS_CODES - 1);
    cr_expect_eq(metrics_read_request_errors(metrics, METRICS_GRPC, 2), 2);
    cr_expect_eq(metrics_read_request_errors(metrics, METRICS_GRPC, METRICS_CODES - 1), 1);
    metrics_destroy(&metrics);
}

Test(metrics, connections)
{
    struct metrics *metrics = metrics_create(2);
    struct metrics_worker *one = metrics_worker(metrics, 0);
    struct metrics_worker *two = metrics_worker(metrics, 1);
    metrics_connection_opened(one, METRICS_NATIVE);
    metrics_connection_opened(one, METRICS_NATIVE);
    metrics_connection_opened(two, METRICS_NATIVE);
    metrics_connection_closed(one, METRICS_NATIVE);
    metrics_connection_refused(two, METRICS_RESP);
    cr_expect_eq(metrics_read_connections(metrics, METRICS_NATIVE), 2);
    cr_expect_eq(metrics_read_connections_opened(metrics, METRICS_NATIVE), 3);
    cr_expect_eq(metrics_read_connections_refused(metrics, METRICS_RESP), 1);
    cr_expect_eq(metrics_read_connections_refused(metrics, METRICS_NATIVE), 0);
    cr_expect_eq(metrics_read_connections(metrics, METRICS_HTTP), 0);
    metrics_destroy(&metrics);
}

Test(metrics, reloads)
{
    struct metrics *metrics = metrics_create(1);
    cr_expect_eq(metrics_read_reload_ns(metrics, true), 0);
    metrics_reload(metrics, true, 5);
    metrics_reload(metrics, true, 6);
    metrics_reload(metrics, false, 7);
    cr_expect_eq(metrics_read_reloads(metrics, true), 2);
    cr_expect_eq(metrics_read_reloads(metrics, false), 1);
    cr_expect_eq(metrics_read_reload_ns(metrics, true), 6);
    cr_expect_eq(metrics_read_reload_ns(metrics, false), 7);
    metrics_destroy(&metrics);
}

Test(metrics, a_name_keeps_its_number)
{
    struct metrics *metrics = metrics_create(2);
    char name[32];
    cr_expect_eq(metrics_limit(metrics, slice_text("")), METRICS_NO_LIMIT);
    cr_expect_eq(metrics_limit_count(metrics), 1);
    cr_expect_eq(metrics_limit_name(metrics, METRICS_NO_LIMIT).size, 0);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= 20000; i++) {
            (void)snprintf(name, sizeof(name), "limit-%u", i);
            cr_assert_eq(metrics_limit(metrics, slice_text(name)), i);
        }
    }
    cr_expect_eq(metrics_limit_count(metrics), 20001);
    for (uint32_t i = 1; i <= 20000; i++) {
        (void)snprintf(name, sizeof(name), "limit-%u", i);
        cr_assert(slice_equal_text(metrics_limit_name(metrics, i), name));
        metrics_decision(metrics_worker(metrics, i & 1), i, METRICS_ALLOWED);
    }
    for (uint32_t i = 1; i <= 20000; i++) {
        cr_assert_eq(metrics_read_decisions(metrics, i, METRICS_ALLOWED), 1);
    }
    metrics_destroy(&metrics);
}

Test(metrics, names_are_bytes)
{
    struct metrics *metrics = metrics_create(1);
    uint32_t a = metrics_limit(metrics, slice_make("a\0b", 3));
    uint32_t b = metrics_limit(metrics, slice_make("a\0c", 3));
    uint32_t c = metrics_limit(metrics, slice_make("a", 1));
    cr_expect(a != b && b != c && a != c);
    cr_expect_eq(metrics_limit(metrics, slice_make("a\0b", 3)), a);
    metrics_destroy(&metrics);
}

Test(metrics, names_beyond_the_bound_count_under_none)
{
    struct metrics *metrics = metrics_create(0);
    char name[32];
    for (uint32_t i = 1; i < LIMITS_METRIC_LIMITS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "%u", i);
        cr_assert_eq(metrics_limit(metrics, slice_text(name)), i);
    }
    cr_expect_eq(metrics_limit(metrics, slice_text("one more")), METRICS_NO_LIMIT);
    cr_expect_eq(metrics_limit(metrics, slice_text("12345")), 12345);
    metrics_destroy(&metrics);
}

Test(metrics, durations_fall_into_the_bucket_that_holds_them)
{
    for (uint32_t bucket = 0; bucket < METRICS_DURATION_BUCKETS; bucket++) {
        int64_t last = metrics_duration_bound_ns(bucket);
        int64_t first = bucket == 0 ? 0 : metrics_duration_bound_ns(bucket - 1) + 1;
        cr_assert_lt(first, last);
        int64_t inside[] = {first, first + (last - first) / 3, last - (last - first) / 3, last};
        struct metrics *metrics = metrics_create(1);
        for (size_t i = 0; i < 4; i++) {
            metrics_duration(metrics_worker(metrics, 0), METRICS_RESP, inside[i], 1);
        }
        cr_expect_eq(metrics_read_duration_bucket(metrics, METRICS_RESP, bucket), 4, "%u", bucket);
        cr_expect_eq(metrics_read_duration_count(metrics, METRICS_RESP), 4);
        cr_expect_eq(metrics_read_duration_count(metrics, METRICS_HTTP), 0);
        metrics_destroy(&metrics);
    }
    cr_expect_eq(metrics_duration_bound_ns(0), 1000);
    cr_expect_eq(metrics_duration_bound_ns(METRICS_DURATION_BUCKETS - 2), 1000000000);
}

Test(metrics, durations_are_summed_with_their_count)
{
    struct metrics *metrics = metrics_create(2);
    metrics_duration(metrics_worker(metrics, 0), METRICS_NATIVE, 1500, 10);
    metrics_duration(metrics_worker(metrics, 1), METRICS_NATIVE, 2000, 1);
    metrics_duration(metrics_worker(metrics, 1), METRICS_NATIVE, -5, 1);
    cr_expect_eq(metrics_read_duration_sum_ns(metrics, METRICS_NATIVE), 17000);
    cr_expect_eq(metrics_read_duration_bucket(metrics, METRICS_NATIVE, 0), 1);
    cr_expect_eq(metrics_read_duration_bucket(metrics, METRICS_NATIVE, 1), 11);
    metrics_destroy(&metrics);
}

/* Workers count while the control thread registers names and a reader adds up. */
enum { RACE_WORKERS = 3, RACE_COUNTS = 200000 };

struct race {
    struct metrics_worker *worker;
    uint32_t limit;
};

static void *count_all(void *argument)
{
    const struct race *race = argument;
    for (int i = 0; i < RACE_COUNTS; i++) {
        metrics_decision(race->worker, race->limit, METRICS_ALLOWED);
        metrics_duration(race->worker, METRICS_NATIVE, i, 1);
    }
    return NULL;
}

Test(metrics, nothing_is_lost_while_names_are_added)
{
    struct metrics *metrics = metrics_create(RACE_WORKERS);
    uint32_t limit = metrics_limit(metrics, slice_text("shared"));
    pthread_t threads[RACE_WORKERS];
    struct race races[RACE_WORKERS];
    for (uint32_t i = 0; i < RACE_WORKERS; i++) {
        races[i] = (struct race){metrics_worker(metrics, i), limit};
        cr_assert_eq(pthread_create(&threads[i], NULL, count_all, &races[i]), 0);
    }
    uint64_t before = 0;
    for (int i = 0; i < 5000; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "other-%d", i);
        cr_assert_neq(metrics_limit(metrics, slice_text(name)), METRICS_NO_LIMIT);
        uint64_t now = metrics_read_decisions(metrics, limit, METRICS_ALLOWED);
        cr_assert_geq(now, before, "a count went back");
        before = now;
    }
    for (uint32_t i = 0; i < RACE_WORKERS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
    uint64_t all = (uint64_t)RACE_WORKERS * RACE_COUNTS;
    cr_expect_eq(metrics_read_decisions(metrics, limit, METRICS_ALLOWED), all);
    cr_expect_eq(metrics_read_duration_count(metrics, METRICS_NATIVE), all);
    metrics_destroy(&metrics);
}
