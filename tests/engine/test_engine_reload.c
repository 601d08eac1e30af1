/* Reloads: what stays used, what starts fresh and why, and requests that meet one half-way. */
#include "engine_fixture.h"

/* RB-29 */
Test(engine_reload, harmless_edits_hand_out_nothing)
{
    static const char *const edits[] = {
        "limits:\n  a: {algorithm: token_bucket, limit: 1, window: 1h, burst: 5}\n"
        "routes:\n  \"*\": [a]\n",
        "# a comment\nlimits:\n  a: {algorithm: token_bucket, limit: 1, window: 60m, burst: 5}\n"
        "routes:\n  \"*\": [a]\n",
        "limits:\n  b: {algorithm: fixed_window, limit: 9, window: 1m}\n"
        "  a: {window: 3600s, algorithm: token_bucket, burst: \"5\", limit: 1}\n"
        "routes:\n  \"other\": [b]\n  \"*\": [a]\n",
        "limits:\n  a: {algorithm: token_bucket, limit: 1, window: 1h, burst: 5, shadow: false,\n"
        "      count_by: [key], plans: {by: plan, values: {pro: {limit: 7}}}}\n"
        "routes:\n  \"*\": [a]\n  \"x\": [a]\n",
    };
    struct fixture f;
    struct buf log;
    fixture_open(&f, edits[0]);
    buf_init(&log, 0);
    for (int left = 4; left >= 0; left--) {
        EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "r"), left);
    }
    for (int i = 1; i <= 20; i++) {
        fixture_reload_log(&f, AT(i), edits[i % 4], &log);
    }
    EXPECT_REFUSED(fixture_ask(&f, AT(21), "k", "r"), 0, SECONDS(3579));
    cr_expect_eq(log.size, 0, "%.*s", (int)log.size, (const char *)buf_slice(&log).data);
    buf_deinit(&log);
    fixture_close(&f);
}

#define WINDOW_OF(limit)                                                                          \
    "limits:\n  a: {algorithm: fixed_window, limit: " limit ", window: 60s}\n"                    \
    "routes:\n  \"*\": [a]\n"

/* RB-30 */
Test(engine_reload, a_new_limit_applies_at_once)
{
    struct fixture f;
    fixture_open(&f, WINDOW_OF("50"));
    for (int left = 49; left >= 46; left--) {
        EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "r"), left);
    }
    fixture_reload(&f, AT(10), WINDOW_OF("20"));
    EXPECT_ALLOWED(fixture_ask(&f, AT(10), "k", "r"), 15);
    fixture_reload(&f, AT(20), WINDOW_OF("3"));
    EXPECT_REFUSED(fixture_ask(&f, AT(20), "k", "r"), 0, SECONDS(40));
    struct decision look = fixture_look(&f, AT(20), "k", "r");
    EXPECT_ALLOWED(look, 0);
    cr_expect_eq(look.shown.limit, 3u);
    fixture_reload(&f, AT(30), WINDOW_OF("8"));
    EXPECT_ALLOWED(fixture_ask(&f, AT(30), "k", "r"), 2);
    fixture_reload(&f, AT(40), WINDOW_OF("50"));
    EXPECT_ALLOWED(fixture_ask(&f, AT(40), "k", "r"), 43);
    fixture_reload(&f, AT(60), WINDOW_OF("8"));
    EXPECT_ALLOWED(fixture_ask(&f, AT(60), "k", "r"), 7);
    fixture_close(&f);
}

#define LIMIT_OF(numbers) "limits:\n  a: {" numbers "}\nroutes:\n  \"*\": [a]\n"

Test(engine_reload, a_log_keeps_what_is_inside_the_new_window)
{
    struct fixture f;
    fixture_open(&f, LIMIT_OF("algorithm: sliding_window_log, limit: 3, window: 60s"));
    for (int t = 0; t < 3; t++) {
        EXPECT_ALLOWED(fixture_ask(&f, AT(t), "k", "r"), 2 - t);
    }
    fixture_reload(&f, AT(15), LIMIT_OF("algorithm: sliding_window_log, limit: 3, window: 10s"));
    EXPECT_ALLOWED(fixture_ask(&f, AT(15), "k", "r"), 2);
    EXPECT_ALLOWED(fixture_ask(&f, AT(16), "k", "r"), 1);
    fixture_reload(&f, AT(17), LIMIT_OF("algorithm: sliding_window_log, limit: 2, window: 1m"));
    EXPECT_REFUSED(fixture_ask(&f, AT(18), "k", "r"), 0, SECONDS(57)); /* 15 + 60 */
    fixture_close(&f);
}

