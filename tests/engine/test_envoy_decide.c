/* Descriptors decided together (exact). FIXTURE_T0 is 2026-01-01T00:00:00Z, a Thursday. */
#include "envoy_fixture.h"

#define RULES                                                                                     \
    "domain: rl\n"                                                                                \
    "descriptors:\n"                                                                              \
    "  - key: foo\n"                                                                              \
    "    rate_limit: {unit: hour, requests_per_unit: 2}\n"                                        \
    "  - key: foo\n"                                                                              \
    "    value: vip\n"                                                                            \
    "    rate_limit: {unlimited: true, name: free, replaces: [{name: named}]}\n"                  \
    "  - key: named\n"                                                                            \
    "    rate_limit: {name: named, unit: Minute, requests_per_unit: 5}\n"                         \
    "  - key: strict\n"                                                                           \
    "    rate_limit: {name: strict, unit: second, requests_per_unit: 1, replaces: "               \
    "[{name: named}]}\n"                                                                          \
    "  - key: dry\n"                                                                              \
    "    shadow_mode: true\n"                                                                     \
    "    rate_limit: {unit: hour, requests_per_unit: 1}\n"                                        \
    "  - key: q1\n"                                                                               \
    "    quota_mode: true\n"                                                                      \
    "    rate_limit: {unit: hour, requests_per_unit: 1}\n"                                        \
    "  - key: q2\n"                                                                               \
    "    quota_mode: true\n"                                                                      \
    "    rate_limit: {unit: hour, requests_per_unit: 2}\n"                                        \
    "  - key: zero\n"                                                                             \
    "    rate_limit: {unit: hour, requests_per_unit: 0}\n"                                        \
    "  - key: month\n"                                                                            \
    "    rate_limit: {unit: month, requests_per_unit: 9}\n"                                       \
    "  - key: week\n"                                                                             \
    "    rate_limit: {unit: week, requests_per_unit: 9}\n"                                        \
    "  - key: year\n"                                                                             \
    "    rate_limit: {unit: YEAR, requests_per_unit: 4294967295}\n"                               \
    "  - key: smooth\n"                                                                           \
    "    algorithm: token_bucket\n"                                                               \
    "    burst: 3\n"                                                                              \
    "    rate_limit: {unit: minute, requests_per_unit: 60}\n"                                     \
    "  - key: path\n"                                                                             \
    "    value: /a*\n"                                                                            \
    "    share_threshold: true\n"                                                                 \
    "    rate_limit: {unit: day, requests_per_unit: 2}\n"                                         \
    "  - key: white\n"

static struct envoy_fixture e;

static void open_rules(void)
{
    envoy_fixture_open(&e, RULES);
}

static void close_rules(void)
{
    fixture_close(&e.f);
}

TestSuite(envoy_decide, .init = open_rules, .fini = close_rules);

Test(envoy_decide, a_window_is_counted_and_refuses)
{
    EXPECT_ENVOY(&e, AT(10), "foo=bar", "o OK 1 2/HOUR 3590s");
    EXPECT_ENVOY(&e, AT(3599), "foo=bar", "o OK 0 2/HOUR 1s");
    EXPECT_ENVOY(&e, AT(3599), "foo=bar", "X OVER 0 2/HOUR 1s");
    EXPECT_ENVOY(&e, AT(3599), "foo=baz", "o OK 1 2/HOUR 1s");
    EXPECT_ENVOY(&e, AT(3600), "foo=bar", "o OK 1 2/HOUR 3600s");
    cr_expect_eq(fixture_count(&e.f, "envoy/rl.foo", METRICS_ALLOWED), 4);
    cr_expect_eq(fixture_count(&e.f, "envoy/rl.foo", METRICS_REFUSED), 1);
}

Test(envoy_decide, what_no_rule_limits_is_ok_and_plain)
{
    EXPECT_ENVOY(&e, AT(0), "nope=x", "o OK");
    EXPECT_ENVOY(&e, AT(0), "white=x", "o OK");
    EXPECT_ENVOY(&e, AT(0), "foo=a, bar=b", "o OK");
    EXPECT_ENVOY(&e, AT(0), "foo=vip", "o OK 4294967295");
    cr_expect_str_eq(envoy_fixture_ask(&e, AT(0), "other", "foo=a"), "o OK");
}

