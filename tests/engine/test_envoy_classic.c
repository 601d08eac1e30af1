/* Descriptors decided one by one, charged past their limits, as envoyproxy/ratelimit does. */
#include "envoy_fixture.h"

#define RULES                                                                                     \
    "domain: rl\n"                                                                                \
    "descriptors:\n"                                                                              \
    "  - key: foo\n"                                                                              \
    "    rate_limit: {unit: hour, requests_per_unit: 2}\n"                                        \
    "  - key: zero\n"                                                                             \
    "    rate_limit: {unit: hour, requests_per_unit: 0}\n"                                        \
    "  - key: dry\n"                                                                              \
    "    shadow_mode: true\n"                                                                     \
    "    rate_limit: {unit: hour, requests_per_unit: 1}\n"                                        \
    "  - key: q1\n"                                                                               \
    "    quota_mode: true\n"                                                                      \
    "    rate_limit: {unit: hour, requests_per_unit: 1}\n"                                        \
    "  - key: q2\n"                                                                               \
    "    quota_mode: true\n"                                                                      \
    "    rate_limit: {unit: hour, requests_per_unit: 2}\n"                                        \
    "  - key: month\n"                                                                            \
    "    rate_limit: {unit: month, requests_per_unit: 9}\n"                                       \
    "  - key: year\n"                                                                             \
    "    rate_limit: {unit: year, requests_per_unit: 9}\n"                                        \
    "  - key: smooth\n"                                                                           \
    "    algorithm: token_bucket\n"                                                               \
    "    rate_limit: {unit: minute, requests_per_unit: 3}\n"

static struct envoy_fixture e;

static void open_rules(void)
{
    e.classic = true;
    envoy_fixture_open(&e, RULES);
}

static void close_rules(void)
{
    fixture_close(&e.f);
}

TestSuite(envoy_classic, .init = open_rules, .fini = close_rules);

Test(envoy_classic, refusals_are_charged_too)
{
    EXPECT_ENVOY(&e, AT(0), "foo=a; zero=a", "X OK 1 2/HOUR 3600s; OVER 0 0/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=a", "o OK 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=a", "X OVER 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=a #0", "X OVER 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=a #-1", "o OK 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=a #0", "o OK 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=b #5", "X OVER 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=b #-4", "o OK 1 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=b; foo=b; foo=b",
                 "X OK 0 2/HOUR 3600s; OVER 0 2/HOUR 3600s; OVER 0 2/HOUR 3600s");
}

Test(envoy_classic, more_than_can_be_counted_is_over_and_not_counted)
{
    EXPECT_ENVOY(&e, AT(0), "foo=a #9223372036854775807", "X OVER 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "foo=a", "o OK 1 2/HOUR 3600s");
}

Test(envoy_classic, shadows_and_quotas)
{
    EXPECT_ENVOY(&e, AT(0), "dry=a #3", "o OK 0 1/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "q1=a; q2=a", "o OK 0 1/HOUR 3600s; OK 1 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "q1=a; q2=a", "o OVER 0 1/HOUR 3600s; OK 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "q1=a; q2=a", "X OVER 0 1/HOUR 3600s; OVER 0 2/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "q1=a; foo=q", "X OVER 0 1/HOUR 3600s; OK 1 2/HOUR 3600s");
}

Test(envoy_classic, months_and_years_are_days)
{
    int64_t start_s = FIXTURE_T0 / SECONDS(1);
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "o OK 8 9/MONTH %llds",
                   (long long)(2592000 - start_s % 2592000));
    EXPECT_ENVOY(&e, AT(0), "month=x", expected);
    (void)snprintf(expected, sizeof(expected), "o OK 8 9/YEAR %llds",
                   (long long)(31536000 - start_s % 31536000));
    EXPECT_ENVOY(&e, AT(0), "year=x", expected);
    (void)snprintf(expected, sizeof(expected), "o OK 8 9/MONTH %llds",
                   (long long)(2592000 - start_s % 2592000));
    EXPECT_ENVOY(&e, AT(0), "any=x @9/MONTH", expected);
}

Test(envoy_classic, other_algorithms_decide_as_ever)
{
    EXPECT_ENVOY(&e, AT(0), "smooth=x #3", "o OK 0 3/MINUTE 60s");
    EXPECT_ENVOY(&e, AT(0), "smooth=x", "X OVER 0 3/MINUTE 20s");
    EXPECT_ENVOY(&e, AT(20), "smooth=x", "o OK 0 3/MINUTE 60s");
}

Test(envoy_classic, the_limits_file_one_by_one)
{
    EXPECT_SLUICE(&e, AT(0), "key=a, route=fw; key=b, route=fw #9; key=a, route=fw",
                  "X OK 2 3/HOURfw 3600s; OVER 3 3/HOURfw; OK 1 3/HOURfw 3600s");
}