Test(engine_reload, a_window_of_another_length_takes_the_use_over)
{
    struct fixture f;
    fixture_open(&f, LIMIT_OF("algorithm: fixed_window, limit: 10, window: 60s"));
    for (int i = 0; i < 4; i++) {
        (void)fixture_ask(&f, AT(0), "k", "r");
    }
    fixture_reload(&f, AT(10), LIMIT_OF("algorithm: fixed_window, limit: 6, window: 30s"));
    EXPECT_ALLOWED(fixture_ask(&f, AT(10), "k", "r"), 1);
    EXPECT_ALLOWED(fixture_ask(&f, AT(30), "k", "r"), 5);
    fixture_close(&f);
}

Test(engine_reload, a_sliding_counters_use_becomes_the_current_windows)
{
    struct fixture f;
    fixture_open(&f, LIMIT_OF("algorithm: sliding_window_counter, limit: 10, window: 60s"));
    for (int i = 0; i < 4; i++) {
        (void)fixture_ask(&f, AT(0), "k", "r");
    }
    /* at 70: 4 * 50 / 60, rounded up: 4 */
    fixture_reload(&f, AT(70), LIMIT_OF("algorithm: sliding_window_counter, limit: 10, window: "
                                        "20s"));
    EXPECT_ALLOWED(fixture_ask(&f, AT(70), "k", "r"), 5);
    EXPECT_ALLOWED(fixture_look(&f, AT(80), "k", "r"), 5);
    EXPECT_ALLOWED(fixture_look(&f, AT(90), "k", "r"), 7); /* 10 - 5 / 2 */
    fixture_close(&f);
}

static void bucket_drains_by_the_new_numbers(const char *old_numbers, const char *new_numbers)
{
    struct fixture f;
    fixture_open(&f, old_numbers);
    struct request six = fixture_costing("k", "r", 6);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &six), 0);
    struct request twin = fixture_costing("twin", "r", 6);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &twin), 0);
    fixture_reload(&f, AT(30), new_numbers); /* 3 are used */
    EXPECT_ALLOWED(fixture_ask(&f, AT(30), "k", "r"), 2);
    struct request three = fixture_costing("k", "r", 3);
    EXPECT_REFUSED(fixture_decide(&f, AT(30), &three), 2, SECONDS(100));
    /* untouched since: 3 used at 30, one drained by 130 */
    EXPECT_ALLOWED(fixture_ask(&f, AT(130), "twin", "r"), 3);
    fixture_close(&f);
}

Test(engine_reload, a_bucket_drains_by_the_new_numbers_from_the_reload_on)
{
    bucket_drains_by_the_new_numbers(LIMIT_OF("algorithm: token_bucket, limit: 6, window: 60s"),
                                     LIMIT_OF("algorithm: token_bucket, limit: 6, window: 600s"));
}

Test(engine_reload, a_queue_drains_by_the_new_numbers_from_the_reload_on)
{
    bucket_drains_by_the_new_numbers(LIMIT_OF("algorithm: leaky_bucket, limit: 6, window: 60s"),
                                     LIMIT_OF("algorithm: leaky_bucket, limit: 6, window: 600s"));
}

Test(engine_reload, use_above_a_buckets_new_burst_is_forgiven)
{
    struct fixture f;
    fixture_open(&f, LIMIT_OF("algorithm: token_bucket, limit: 6, window: 60s"));
    struct request six = fixture_costing("k", "r", 6);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &six), 0);
    fixture_reload(&f, AT(0), LIMIT_OF("algorithm: token_bucket, limit: 6, window: 60s, burst: 2"));
    EXPECT_REFUSED(fixture_ask(&f, AT(0), "k", "r"), 0, SECONDS(10));
    fixture_close(&f);
}

#define PLANS_OF(values)                                                                          \
    "limits:\n  a: {algorithm: token_bucket, limit: 6, window: 60s,\n"                            \
    "      plans: {by: plan, values: " values "}}\n"                                              \
    "routes:\n  \"*\": [a]\n"

static struct decision ask_with_plan(struct fixture *f, int64_t now_ns, const char *plan,
                                     uint64_t cost)
{
    struct request request = fixture_costing("k", "r", cost);
    fixture_attribute(&request, "plan", plan);
    return fixture_decide(f, now_ns, &request);
}

