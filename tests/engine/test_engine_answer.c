/* What an answer shows: several limits, ties, details, a full store. */
#include "engine_fixture.h"

#define USER_AND_ORG(first, second, org)                                                          \
    "limits:\n"                                                                                   \
    "  user: {algorithm: fixed_window, limit: 3, window: 60s, count_by: [key]}\n"                 \
    "  org: {" org ", count_by: [org]}\n"                                                         \
    "routes:\n"                                                                                   \
    "  \"*\": [" first ", " second "]\n"
#define ORG_WINDOW "algorithm: fixed_window, limit: 10, window: 60s"
#define ORG_BUCKET "algorithm: token_bucket, limit: 10, window: 60s"

static struct decision ask_in_org(struct fixture *f, const char *user, uint64_t cost, bool details)
{
    struct request request = fixture_costing(user, "r", cost);
    fixture_attribute(&request, "org", "acme");
    request.details = details;
    return fixture_decide(f, FIXTURE_T0, &request);
}

/* RB-25: a request refused by one limit is charged by none, in whichever order they stand. */
static void all_or_nothing(const char *file, int64_t last_wait_ns)
{
    struct fixture f;
    fixture_open(&f, file);
    static const char *const users[] = {"u1", "u2", "u3"};
    for (int u = 0; u < 3; u++) {
        for (int left = 2; left >= 0; left--) {
            EXPECT_ALLOWED(ask_in_org(&f, users[u], 1, false), left);
        }
        for (int i = 0; u == 0 && i < 5; i++) {
            EXPECT_REFUSED(ask_in_org(&f, users[u], 1, false), 0, SECONDS(60));
        }
    }
    EXPECT_ALLOWED(ask_in_org(&f, "u4", 1, false), 0);
    struct decision last = ask_in_org(&f, "u4", 1, false);
    EXPECT_REFUSED(last, 0, last_wait_ns);
    EXPECT_NAME(last.shown, "org");

    struct decision look = ask_in_org(&f, "u4", 0, true);
    cr_assert_eq(look.row_count, 2);
    for (int i = 0; i < 2; i++) {
        bool is_user = slice_equal_text(look.rows[i].limit_name, "user");
        cr_expect_eq(look.rows[i].remaining, is_user ? 2u : 0u);
    }
    fixture_close(&f);
}

Test(engine_answer, all_or_nothing)
{
    all_or_nothing(USER_AND_ORG("user", "org", ORG_WINDOW), SECONDS(60));
}

Test(engine_answer, all_or_nothing_in_the_other_order)
{
    all_or_nothing(USER_AND_ORG("org", "user", ORG_WINDOW), SECONDS(60));
}

Test(engine_answer, all_or_nothing_with_a_bucket)
{
    all_or_nothing(USER_AND_ORG("user", "org", ORG_BUCKET), SECONDS(6));
    all_or_nothing(USER_AND_ORG("org", "user", ORG_BUCKET), SECONDS(6));
}

/* RB-27 */
Test(engine_answer, every_limit_keeps_its_own_counter)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  all: {algorithm: fixed_window, limit: 10, window: 60s}\n"
                     "  pay: {algorithm: fixed_window, limit: 4, window: 60s}\n"
                     "  six: {algorithm: fixed_window, limit: 6, window: 60s}\n"
                     "  nine: {algorithm: fixed_window, limit: 9, window: 60s}\n"
                     "  x: {algorithm: fixed_window, limit: 3, window: 60s}\n"
                     "  y: {algorithm: fixed_window, limit: 3, window: 60s}\n"
                     "routes:\n"
                     "  pay: [all, pay]\n"
                     "  list: [all]\n"
                     "  both: [six, nine]\n"
                     "  x: [x]\n"
                     "  y: [y]\n");
    for (int left = 3; left >= 0; left--) {
        EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "pay"), left);
    }
    EXPECT_REFUSED(fixture_ask(&f, AT(0), "k", "pay"), 0, SECONDS(60));
    for (int left = 5; left >= 0; left--) {
        EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "list"), left);
    }
    EXPECT_REFUSED(fixture_ask(&f, AT(0), "k", "list"), 0, SECONDS(60));
    for (int left = 5; left >= 0; left--) {
        EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "both"), left);
    }
    EXPECT_REFUSED(fixture_ask(&f, AT(0), "k", "both"), 0, SECONDS(60));
    for (int i = 0; i < 2; i++) {
        const char *route = i == 0 ? "x" : "y";
        for (int left = 2; left >= 0; left--) {
            EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", route), left);
        }
        EXPECT_REFUSED(fixture_ask(&f, AT(0), "k", route), 0, SECONDS(60));
    }
    fixture_close(&f);
}

