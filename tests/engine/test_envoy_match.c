/* Which rule a descriptor meets, and what a reload makes of its counters. */
#include "envoy_fixture.h"

#define RULES                                                                                     \
    "domain: rl\n"                                                                                \
    "descriptors:\n"                                                                              \
    "  - key: path\n"                                                                             \
    "    value: /a*\n"                                                                            \
    "    rate_limit: {unit: day, requests_per_unit: 1, name: first}\n"                            \
    "  - key: path\n"                                                                             \
    "    value: '*b'\n"                                                                           \
    "    rate_limit: {unit: day, requests_per_unit: 2, name: second}\n"                           \
    "  - key: path\n"                                                                             \
    "    rate_limit: {unit: day, requests_per_unit: 3, name: default}\n"                          \
    "  - key: path\n"                                                                             \
    "    value: /ab\n"                                                                            \
    "    rate_limit: {unit: day, requests_per_unit: 4, name: exact}\n"                            \
    "  - key: tenant\n"                                                                           \
    "    descriptors:\n"                                                                          \
    "      - key: user\n"                                                                         \
    "        rate_limit: {unit: day, requests_per_unit: 5, name: any}\n"                          \
    "  - key: tenant\n"                                                                           \
    "    value: acme\n"                                                                           \
    "    rate_limit: {unit: day, requests_per_unit: 6, name: acme}\n"                             \
    "    descriptors:\n"                                                                          \
    "      - key: user\n"                                                                         \
    "        value: root\n"                                                                       \
    "        rate_limit: {unit: day, requests_per_unit: 7, name: root}\n"                         \
    "  - key: a_b\n"                                                                              \
    "    rate_limit: {unit: day, requests_per_unit: 8, name: joined}\n"

static struct envoy_fixture e;

static void open_rules(void)
{
    envoy_fixture_open(&e, RULES);
}

static void close_rules(void)
{
    fixture_close(&e.f);
}

TestSuite(envoy_match, .init = open_rules, .fini = close_rules);

/* The name of the rule that decides, "" where none does. */
static void expect_rule(const char *text, const char *name)
{
    char full[64];
    (void)snprintf(full, sizeof(full), "%s #0", text);
    cr_assert(envoy_fixture_try(&e, AT(0), "rl", full));
    const struct envoy_status *status = &e.answer.statuses[0];
    struct slice met = status->has_limit ? status->name : slice_text("");
    cr_expect(slice_equal_text(met, name), "%s meets \"%.*s\", not \"%s\"", text, (int)met.size,
              (const char *)met.data, name);
}

Test(envoy_match, exact_then_patterns_in_order_then_the_default)
{
    expect_rule("path=/ab", "exact");
    expect_rule("path=/a", "first");
    expect_rule("path=/axb", "first");
    expect_rule("path=/xb", "second");
    expect_rule("path=b", "second");
    expect_rule("path=/x", "default");
    expect_rule("path=", "default");
    expect_rule("path=/a*", "first");
}

Test(envoy_match, the_depth_must_match)
{
    expect_rule("tenant=x, user=y", "any");
    expect_rule("tenant=x", "");
    expect_rule("tenant=acme", "acme");
    expect_rule("tenant=x, user=y, more=z", "");
    expect_rule("user=y", "");
    expect_rule("path=/x, user=y", "");
}

Test(envoy_match, never_back)
{
    expect_rule("tenant=acme, user=root", "root");
    expect_rule("tenant=acme, user=other", "");
}

Test(envoy_match, key_and_value_are_not_glued)
{
    expect_rule("a=b", "");
    expect_rule("a_b=x", "joined");
    expect_rule("a_b=", "joined");
}