Test(envoy_decide, refused_by_one_none_is_charged)
{
    EXPECT_ENVOY(&e, AT(0), "foo=m; zero=m", "X OK 2 2/HOUR 3600s; OVER 0 0/HOUR");
    EXPECT_ENVOY(&e, AT(0), "foo=m #0", "o OK 2 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=m; foo=m", "o OK 1 2/HOUR 3600s; OK 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=n; foo=n; foo=n",
                 "X OK 2 2/HOUR 3600s; OK 2 2/HOUR 3600s; OVER 2 2/HOUR 3600s");
}

Test(envoy_decide, hits_are_units_and_zero_is_a_look)
{
    e.hits = 2;
    EXPECT_ENVOY(&e, AT(0), "foo=h #0", "o OK 2 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=h #1", "o OK 1 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=h", "X OVER 1 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=h2", "o OK 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=h2 #0", "o OK 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=h2 #3", "X OVER 0 2/HOUR");
    EXPECT_ENVOY(&e, AT(0), "foo=h2 #9223372036854775807", "X OVER 0 2/HOUR");
    EXPECT_ENVOY(&e, AT(0), "foo=h2 #9223372036854775808",
                 "3 descriptors[0].hits_addend: at most 9223372036854775807");
    e.hits = 0;
}

Test(envoy_decide, negative_hits_give_back_unless_refused)
{
    EXPECT_ENVOY(&e, AT(0), "foo=r #2", "o OK 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=r #-1; zero=r", "X OK 0 2/HOUR 3600s; OVER 0 0/HOUR");
    EXPECT_ENVOY(&e, AT(0), "foo=r #-1; named=r", "o OK 1 2/HOUR 3600s; OK 4 5/MINUTEnamed 60s");
    EXPECT_ENVOY(&e, AT(0), "foo=r #-9", "o OK 2 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=never #-1", "o OK 2 2/HOUR 3600s");
}

