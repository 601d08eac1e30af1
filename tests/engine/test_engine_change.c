/* Refund, reset, several requests of one read, the counts behind `sluice stats`. */
#include "engine_fixture.h"

#define ALL_KINDS                                                                                 \
    "limits:\n"                                                                                   \
    "  window: {algorithm: fixed_window, limit: 10, window: 60s,\n"                               \
    "           plans: {by: plan, values: {open: {unlimited: true},\n"                            \
    "                                      shut: {blocked: true}}}}\n"                            \
    "  log: {algorithm: sliding_window_log, limit: 8, window: 60s, shadow: true}\n"               \
    "routes:\n"                                                                                   \
    "  \"*\": [window, log]\n"

static struct request with_plan(const char *plan, uint64_t cost)
{
    struct request request = fixture_costing("k", "r", cost);
    fixture_attribute(&request, "plan", plan);
    request.details = true;
    return request;
}

Test(engine_change, a_refund_answers_as_a_look_right_after_it)
{
    struct fixture f;
    fixture_open(&f, ALL_KINDS);
    struct request request = with_plan("", 6);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &request), 4);
    request.cost = 2;
    struct decision decision = fixture_refund(&f, AT(1), &request);
    EXPECT_ALLOWED(decision, 6);
    EXPECT_NAME(decision.shown, "window");
    cr_expect_eq(decision.shown.reason, REASON_UNDER_LIMIT);
    cr_expect_eq(decision.shown.reset_after_ns, SECONDS(59));
    cr_assert_eq(decision.row_count, 2);
    cr_expect_eq(decision.rows[1].remaining, 4u); /* shadow ones too */
    request.cost = INT64_MAX;
    EXPECT_ALLOWED(fixture_refund(&f, AT(2), &request), 10); /* never above the limit */
    EXPECT_ALLOWED(fixture_look(&f, AT(2), "k", "r"), 10);
    cr_expect_eq(fixture_count(&f, "window", METRICS_ALLOWED), 2u); /* refunds do not count */
    fixture_close(&f);
}

Test(engine_change, a_refund_without_cost_gives_the_routes_back)
{
    struct fixture f;
    fixture_open(&f, "limits:\n  a: {algorithm: fixed_window, limit: 10, window: 60s}\n"
                     "routes:\n  r: {limits: [a], cost: 3}\n");
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "r"), 7);
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "r"), 4);
    struct request request = fixture_request("k", "r");
    EXPECT_ALLOWED(fixture_refund(&f, AT(0), &request), 7);
    request.has_cost = true; /* 0 gives nothing back */
    EXPECT_ALLOWED(fixture_refund(&f, AT(0), &request), 7);
    fixture_close(&f);
}

Test(engine_change, a_refund_reaches_counters_of_unlimited_and_blocked_identities)
{
    struct fixture f;
    fixture_open(&f, ALL_KINDS);
    struct request request = with_plan("", 6);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &request), 4);
    request = with_plan("open", 2);
    struct decision decision = fixture_refund(&f, AT(0), &request);
    EXPECT_ALLOWED(decision, DECISION_UNLIMITED);
    cr_expect_eq(decision.shown.reason, REASON_UNLIMITED);
    EXPECT_ALLOWED(fixture_look(&f, AT(0), "k", "r"), 6);
    request = with_plan("shut", 1);
    decision = fixture_refund(&f, AT(0), &request);
    EXPECT_REFUSED(decision, 0, DECISION_NEVER);
    cr_expect_eq(decision.shown.reason, REASON_BLOCKED);
    EXPECT_ALLOWED(fixture_look(&f, AT(0), "k", "r"), 7);
    fixture_close(&f);
}