Test(engine_answer, allowed_shows_the_first_of_those_with_the_least_left)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  wide: {algorithm: fixed_window, limit: 9, window: 60s}\n"
                     "  a: {algorithm: fixed_window, limit: 5, window: 60s}\n"
                     "  b: {algorithm: token_bucket, limit: 5, window: 10s}\n"
                     "routes:\n"
                     "  r: [wide, a, b]\n"
                     "  s: [wide, b, a]\n");
    struct decision decision = fixture_ask(&f, AT(0), "k", "r");
    EXPECT_ALLOWED(decision, 4);
    EXPECT_NAME(decision.shown, "a");
    cr_expect_eq(decision.shown.reset_after_ns, SECONDS(60));
    cr_expect_eq(decision.shown.limit, 5u);
    decision = fixture_ask(&f, AT(0), "k2", "s");
    EXPECT_ALLOWED(decision, 4);
    EXPECT_NAME(decision.shown, "b");
    cr_expect_eq(decision.shown.reset_after_ns, SECONDS(2));
    fixture_close(&f);
}

Test(engine_answer, refused_shows_the_longest_wait_and_the_least_remaining)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  fast: {algorithm: token_bucket, limit: 2, window: 2s}\n"
                     "  slow: {algorithm: fixed_window, limit: 4, window: 60s}\n"
                     "  spare: {algorithm: fixed_window, limit: 100, window: 60s}\n"
                     "routes:\n"
                     "  r: [fast, slow, spare]\n");
    struct request two = fixture_costing("k", "r", 2);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &two), 0);
    struct request one = fixture_costing("k", "r", 1);
    EXPECT_ALLOWED(fixture_decide(&f, AT(1), &one), 0);
    /* fast has 0 left and waits 2 s; slow has 1 left and waits 59 s */
    struct decision decision = fixture_decide(&f, AT(1), &two);
    EXPECT_REFUSED(decision, 0, SECONDS(59));
    EXPECT_NAME(decision.shown, "slow");
    cr_expect_eq(decision.shown.limit, 4u);
    cr_expect_eq(decision.shown.reason, REASON_OVER_LIMIT);
    fixture_close(&f);
}

Test(engine_answer, never_is_longer_than_any_wait_before_it)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  window: {algorithm: fixed_window, limit: 3, window: 3650d}\n"
                     "  small: {algorithm: token_bucket, limit: 2, window: 1s}\n"
                     "routes:\n"
                     "  w: [window]\n"
                     "  r: [window, small]\n");
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "w"), 2);
    struct request request = fixture_costing("k", "r", 3);
    struct decision decision = fixture_decide(&f, AT(0), &request);
    EXPECT_REFUSED(decision, 2, DECISION_NEVER);
    EXPECT_NAME(decision.shown, "small");
    fixture_close(&f);
}

Test(engine_answer, the_largest_delay_shows_beside_another_limits_numbers)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  slow: {algorithm: leaky_bucket, limit: 60, window: 60s}\n"
                     "  fast: {algorithm: leaky_bucket, limit: 600, window: 60s}\n"
                     "  dark: {algorithm: leaky_bucket, limit: 6, window: 60s, shadow: true}\n"
                     "  few: {algorithm: fixed_window, limit: 5, window: 60s}\n"
                     "routes:\n"
                     "  r: [slow, fast, dark, few]\n");
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "r"), 4);
    struct decision decision = fixture_ask(&f, AT(0), "k", "r");
    EXPECT_ALLOWED(decision, 3);
    EXPECT_NAME(decision.shown, "few");
    cr_expect_eq(decision.shown.delay_ns, SECONDS(1)); /* not fast's 0.1 s, not dark's 10 s */
    struct request dear = fixture_costing("k", "r", 4);
    decision = fixture_decide(&f, AT(0), &dear);
    EXPECT_REFUSED(decision, 3, SECONDS(60));
    cr_expect_eq(decision.shown.delay_ns, 0);
    fixture_close(&f);
}

