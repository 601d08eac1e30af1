/* Shadow limits, unlimited and blocked identities, requests that nothing limits. */
#include "engine_fixture.h"

/* RB-28 */
#define SHADOW_FILE(shadow)                                                                       \
    "limits:\n"                                                                                   \
    "  s: {algorithm: fixed_window, limit: 3, window: 60s, shadow: " shadow "}\n"                 \
    "  e: {algorithm: fixed_window, limit: 6, window: 60s}\n"                                     \
    "routes:\n"                                                                                   \
    "  r: [s]\n"                                                                                  \
    "  both: [s, e]\n"

Test(engine_kinds, a_shadow_limit_counts_and_never_refuses)
{
    struct fixture f;
    fixture_open(&f, SHADOW_FILE("true"));
    for (int i = 0; i < 8; i++) {
        struct decision decision = fixture_ask(&f, AT(1), "k", "r");
        EXPECT_ALLOWED(decision, DECISION_UNLIMITED);
        EXPECT_NAME(decision.shown, "");
        cr_expect_eq(decision.shown.limit, DECISION_UNLIMITED);
        cr_expect_eq(decision.shown.reset_after_ns, DECISION_ABSENT);
        cr_expect_eq(decision.shown.reason, i < 3 ? REASON_UNDER_LIMIT : REASON_SHADOWED);
    }
    cr_expect_eq(fixture_count(&f, "s", METRICS_WOULD_REFUSE), 5u);
    cr_expect_eq(fixture_count_unnamed(&f, METRICS_ALLOWED), 8u);
    cr_expect_eq(fixture_count(&f, "s", METRICS_REFUSED), 0u);

    fixture_reload(&f, AT(20), SHADOW_FILE("false"));
    EXPECT_REFUSED(fixture_ask(&f, AT(30), "k", "r"), 0, SECONDS(30));

    fixture_reload(&f, AT(31), SHADOW_FILE("true"));
    for (int i = 0; i < 8; i++) {
        struct decision decision = fixture_ask(&f, AT(40), "k2", "both");
        cr_expect_eq(decision.shown.allowed, i < 6);
        EXPECT_NAME(decision.shown, "e");
        cr_expect_eq(decision.shown.reason, i < 3   ? REASON_UNDER_LIMIT
                                            : i < 6 ? REASON_SHADOWED
                                                    : REASON_OVER_LIMIT);
    }
    cr_expect_eq(fixture_count(&f, "s", METRICS_WOULD_REFUSE), 5u + 3u);
    fixture_close(&f);
}

Test(engine_kinds, what_an_enforced_limit_refuses_no_shadow_limit_counts)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  s: {algorithm: fixed_window, limit: 5, window: 60s, shadow: true}\n"
                     "  e: {algorithm: fixed_window, limit: 2, window: 60s}\n"
                     "routes:\n"
                     "  r: [s, e]\n");
    struct request request = fixture_request("k", "r");
    request.details = true;
    for (int i = 0; i < 4; i++) {
        struct decision decision = fixture_decide(&f, AT(0), &request);
        cr_expect_eq(decision.shown.allowed, i < 2);
        cr_assert_eq(decision.row_count, 2);
        cr_expect(decision.rows[0].shadow && decision.rows[0].allowed);
        cr_expect_eq(decision.rows[0].remaining, i < 2 ? (uint64_t)(4 - i) : 3u);
        cr_expect_eq(decision.rows[1].allowed, i < 2);
    }
    fixture_close(&f);
}

#define KINDS_FILE                                                                                \
    "limits:\n"                                                                                   \
    "  free: {algorithm: fixed_window, limit: 3, window: 60s,\n"                                  \
    "         overrides: [{match: {key: \"vip*\"}, unlimited: true},\n"                           \
    "                     {match: {key: \"bad*\"}, blocked: true}]}\n"                            \
    "  also: {algorithm: token_bucket, limit: 9, window: 60s,\n"                                  \
    "         overrides: [{match: {key: \"*-all\"}, unlimited: true}]}\n"                         \
    "  dark: {algorithm: fixed_window, limit: 1, window: 60s, shadow: true,\n"                    \
    "         overrides: [{match: {key: \"*-all\"}, unlimited: true},\n"                          \
    "                     {match: {key: \"dark*\"}, blocked: true}]}\n"                           \
    "routes:\n"                                                                                   \
    "  one: [free]\n"                                                                             \
    "  two: [free, also]\n"                                                                       \
    "  dim: [free, dark]\n"                                                                       \
    "  dark: [dark]\n"                                                                            \
    "  open: []\n"