Test(engine_reload, a_bucket_goes_on_under_the_same_plan_value)
{
    struct fixture f;
    fixture_open(&f, PLANS_OF("{free: {limit: 6}, pro: {limit: 60}}"));
    EXPECT_ALLOWED(ask_with_plan(&f, AT(0), "pro", 60), 0);
    fixture_reload(&f, AT(10), PLANS_OF("{pro: {limit: 120, burst: 60}, free: {limit: 6}}"));
    EXPECT_ALLOWED(ask_with_plan(&f, AT(15), "pro", 1), 19); /* 60 - 10 - 2 * 5, and 1 more */
    fixture_close(&f);
}

Test(engine_reload, a_plan_value_that_is_gone_leaves_the_limits_own_numbers)
{
    static const char *const files[] = {
        PLANS_OF("{free: {limit: 6}}"),
        PLANS_OF("{free: {limit: 6}, pro: {unlimited: true}}"),
        PLANS_OF("{free: {limit: 6}, pro: {blocked: true}}"),
    };
    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct fixture f;
        fixture_open(&f, PLANS_OF("{free: {limit: 6}, pro: {limit: 60}}"));
        EXPECT_ALLOWED(ask_with_plan(&f, AT(0), "pro", 60), 0);
        fixture_reload(&f, AT(10), files[i]); /* 50 are used, 44 of them forgiven */
        EXPECT_ALLOWED(ask_with_plan(&f, AT(20), "free", 1), 0);
        fixture_close(&f);
    }
}

Test(engine_reload, plans_by_another_attribute_are_other_plans)
{
    struct fixture f;
    fixture_open(&f, PLANS_OF("{pro: {limit: 60}}"));
    EXPECT_ALLOWED(ask_with_plan(&f, AT(0), "pro", 60), 0);
    fixture_reload(&f, AT(10),
                   "limits:\n  a: {algorithm: token_bucket, limit: 6, window: 60s,\n"
                   "      plans: {by: tier, values: {pro: {limit: 60}}}}\n"
                   "routes:\n  \"*\": [a]\n");
    EXPECT_ALLOWED(ask_with_plan(&f, AT(20), "pro", 1), 0); /* its own: 6 used at 10, 5 at 20 */
    fixture_close(&f);
}

#define OVERRIDES_OF(list)                                                                        \
    "limits:\n  a: {algorithm: token_bucket, limit: 6, window: 60s,\n"                            \
    "      overrides: [" list "]}\nroutes:\n  \"*\": [a]\n"

Test(engine_reload, a_bucket_goes_on_under_the_override_with_the_same_match)
{
    struct fixture f;
    fixture_open(&f, OVERRIDES_OF("{match: {key: k}, limit: 60}, "
                                  "{match: {key: \"x*\"}, limit: 9}"));
    struct request all = fixture_costing("k", "r", 60);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &all), 0);
    fixture_reload(&f, AT(10), OVERRIDES_OF("{match: {key: \"x*\"}, limit: 9}, "
                                            "{match: {key: \"z\"}, limit: 1}, "
                                            "{match: {key: k}, limit: 120, burst: 60}"));
    EXPECT_ALLOWED(fixture_ask(&f, AT(15), "k", "r"), 19);
    fixture_reload(&f, AT(15), OVERRIDES_OF("{match: {key: \"x*\"}, limit: 9}"));
    EXPECT_REFUSED(fixture_ask(&f, AT(15), "k", "r"), 0, SECONDS(10));
    fixture_close(&f);
}

Test(engine_reload, of_overrides_with_the_same_match_each_goes_to_its_own)
{
    struct fixture f;
    fixture_open(&f, OVERRIDES_OF("{match: {key: k}, limit: 60, until: 2026-01-01T00:00:05Z}, "
                                  "{match: {key: k}, limit: 120, burst: 60}"));
    struct request all = fixture_costing("k", "r", 60);
    EXPECT_ALLOWED(fixture_decide(&f, AT(6), &all), 0); /* the second: 2 a second */
    fixture_reload(&f, AT(11), OVERRIDES_OF("{match: {key: k}, limit: 6, "
                                            "until: 2026-01-01T00:00:05Z}, "
                                            "{match: {key: k}, limit: 240, burst: 60}"));
    /* 50 used at 11; 4 a second since */
    EXPECT_ALLOWED(fixture_ask(&f, AT(16), "k", "r"), 29);
    fixture_reload(&f, AT(16), OVERRIDES_OF("{match: {key: k}, limit: 60}"));
    EXPECT_ALLOWED(fixture_ask(&f, AT(17), "k", "r"), 29); /* 31 used at 16; 1 a second */
    fixture_close(&f);
}