Test(engine_answer, never_is_the_longest_wait_and_the_first_never_shows)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  window: {algorithm: fixed_window, limit: 5, window: 365d}\n"
                     "  small: {algorithm: token_bucket, limit: 2, window: 1s}\n"
                     "  none: {algorithm: fixed_window, limit: 0, window: 1s}\n"
                     "  mine: {algorithm: fixed_window, limit: 9, window: 1s,\n"
                     "         overrides: [{match: {key: bad}, blocked: true}]}\n"
                     "routes:\n"
                     "  r: [window, small, none]\n"
                     "  s: [window, mine, none]\n"
                     "  t: [none, mine]\n");
    struct request request = fixture_costing("k", "r", 3);
    struct decision decision = fixture_decide(&f, AT(0), &request);
    EXPECT_REFUSED(decision, 0, DECISION_NEVER);
    EXPECT_NAME(decision.shown, "small");
    cr_expect_eq(decision.shown.reason, REASON_COST_EXCEEDS_LIMIT);
    cr_expect_eq(decision.shown.limit, 2u);
    decision = fixture_ask(&f, AT(0), "bad", "s");
    EXPECT_NAME(decision.shown, "mine");
    cr_expect_eq(decision.shown.reason, REASON_BLOCKED);
    decision = fixture_ask(&f, AT(0), "bad", "t");
    EXPECT_NAME(decision.shown, "none");
    cr_expect_eq(decision.shown.reason, REASON_COST_EXCEEDS_LIMIT);
    cr_expect_eq(decision.shown.limit, 0u);
    /* neither refusal cost anything */
    EXPECT_ALLOWED(fixture_look(&f, AT(0), "k", "r"), 0);
    request.details = true;
    request.cost = 0;
    decision = fixture_decide(&f, AT(0), &request);
    cr_expect_eq(decision.rows[0].remaining, 5u);
    fixture_close(&f);
}

Test(engine_answer, rows_of_details)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  bucket: {algorithm: token_bucket, limit: 60, window: 1m, burst: 20}\n"
                     "  month: {algorithm: fixed_window, limit: 100, window: month}\n"
                     "  queue: {algorithm: leaky_bucket, limit: 10, window: 10s}\n"
                     "  open: {algorithm: fixed_window, limit: 3, window: 5s,\n"
                     "         overrides: [{match: {key: k}, unlimited: true}]}\n"
                     "  shut: {algorithm: sliding_window_log, limit: 3, window: 7s,\n"
                     "         shadow: true, overrides: [{match: {key: k}, blocked: true}]}\n"
                     "routes:\n"
                     "  r: {limits: [bucket, month, queue, open, shut], cost: 2}\n");
    struct request request = fixture_request("k", "r");
    request.details = true;
    struct decision decision = fixture_decide(&f, AT(0), &request);
    cr_assert_eq(decision.row_count, 5);
    const struct decision_row *row = decision.rows;

    EXPECT_NAME(row[0], "bucket");
    cr_expect(row[0].allowed && !row[0].shadow && !row[0].calendar);
    cr_expect_eq(row[0].algorithm, LIMITER_TOKEN_BUCKET);
    cr_expect_eq(row[0].limit, 20u);
    cr_expect_eq(row[0].remaining, 18u);
    cr_expect_eq(row[0].quota, 60u);
    cr_expect_eq(row[0].burst, 20u);
    cr_expect_eq(row[0].retry_after_ns, DECISION_ABSENT);
    cr_expect_eq(row[0].reset_after_ns, SECONDS(2));
    cr_expect_eq(row[0].window_ns, SECONDS(60));

    EXPECT_NAME(row[1], "month");
    cr_expect(row[1].calendar);
    cr_expect_eq(row[1].remaining, 98u);
    cr_expect_eq(row[1].window_ns, SECONDS(31 * 86400));
    cr_expect_eq(row[1].reset_after_ns, SECONDS(31 * 86400));

    EXPECT_NAME(row[2], "queue");
    cr_expect_eq(row[2].delay_ns, 0);
    cr_expect_eq(row[2].reason, REASON_UNDER_LIMIT);

    EXPECT_NAME(row[3], "open");
    cr_expect(row[3].allowed);
    cr_expect_eq(row[3].limit, DECISION_UNLIMITED);
    cr_expect_eq(row[3].remaining, DECISION_UNLIMITED);
    cr_expect_eq(row[3].reset_after_ns, DECISION_ABSENT);
    cr_expect_eq(row[3].window_ns, SECONDS(5));
    cr_expect_eq(row[3].reason, REASON_UNLIMITED);

    EXPECT_NAME(row[4], "shut");
    cr_expect(!row[4].allowed && row[4].shadow);
    cr_expect_eq(row[4].limit, 0u);
    cr_expect_eq(row[4].remaining, 0u);
    cr_expect_eq(row[4].retry_after_ns, DECISION_NEVER);
    cr_expect_eq(row[4].reset_after_ns, DECISION_ABSENT);
    cr_expect_eq(row[4].window_ns, SECONDS(7));
    cr_expect_eq(decision.shown.reason, REASON_SHADOWED);

    decision = fixture_decide(&f, AT(0), &request);
    cr_expect_eq(decision.rows[2].delay_ns, SECONDS(2));
    cr_expect_eq(decision.shown.delay_ns, SECONDS(2)); /* whichever limit shows */
    EXPECT_NAME(decision.shown, "queue");
    request.details = false;
    decision = fixture_decide(&f, AT(0), &request);
    cr_expect_eq(decision.row_count, 0);
    fixture_close(&f);
}