Test(engine_change, a_refund_creates_nothing)
{
    struct fixture f;
    struct store_stats stats;
    fixture_open(&f, ALL_KINDS);
    struct request request = with_plan("", 5);
    EXPECT_ALLOWED(fixture_refund(&f, AT(0), &request), 10);
    store_stats(f.store, &stats);
    cr_expect_eq(stats.counters, 0u);
    request = fixture_request("k", "r");
    EXPECT_ALLOWED(fixture_refund(&f, AT(0), &request), 10);
    fixture_close(&f);
}

Test(engine_change, a_refund_where_nothing_limits)
{
    struct fixture f;
    fixture_open(&f, "limits: {}\nroutes:\n  r: []\n");
    struct request request = fixture_request("k", "nowhere");
    struct decision decision = fixture_refund(&f, AT(0), &request);
    EXPECT_ALLOWED(decision, DECISION_UNLIMITED);
    cr_expect_eq(decision.shown.reason, REASON_NO_LIMIT);
    cr_expect_eq(fixture_reset(&f, AT(0), &request), 0u);
    cr_expect_eq(metrics_read_no_limit(f.metrics), 0u);
    fixture_close(&f);
}

Test(engine_change, reset_says_how_many_were_forgotten)
{
    struct fixture f;
    fixture_open(&f, ALL_KINDS);
    struct request request = with_plan("", 6);
    cr_expect_eq(fixture_reset(&f, AT(0), &request), 0u);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &request), 4);
    cr_expect_eq(fixture_reset(&f, AT(0), &request), 2u); /* shadow ones included */
    cr_expect_eq(fixture_reset(&f, AT(0), &request), 0u);
    EXPECT_ALLOWED(fixture_look(&f, AT(0), "k", "r"), 10);

    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &request), 4);
    request = with_plan("open", 1);
    cr_expect_eq(fixture_reset(&f, AT(0), &request), 2u); /* unlimited ones too */
    EXPECT_ALLOWED(fixture_look(&f, AT(0), "k", "r"), 10);

    request = with_plan("", 6);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &request), 4);
    cr_expect_eq(fixture_reset(&f, AT(60), &request), 0u); /* as if never used by now */
    fixture_close(&f);
}

Test(engine_change, requests_of_one_read_see_those_before_them)
{
    struct fixture f;
    fixture_open(&f, ALL_KINDS);
    struct request requests[14];
    struct engine_plan plans[14];
    struct decision decision;
    struct request_error error = {0};
    bool made[14];

    engine_enter(f.worker);
    for (int i = 0; i < 14; i++) {
        requests[i] = fixture_request(i == 5 ? "" : "k", "r");
        cr_assert(engine_room(f.worker) > 0);
        made[i] = engine_prepare(f.worker, &requests[i], ENGINE_DECIDE, AT(0), &plans[i], &error);
    }
    for (int i = 0, left = 9; i < 14; i++) {
        cr_expect_eq(made[i], i != 5);
        if (!made[i]) {
            continue;
        }
        cr_assert(engine_decide(f.worker, &plans[i], AT(0), &decision, &error));
        cr_expect_eq(decision.shown.allowed, left >= 0);
        cr_expect_eq(decision.shown.remaining, left >= 0 ? (uint64_t)left : 0u);
        left--;
    }
    engine_leave(f.worker);
    fixture_close(&f);
}

Test(engine_change, room_for_plans_is_counted_and_comes_back)
{
    struct fixture f;
    fixture_open(&f, ALL_KINDS);
    struct request request = fixture_costing("k", "r", 0);
    struct engine_plan plan;
    struct decision decision;
    struct request_error error = {0};

    engine_enter(f.worker);
    uint32_t room = engine_room(f.worker);
    cr_expect_eq(room, LIMITS_PLANNED_MAX);
    uint32_t prepared = 0;
    while (engine_room(f.worker) > 0) {
        cr_assert(engine_prepare(f.worker, &request, ENGINE_DECIDE, AT(0), &plan, &error));
        prepared++;
    }
    cr_expect(prepared >= room);
    cr_assert(engine_decide(f.worker, &plan, AT(0), &decision, &error));
    EXPECT_ALLOWED(decision, 10);
    engine_rewind(f.worker);
    cr_expect_eq(engine_room(f.worker), room);
    engine_leave(f.worker);
    fixture_close(&f);
}