Test(envoy_match, patterns)
{
    static const struct {
        const char *pattern;
        const char *text;
        bool matches;
    } cases[] = {
        {"*", "", true},          {"*", "x", true},         {"a*", "a", true},
        {"a*", "ba", false},      {"*a", "ba", true},       {"*a", "ab", false},
        {"a*b", "ab", true},      {"a*b", "axxb", true},    {"a*b", "axxbc", false},
        {"ab*ba", "aba", false},  {"ab*ba", "abba", true},  {"a*b*c", "abc", true},
        {"a*b*c", "a1b2b3c", true}, {"a*b*c", "acb", false}, {"*ab*ab", "abxab", true},
        {"*ab*ab", "abab", true}, {"*ab*ab", "ab", false},  {"**", "x", true},
        {"a**b", "ab", true},     {"\\*", "\\x", true},     {"\\*", "*", false},
        {"x", "x", true},         {"x", "xy", false},       {"", "", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq(envoy_match_pattern(slice_text(cases[i].pattern), slice_text(cases[i].text)),
                     cases[i].matches, "%s on %s", cases[i].pattern, cases[i].text);
    }
}

Test(envoy_match, patterns_agree_with_a_plain_matcher)
{
    static const char letters[] = "ab*";
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char pattern[8] = "";
        char text[8] = "";
        bool row[8][8] = {{false}};
        for (int i = 0; i < 7; i++) {
            seed = seed * 1664525u + 1013904223u;
            pattern[i] = i < (int)(seed >> 29) ? letters[(seed >> 8) % 3] : '\0';
            text[i] = i < (int)((seed >> 26) & 7) ? letters[(seed >> 16) & 1] : '\0';
        }
        size_t p = strlen(pattern);
        size_t t = strlen(text);
        for (size_t i = 0; i <= p; i++) {
            for (size_t j = 0; j <= t; j++) {
                row[i][j] = i == 0 ? j == 0
                            : pattern[i - 1] == '*'
                                ? row[i - 1][j] || (j > 0 && row[i][j - 1])
                                : j > 0 && pattern[i - 1] == text[j - 1] && row[i - 1][j - 1];
            }
        }
        cr_assert_eq(envoy_match_pattern(slice_text(pattern), slice_text(text)), row[p][t],
                     "%s on %s", pattern, text);
    }
}

#define RELOADED(numbers, more)                                                                   \
    "domain: rl\n"                                                                                \
    "descriptors:\n" more                                                                         \
    "  - key: path\n"                                                                             \
    "    rate_limit: {" numbers "}\n"

Test(envoy_reload, what_was_used_stays_used, .fini = close_rules)
{
    envoy_fixture_open(&e, RELOADED("unit: hour, requests_per_unit: 5", ""));
    EXPECT_ENVOY(&e, AT(0), "path=x #3", "o OK 2 5/HOUR 3600s");
    EXPECT_ENVOY(&e, AT(0), "path=y #3 @5/HOUR", "o OK 2 5/HOUR 3600s");
    envoy_fixture_reload(&e, AT(1), RELOADED("unit: hour, requests_per_unit: 9",
                                             "  - {key: other, rate_limit: {unit: day}}\n"));
    EXPECT_ENVOY(&e, AT(1), "path=x #0", "o OK 6 9/HOUR 3599s");
    EXPECT_ENVOY(&e, AT(1), "path=y #0 @5/HOUR", "o OK 2 5/HOUR 3599s");
    envoy_fixture_reload(&e, AT(2), RELOADED("unit: hour, requests_per_unit: 2", ""));
    EXPECT_ENVOY(&e, AT(2), "path=x #0", "o OK 0 2/HOUR 3598s");
    EXPECT_ENVOY(&e, AT(2), "path=x", "X OVER 0 2/HOUR 3598s");
    envoy_fixture_reload(&e, AT(3), RELOADED("unit: day, requests_per_unit: 5", ""));
    EXPECT_ENVOY(&e, AT(3), "path=x #0", "o OK 2 5/DAY 86397s");
    envoy_fixture_reload(&e, AT(4), "domain: rl\n");
    envoy_fixture_reload(&e, AT(5), RELOADED("unit: day, requests_per_unit: 5", ""));
    EXPECT_ENVOY(&e, AT(5), "path=x #0", "o OK 5 5/DAY 86395s");
}

Test(envoy_reload, a_rule_of_its_own_counts_from_the_start, .fini = close_rules)
{
    envoy_fixture_open(&e, RELOADED("unit: hour, requests_per_unit: 5", ""));
    EXPECT_ENVOY(&e, AT(0), "path=x #3", "o OK 2 5/HOUR 3600s");
    envoy_fixture_reload(&e, AT(1), RELOADED("unit: hour, requests_per_unit: 5",
                                             "  - {key: path, value: x, rate_limit: {unit: hour, "
                                             "requests_per_unit: 4}}\n"));
    EXPECT_ENVOY(&e, AT(1), "path=x #1", "o OK 3 4/HOUR 3599s");
}