Test(envoy_decide, shadow_counts_and_never_refuses)
{
    EXPECT_ENVOY(&e, AT(0), "dry=x", "o OK 0 1/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "dry=x; foo=s", "o OK 0 1/HOUR 3600s; OK 1 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=s #0", "o OK 1 2/HOUR 3600s");
    cr_expect_eq(fixture_count(&e.f, "envoy/rl.dry", METRICS_WOULD_REFUSE), 1);
}

Test(envoy_decide, quotas_refuse_only_together)
{
    EXPECT_ENVOY(&e, AT(0), "q1=a; q2=a", "o OK 0 1/HOUR 3600s; OK 1 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "q1=a; q2=a", "o OVER 0 1/HOUR 3600s; OK 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "q1=a; q2=a; foo=q",
                 "X OVER 0 1/HOUR 3600s; OVER 0 2/HOUR 3600s; OK 2 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "q1=a", "X OVER 0 1/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "q1=a; foo=q", "X OVER 0 1/HOUR 3600s; OK 2 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "q1=b; zero=x", "X OK 1 1/HOUR 3600s; OVER 0 0/HOUR");
    EXPECT_ENVOY(&e, AT(0), "q1=b; q2=b; zero=x",
                 "X OK 1 1/HOUR 3600s; OK 2 2/HOUR 3600s; OVER 0 0/HOUR");
}

Test(envoy_decide, a_rule_replaces_others_of_the_request)
{
    EXPECT_ENVOY(&e, AT(0), "named=x; strict=x", "o OK; OK 0 1/SECONDstrict 1s");
    EXPECT_ENVOY(&e, AT(0), "named=x #0", "o OK 5 5/MINUTEnamed 60s");
    EXPECT_ENVOY(&e, AT(0), "foo=vip; named=x", "o OK 4294967295; OK");
}

Test(envoy_decide, an_override_counts_by_itself)
{
    EXPECT_ENVOY(&e, AT(0), "foo=o @1/MINUTE", "o OK 0 1/MINUTE 60s");
    EXPECT_ENVOY(&e, AT(0), "foo=o @1/MINUTE", "X OVER 0 1/MINUTE 60s");
    EXPECT_ENVOY(&e, AT(0), "foo=o @1/HOUR", "o OK 0 1/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=o @3/MINUTE", "o OK 1 3/MINUTE 60s");
    EXPECT_ENVOY(&e, AT(0), "foo=o", "o OK 1 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "any=thing @1/MONTH", "o OK 0 1/MONTH 2678400s");
    EXPECT_ENVOY(&e, AT(0), "any=thing @7/WEEK", "o OK 6 7/WEEK 604800s");
    cr_expect_str_eq(envoy_fixture_ask(&e, AT(0), "unknown", "foo=o @1/DAY"),
                     "o OK 0 1/DAY 86400s");
    const char *unknown = "3 descriptors[0].limit.unit: an unknown unit; expected SECOND, MINUTE, "
                          "HOUR, DAY, WEEK, MONTH or YEAR";
    EXPECT_ENVOY(&e, AT(0), "foo=o @1/UNKNOWN", unknown);
    EXPECT_ENVOY(&e, AT(0), "foo=o @1/FORTNIGHT", unknown);
}

Test(envoy_decide, no_two_identities_meet)
{
    EXPECT_ENVOY(&e, AT(0), "a=b_c @1/HOUR", "o OK 0 1/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "a_b=c @1/HOUR", "o OK 0 1/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "a=b, c=d @1/HOUR", "o OK 0 1/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "a=b_c_d @1/HOUR", "o OK 0 1/HOUR 3600s");
    char text[8192];
    for (char last = 'x'; last <= 'y'; last++) {
        int size = snprintf(text, sizeof(text), "foo=%c%05000d%c", 'a', 0, last);
        cr_assert_lt((size_t)size, sizeof(text));
        EXPECT_ENVOY(&e, AT(0), text, "o OK 1 2/HOUR 3600s");
    }
    EXPECT_ENVOY(&e, AT(0), text, "o OK 0 2/HOUR 3600s");
}

Test(envoy_decide, a_shared_threshold_is_one_counter)
{
    EXPECT_ENVOY(&e, AT(0), "path=/a", "o OK 1 2/DAY 86400s");
    EXPECT_ENVOY(&e, AT(0), "path=/abc", "o OK 0 2/DAY 86400s");
    EXPECT_ENVOY(&e, AT(0), "path=/axe", "X OVER 0 2/DAY 86400s");
    EXPECT_ENVOY(&e, AT(0), "path=/b", "o OK");
}

Test(envoy_decide, windows_of_the_calendar)
{
    int64_t day = INT64_C(86400);
    EXPECT_ENVOY(&e, AT(0), "month=x", "o OK 8 9/MONTH 2678400s");
    EXPECT_ENVOY(&e, AT(31 * day), "month=x", "o OK 8 9/MONTH 2419200s");
    EXPECT_ENVOY(&e, AT(0), "year=x", "o OK 4294967294 4294967295/YEAR 31536000s");
    EXPECT_ENVOY(&e, AT(0), "week=x", "o OK 8 9/WEEK 604800s");
    EXPECT_ENVOY(&e, AT(7 * day), "week=x", "o OK 8 9/WEEK 604800s");
}

Test(envoy_decide, other_algorithms_than_theirs)
{
    EXPECT_ENVOY(&e, AT(0), "smooth=x #3", "o OK 0 3/MINUTE 3s");
    EXPECT_ENVOY(&e, AT(0), "smooth=x #2", "X OVER 0 3/MINUTE 2s");
    EXPECT_ENVOY(&e, AT(1), "smooth=x", "o OK 0 3/MINUTE 3s");
}

Test(envoy_decide, requests_that_are_none)
{
    EXPECT_ENVOY(&e, AT(0), "", "3 descriptors: rate limit descriptor list must not be empty");
    EXPECT_ENVOY(&e, AT(0), "=x", "3 descriptors[0].entries: an entry's key must not be empty");
    cr_expect_str_eq(envoy_fixture_ask(&e, AT(0), "", "foo=x"),
                     "3 domain: rate limit domain must not be empty");
    char text[4096] = "";
    for (int i = 0; i < 16; i++) {
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "foo=%d;", i);
    }
    cr_expect(envoy_fixture_try(&e, AT(0), "rl", text));
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "foo=16");
    EXPECT_ENVOY(&e, AT(0), text, "3 descriptors: more than 16 of them meet a limit");
    EXPECT_ENVOY(&e, AT(0), "foo=0 #0", "o OK 1 2/HOUR 3600s");
    for (int i = 0; i < 48; i++) {
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), ";none=%d", i);
    }
    EXPECT_ENVOY(&e, AT(0), text,
                 "3 descriptors: 65 descriptors are more than the 64 that a request may have");
}

Test(envoy_no_file, only_what_brings_its_numbers_is_limited, .fini = close_rules)
{
    e.without_file = true;
    envoy_fixture_open(&e, "");
    EXPECT_ENVOY(&e, AT(0), "foo=x",
                 "14 domain: no rate limit configuration loaded (--envoy-config)");
    EXPECT_ENVOY(&e, AT(0), "foo=x @1/HOUR", "o OK 0 1/HOUR 3600s");
    EXPECT_SLUICE(&e, AT(0), "key=a, route=open", "o OK");
}