Test(engine_change, each_request_counts_once_under_the_limit_it_shows)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  a: {algorithm: fixed_window, limit: 3, window: 60s,\n"
                     "      overrides: [{match: {key: vip}, unlimited: true},\n"
                     "                  {match: {key: bad}, blocked: true}]}\n"
                     "  b: {algorithm: fixed_window, limit: 2, window: 60s}\n"
                     "routes:\n"
                     "  a: [a]\n"
                     "  b: [a, b]\n"
                     "  open: []\n");
    for (int i = 0; i < 5; i++) {
        (void)fixture_ask(&f, AT(0), "k", "a");
    }
    (void)fixture_look(&f, AT(0), "k", "a");
    struct request dear = fixture_costing("k", "a", 4);
    (void)fixture_decide(&f, AT(0), &dear);
    (void)fixture_ask(&f, AT(0), "vip", "a");
    (void)fixture_ask(&f, AT(0), "bad", "a");
    (void)fixture_ask(&f, AT(0), "k2", "b");
    (void)fixture_ask(&f, AT(0), "k", "open");
    (void)fixture_ask(&f, AT(0), "k", "nowhere");
    cr_expect_eq(fixture_count(&f, "a", METRICS_ALLOWED), 4u);
    cr_expect_eq(fixture_count(&f, "a", METRICS_REFUSED), 2u);
    cr_expect_eq(fixture_count(&f, "a", METRICS_COST_EXCEEDS), 1u);
    cr_expect_eq(fixture_count(&f, "a", METRICS_UNLIMITED), 1u);
    cr_expect_eq(fixture_count(&f, "a", METRICS_BLOCKED), 1u);
    cr_expect_eq(fixture_count(&f, "b", METRICS_ALLOWED), 1u);
    cr_expect_eq(fixture_count(&f, "b", METRICS_REFUSED), 0u);
    cr_expect_eq(fixture_count_unnamed(&f, METRICS_ALLOWED), 2u);
    cr_expect_eq(metrics_read_no_limit(f.metrics), 1u);
    fixture_close(&f);
}

/* The counter that makes room counts under its own limit, whichever numbers it had. */
Test(engine_change, an_evicted_counter_counts_under_its_limit)
{
    static const char *const keys[] = {"own", "over", "plan"};
    for (int i = 0; i < 3; i++) {
        struct fixture f;
        fixture_open_store(&f,
                           "limits:\n"
                           "  other: {algorithm: fixed_window, limit: 5, window: 60s}\n"
                           "  a: {algorithm: fixed_window, limit: 5, window: 60s,\n"
                           "      plans: {by: plan, values: {pro: {limit: 7}}},\n"
                           "      overrides: [{match: {key: over}, limit: 6}]}\n"
                           "routes:\n"
                           "  a: [a]\n"
                           "  o: [other]\n",
                           (struct store_config){
                               .shards = 1, .max_counters = 1, .when_full = STORE_EVICT});
        struct request request = fixture_request(keys[i], "a");
        if (i == 2) {
            fixture_attribute(&request, "plan", "pro");
        }
        EXPECT_ALLOWED(fixture_decide(&f, AT(0), &request), i == 0 ? 4 : i == 1 ? 5 : 6);
        EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "o"), 4);
        uint32_t a = metrics_limit(f.metrics, slice_text("a"));
        uint32_t other = metrics_limit(f.metrics, slice_text("other"));
        cr_expect_eq(metrics_read_counters_evicted(f.metrics, a), 1u);
        cr_expect_eq(metrics_read_counters_evicted(f.metrics, other), 0u);
        EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "o"), 3);
        fixture_close(&f);
    }
}