Test(engine_reload, overrides_and_plans_may_change_without_a_counter_being_lost)
{
    struct fixture f;
    fixture_open(&f, OVERRIDES_OF("{match: {key: k}, limit: 3, until: 2026-01-01T00:00:50Z}"));
    struct request three = fixture_costing("k", "r", 3);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &three), 0);
    /* in force while now < until; 3 per minute drain till then */
    EXPECT_REFUSED(fixture_ask(&f, AT(19), "k", "r"), 0, SECONDS(1));
    EXPECT_ALLOWED(fixture_ask(&f, AT(20), "k", "r"), 0);
    struct decision look = fixture_look(&f, AT(50) - 1, "k", "r");
    cr_expect_eq(look.shown.limit, 3u);
    look = fixture_look(&f, AT(50), "k", "r");
    cr_expect_eq(look.shown.limit, 6u);
    cr_expect_eq(look.shown.remaining, 4u); /* 3 - 1.5 used */
    fixture_close(&f);
}

static void expect_fresh(const char *before, const char *after, const char *line)
{
    struct fixture f;
    struct buf log;
    fixture_open(&f, before);
    buf_init(&log, 0);
    struct request request = fixture_request("192.0.2.1", "r");
    fixture_attribute(&request, "ip", "192.0.2.1");
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &request), 2);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &request), 1);
    fixture_reload_log(&f, AT(1), after, &log);
    cr_expect(slice_equal_text(buf_slice(&log), line), "%.*s", (int)log.size,
              (const char *)buf_slice(&log).data);
    EXPECT_ALLOWED(fixture_decide(&f, AT(1), &request), 2);
    buf_deinit(&log);
    fixture_close(&f);
}

#define COUNTED(by) LIMIT_OF("algorithm: fixed_window, limit: 3, window: 60s, " by)

Test(engine_reload, what_starts_fresh_says_why)
{
    expect_fresh(LIMIT_OF("algorithm: token_bucket, limit: 3, window: 60s"),
                 LIMIT_OF("algorithm: leaky_bucket, limit: 3, window: 60s"),
                 "limit \"a\": starts fresh: algorithm changed from token_bucket to "
                 "leaky_bucket\n");
    expect_fresh(COUNTED("count_by: [key]"), COUNTED("count_by: [ip]"),
                 "limit \"a\": starts fresh: count_by changed from [key] to [ip]\n");
    expect_fresh(COUNTED("count_by: [key, ip]"), COUNTED("count_by: [ip, key]"),
                 "limit \"a\": starts fresh: count_by changed from [key, ip] to [ip, key]\n");
    expect_fresh(COUNTED("count_by: [route]"), COUNTED("count_by: []"),
                 "limit \"a\": starts fresh: count_by changed from [route] to []\n");
    expect_fresh(COUNTED("ip_prefix: {}"), COUNTED("ip_prefix: {v6: 56}"),
                 "limit \"a\": starts fresh: ip_prefix changed from {of: key, v4: 32, v6: 64} to "
                 "{of: key, v4: 32, v6: 56}\n");
    expect_fresh(COUNTED("ip_prefix: {}"), COUNTED(""),
                 "limit \"a\": starts fresh: ip_prefix changed from {of: key, v4: 32, v6: 64} to "
                 "none\n");
}

Test(engine_reload, a_limit_that_is_gone_comes_back_fresh)
{
    struct fixture f;
    fixture_open(&f, WINDOW_OF("3"));
    struct request three = fixture_costing("k", "r", 3);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &three), 0);
    fixture_reload(&f, AT(1), "limits:\n  b: {algorithm: fixed_window, limit: 5, window: 60s}\n"
                              "routes:\n  \"*\": [b]\n");
    EXPECT_ALLOWED(fixture_ask(&f, AT(2), "k", "r"), 4);
    fixture_reload(&f, AT(3), WINDOW_OF("3"));
    EXPECT_ALLOWED(fixture_ask(&f, AT(4), "k", "r"), 2);
    fixture_close(&f);
}