Test(engine_answer, a_routes_cost_counts_where_the_request_names_none)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  a: {algorithm: fixed_window, limit: 25, window: 60s}\n"
                     "routes:\n"
                     "  export: {limits: [a], cost: 10}\n"
                     "  plain: [a]\n");
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "export"), 15);
    EXPECT_ALLOWED(fixture_look(&f, AT(0), "k", "export"), 15);
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "plain"), 14);
    struct request request = fixture_costing("k", "export", 4);
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &request), 10);
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "export"), 0);
    EXPECT_ALLOWED(fixture_look(&f, AT(0), "k", "export"), 0); /* a look at 0 passes */
    EXPECT_REFUSED(fixture_ask(&f, AT(0), "k", "export"), 0, SECONDS(60));
    fixture_close(&f);
}

Test(engine_answer, a_full_store_refuses_what_needs_a_new_counter)
{
    struct fixture f;
    fixture_open_store(&f,
                       "limits:\n"
                       "  w: {algorithm: fixed_window, limit: 5, window: 60s, count_by: [key]}\n"
                       "  b: {algorithm: token_bucket, limit: 5, window: 60s, burst: 9}\n"
                       "  s: {algorithm: token_bucket, limit: 5, window: 60s, shadow: true}\n"
                       "routes:\n"
                       "  w: [w]\n"
                       "  b: [b]\n"
                       "  s: [s]\n",
                       (struct store_config){.shards = 1, .max_counters = 1});
    EXPECT_ALLOWED(fixture_ask(&f, AT(10), "first", "w"), 4);
    struct decision decision = fixture_ask(&f, AT(20), "second", "w");
    EXPECT_REFUSED(decision, 0, SECONDS(1));
    EXPECT_NAME(decision.shown, "w");
    cr_expect_eq(decision.shown.reason, REASON_STORE_FULL);
    cr_expect_eq(decision.shown.limit, 5u);
    cr_expect_eq(decision.shown.reset_after_ns, SECONDS(40)); /* a fresh window's end */
    decision = fixture_ask(&f, AT(20), "second", "b");
    EXPECT_REFUSED(decision, 0, SECONDS(1));
    cr_expect_eq(decision.shown.limit, 9u);
    cr_expect_eq(decision.shown.reset_after_ns, 0);

    struct request request = fixture_request("second", "s"); /* skipped and counted */
    request.details = true;
    decision = fixture_decide(&f, AT(20), &request);
    cr_expect(decision.shown.allowed);
    cr_expect_eq(decision.shown.reason, REASON_UNDER_LIMIT);
    cr_assert_eq(decision.row_count, 1);
    cr_expect_eq(decision.rows[0].reason, REASON_STORE_FULL);
    cr_expect_eq(fixture_count(&f, "s", METRICS_WOULD_REFUSE), 0u);

    EXPECT_ALLOWED(fixture_look(&f, AT(20), "second", "w"), 5);
    EXPECT_ALLOWED(fixture_ask(&f, AT(20), "first", "w"), 3);
    cr_expect_eq(fixture_count(&f, "w", METRICS_STORE_FULL), 1u);
    cr_expect_eq(fixture_count(&f, "b", METRICS_STORE_FULL), 1u);
    static const char *const names[] = {"w", "b", "s"};
    for (int i = 0; i < 3; i++) {
        uint32_t limit = metrics_limit(f.metrics, slice_text(names[i]));
        cr_expect_eq(metrics_read_counters_refused(f.metrics, limit), 1u);
    }
    fixture_close(&f);
}
