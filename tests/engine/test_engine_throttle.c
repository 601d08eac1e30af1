/* CL.THROTTLE in the engine: counted, kept over reloads, bounded as everything else. */
#include "engine_fixture.h"

#include "engine/engine_throttle.h"

static const char one[] = "limits: {a: {algorithm: fixed_window, limit: 1, window: 1h}}\n"
                          "routes: {'*': [a]}\n";
static const char two[] = "limits:\n"
                          "  b: {algorithm: sliding_window_log, limit: 1, window: 1h}\n"
                          "  a: {algorithm: fixed_window, limit: 2, window: 1h}\n"
                          "  c: {algorithm: token_bucket, limit: 1, window: 1h}\n"
                          "routes: {'*': [a, b, c]}\n";

static const struct engine_throttle_numbers five = {
    .max_burst = 4, .count = 10, .period_s = 50, .quantity = 1};

static struct engine_throttle_answer ask(struct fixture *f, const char *key, uint64_t quantity,
                                         int64_t now_ns)
{
    struct engine_throttle_numbers numbers = five;
    struct engine_throttle throttle = {.set = NULL};
    struct engine_throttle_answer answer;
    struct request_error error;
    numbers.quantity = quantity;
    engine_enter(f->worker);
    engine_throttle_prepare(f->worker, slice_text(key), &numbers, &throttle);
    cr_assert(engine_throttle_decide(f->worker, &throttle, now_ns, &answer, &error));
    engine_leave(f->worker);
    return answer;
}

static void reload(struct fixture *f, int64_t now_ns, const char *text)
{
    struct policy_set *set = fixture_parse(f, text);
    cr_assert_eq(engine_reload(f->engine, &set, now_ns, NULL), STATUS_OK);
}

Test(engine_throttle, reloads_change_nothing)
{
    struct fixture f;
    fixture_open(&f, one);
    cr_expect_eq(ask(&f, "k", 3, AT(0)).remaining, 2);
    reload(&f, AT(1), two);
    cr_expect_eq(ask(&f, "k", 0, AT(1)).remaining, 2);
    cr_expect_eq(ask(&f, "k", 0, AT(1)).reset_after_ns, SECONDS(14));
    while (engine_sweep(f.engine, AT(2), 1000)) {
    }
    reload(&f, AT(3), one);
    while (engine_sweep(f.engine, AT(4), 1000)) {
    }
    struct engine_throttle_answer answer = ask(&f, "k", 3, AT(4));
    cr_expect(answer.limited);
    cr_expect_eq(answer.retry_after_ns, SECONDS(1));
    cr_expect_eq(answer.reset_after_ns, SECONDS(11));
    cr_expect_not(ask(&f, "k", 3, AT(5)).limited);
    fixture_close(&f);
}

/* Prepared before a reload, decided after it: under the number it has there. */
Test(engine_throttle, a_reload_between_prepare_and_decide)
{
    struct fixture f;
    struct engine_throttle throttle = {.set = NULL};
    struct engine_throttle_answer answer;
    struct request_error error;
    fixture_open(&f, one);
    engine_enter(f.worker);
    engine_throttle_prepare(f.worker, slice_text("k"), &five, &throttle);
    reload(&f, AT(0), two);
    cr_assert(engine_throttle_decide(f.worker, &throttle, AT(0), &answer, &error));
    cr_expect_eq(answer.remaining, 4);
    engine_leave(f.worker);
    cr_expect_eq(ask(&f, "k", 1, AT(0)).remaining, 3);
    while (engine_sweep(f.engine, AT(1), 1000)) {
    }
    engine_enter(f.worker);
    uint32_t forgotten;
    reload(&f, AT(1), one);
    cr_assert(engine_throttle_forget(f.worker, slice_text("k"), AT(1), &forgotten, &error));
    cr_expect_eq(forgotten, 1);
    engine_leave(f.worker);
    cr_expect_eq(ask(&f, "k", 1, AT(1)).remaining, 4);
    fixture_close(&f);
}