Test(engine_reload, a_request_prepared_before_is_decided_by_the_new_file_alone)
{
    struct fixture f;
    fixture_open(&f, WINDOW_OF("3"));
    struct request request = fixture_request("k", "r");
    struct engine_plan plans[3];
    struct decision decision;
    struct request_error error = {0};

    engine_enter(f.worker);
    for (int i = 0; i < 3; i++) {
        cr_assert(engine_prepare(f.worker, &request, ENGINE_DECIDE, AT(0), &plans[i], &error));
    }
    cr_assert(engine_decide(f.worker, &plans[0], AT(0), &decision, &error));
    EXPECT_ALLOWED(decision, 2);
    struct slice name = decision.shown.limit_name;
    fixture_reload(&f, AT(0),
                   "limits:\n  b: {algorithm: fixed_window, limit: 7, window: 60s}\n"
                   "  a: {algorithm: fixed_window, limit: 9, window: 60s, shadow: true}\n"
                   "routes:\n  \"*\": [a, b]\n");
    request.details = true;
    cr_assert(engine_decide(f.worker, &plans[1], AT(0), &decision, &error));
    EXPECT_ALLOWED(decision, 6);
    EXPECT_NAME(decision.shown, "b");
    cr_assert_eq(decision.row_count, 2);
    cr_expect_eq(decision.rows[0].remaining, 7u); /* of 9: one before the reload, one now */
    fixture_reload(&f, AT(0), WINDOW_OF("20"));
    cr_assert(engine_decide(f.worker, &plans[2], AT(0), &decision, &error));
    EXPECT_ALLOWED(decision, 17);
    EXPECT_NAME(decision.shown, "a");
    cr_expect(slice_equal_text(name, "a")); /* valid until the worker leaves */
    engine_leave(f.worker);
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "r"), 16);
    fixture_close(&f);
}

Test(engine_reload, a_request_that_the_new_file_cannot_count_is_an_error)
{
    struct fixture f;
    fixture_open(&f, WINDOW_OF("3"));
    struct request request = fixture_request("k", "r");
    struct engine_plan plans[3];
    struct decision decision;
    uint32_t counters;
    struct request_error error = {0};
    static const enum engine_purpose purposes[] = {ENGINE_DECIDE, ENGINE_REFUND, ENGINE_RESET};

    engine_enter(f.worker);
    for (int i = 0; i < 3; i++) {
        cr_assert(engine_prepare(f.worker, &request, purposes[i], AT(0), &plans[i], &error));
    }
    fixture_reload(&f, AT(0), COUNTED("count_by: [ip]"));
    cr_expect(!engine_decide(f.worker, &plans[0], AT(0), &decision, &error));
    cr_expect_eq(error.code, REQUEST_INVALID_ARGUMENT);
    cr_expect_str_eq(error.field, "attributes.ip");
    cr_expect(!engine_refund(f.worker, &plans[1], AT(0), &decision, &error));
    cr_expect(!engine_reset(f.worker, &plans[2], AT(0), &counters, &error));
    engine_leave(f.worker);
    fixture_close(&f);
}

Test(engine_reload, a_reload_while_the_one_before_is_applied_changes_nothing)
{
    struct fixture f;
    fixture_open(&f, WINDOW_OF("1000"));
    char key[16];
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(key, sizeof(key), "k%d", i);
        EXPECT_ALLOWED(fixture_ask(&f, AT(0), key, "r"), 999);
    }
    struct policy_set *second = fixture_parse(&f, WINDOW_OF("50"));
    struct policy_set *third = fixture_parse(&f, WINDOW_OF("70"));
    cr_assert_eq(engine_reload(f.engine, &second, AT(1), NULL), STATUS_OK);
    cr_assert_null(second);
    enum status status = engine_reload(f.engine, &third, AT(2), NULL);
    cr_assert_eq(status, STATUS_UNAVAILABLE);
    cr_assert_not_null(third);
    EXPECT_ALLOWED(fixture_ask(&f, AT(2), "k7", "r"), 48);
    int steps = 0;
    while ((status = engine_reload(f.engine, &third, AT(3), NULL)) == STATUS_UNAVAILABLE) {
        (void)engine_sweep(f.engine, AT(3), 100);
        cr_assert(++steps < 10000);
    }
    cr_assert_eq(status, STATUS_OK);
    EXPECT_ALLOWED(fixture_ask(&f, AT(3), "k7", "r"), 67);
    EXPECT_ALLOWED(fixture_ask(&f, AT(3), "k2999", "r"), 68);
    fixture_close(&f);
}