Test(engine_kinds, unlimited_and_blocked_identities)
{
    struct fixture f;
    fixture_open(&f, KINDS_FILE);
    struct decision decision = fixture_ask(&f, AT(0), "vip", "one");
    EXPECT_ALLOWED(decision, DECISION_UNLIMITED);
    EXPECT_NAME(decision.shown, "free");
    cr_expect_eq(decision.shown.reason, REASON_UNLIMITED);
    cr_expect_eq(decision.shown.limit, DECISION_UNLIMITED);
    cr_expect_eq(decision.shown.reset_after_ns, DECISION_ABSENT);

    decision = fixture_ask(&f, AT(0), "vip", "two"); /* the other limit has a say */
    EXPECT_ALLOWED(decision, 8);
    EXPECT_NAME(decision.shown, "also");
    cr_expect_eq(decision.shown.reason, REASON_UNDER_LIMIT);

    decision = fixture_ask(&f, AT(0), "vip-all", "two");
    EXPECT_ALLOWED(decision, DECISION_UNLIMITED);
    EXPECT_NAME(decision.shown, "free");

    decision = fixture_ask(&f, AT(0), "bad", "two");
    EXPECT_REFUSED(decision, 0, DECISION_NEVER);
    EXPECT_NAME(decision.shown, "free");
    cr_expect_eq(decision.shown.limit, 0u);
    cr_expect_eq(decision.shown.reset_after_ns, DECISION_ABSENT);
    cr_expect_eq(decision.shown.reason, REASON_BLOCKED);
    decision = fixture_look(&f, AT(0), "bad", "one");
    EXPECT_REFUSED(decision, 0, DECISION_NEVER); /* looks too */
    struct store_stats stats;
    store_stats(f.store, &stats);
    cr_expect_eq(stats.counters, 1u); /* the vip's in `also`; nothing else was charged */
    fixture_close(&f);
}

Test(engine_kinds, nothing_limits)
{
    struct fixture f;
    fixture_open(&f, KINDS_FILE);
    static const char *const routes[] = {"open", "nowhere"};
    for (int i = 0; i < 2; i++) {
        struct decision decision = fixture_ask(&f, AT(0), "k", routes[i]);
        EXPECT_ALLOWED(decision, DECISION_UNLIMITED);
        EXPECT_NAME(decision.shown, "");
        cr_expect_eq(decision.shown.reason, REASON_NO_LIMIT);
        cr_expect_eq(decision.shown.limit, DECISION_UNLIMITED);
        cr_expect_eq(decision.shown.reset_after_ns, DECISION_ABSENT);
        cr_expect_eq(decision.shown.delay_ns, 0);
    }
    cr_expect_eq(metrics_read_no_limit(f.metrics), 1u); /* an empty list is a match */
    fixture_close(&f);
}

Test(engine_kinds, shadow_beside_unlimited)
{
    struct fixture f;
    fixture_open(&f, KINDS_FILE);
    struct decision decision = fixture_ask(&f, AT(0), "vip", "dim");
    cr_expect_eq(decision.shown.reason, REASON_UNLIMITED); /* dark has 1 and lets it pass */
    EXPECT_NAME(decision.shown, "free");
    decision = fixture_ask(&f, AT(0), "vip", "dim"); /* now it would refuse */
    cr_expect_eq(decision.shown.reason, REASON_SHADOWED);
    EXPECT_NAME(decision.shown, "");
    EXPECT_ALLOWED(decision, DECISION_UNLIMITED);

    /* blocked by a shadow limit: would refuse, also a look, and never does */
    decision = fixture_look(&f, AT(0), "dark1", "dark");
    cr_expect_eq(decision.shown.reason, REASON_SHADOWED);
    cr_expect(decision.shown.allowed);
    cr_expect_eq(fixture_count(&f, "dark", METRICS_WOULD_REFUSE), 2u);
    /* a list of shadow limits only, an unlimited one too */
    decision = fixture_ask(&f, AT(0), "x-all", "dark");
    cr_expect_eq(decision.shown.reason, REASON_UNDER_LIMIT);
    EXPECT_NAME(decision.shown, "");
    fixture_close(&f);
}