Test(engine_throttle, empty_keys_are_swept)
{
    struct fixture f;
    struct store_stats stats;
    fixture_open(&f, one);
    (void)ask(&f, "k", 1, AT(0));
    (void)ask(&f, "long", 5, AT(0));
    store_stats(f.store, &stats);
    cr_expect_eq(stats.counters, 2);
    for (int i = 0; i < 1000; i++) {
        (void)engine_sweep(f.engine, AT(7), 1000);
    }
    store_stats(f.store, &stats);
    cr_expect_eq(stats.counters, 1);
    for (int i = 0; i < 1000; i++) {
        (void)engine_sweep(f.engine, AT(27), 1000);
    }
    store_stats(f.store, &stats);
    cr_expect_eq(stats.counters, 0);
    fixture_close(&f);
}

Test(engine_throttle, decisions_are_counted)
{
    struct fixture f;
    fixture_open(&f, one);
    (void)ask(&f, "k", 5, AT(0));
    (void)ask(&f, "k", 0, AT(0));
    (void)ask(&f, "k", 1, AT(0));
    (void)ask(&f, "k", 6, AT(0));
    cr_expect_eq(metrics_read_decisions(f.metrics, METRICS_NO_LIMIT, METRICS_ALLOWED), 2);
    cr_expect_eq(metrics_read_decisions(f.metrics, METRICS_NO_LIMIT, METRICS_REFUSED), 1);
    cr_expect_eq(metrics_read_decisions(f.metrics, METRICS_NO_LIMIT, METRICS_COST_EXCEEDS), 1);
    cr_expect_eq(metrics_read_no_limit(f.metrics), 0);
    fixture_close(&f);
}

Test(engine_throttle, a_full_store_refuses_new_keys)
{
    struct fixture f;
    fixture_open_store(&f, one, (struct store_config){.shards = 1, .max_counters = 1});
    cr_expect_not(ask(&f, "k", 1, AT(0)).limited);
    struct engine_throttle_answer answer = ask(&f, "other", 1, AT(0));
    cr_expect(answer.limited);
    cr_expect_not(answer.never);
    cr_expect_eq(answer.limit, 5);
    cr_expect_eq(answer.remaining, 0);
    cr_expect_eq(answer.retry_after_ns, SECONDS(1));
    cr_expect_eq(answer.reset_after_ns, 0);
    cr_expect_eq(metrics_read_decisions(f.metrics, METRICS_NO_LIMIT, METRICS_STORE_FULL), 1);
    cr_expect_eq(metrics_read_counters_refused(f.metrics, METRICS_NO_LIMIT), 1);
    cr_expect_eq(ask(&f, "other", 0, AT(0)).remaining, 5);
    cr_expect_not(ask(&f, "k", 1, AT(0)).limited);
    fixture_close(&f);
}

/* Keys that refuse stay; of the others the one nearest to empty goes. */
Test(engine_throttle, evicted_where_the_operator_wants_it)
{
    struct fixture f;
    fixture_open_store(&f, one, (struct store_config){
                                    .shards = 1, .max_counters = 2, .when_full = STORE_EVICT});
    cr_expect_not(ask(&f, "used up", 5, AT(0)).limited);
    cr_expect_not(ask(&f, "k", 1, AT(0)).limited);
    cr_expect_not(ask(&f, "other", 5, AT(0)).limited);
    cr_expect_eq(metrics_read_counters_evicted(f.metrics, METRICS_NO_LIMIT), 1);
    cr_expect_eq(ask(&f, "k", 0, AT(0)).remaining, 5);
    cr_expect_eq(ask(&f, "used up", 0, AT(0)).remaining, 0);
    cr_expect(ask(&f, "k", 1, AT(0)).limited);
    fixture_close(&f);
}
