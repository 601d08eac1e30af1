/* Each row of "Scalars" in README's chapter on the limits file. */
#include "limits_text.h"

struct scalar_case {
    const char *text;
    const char *reason; /* NULL: accepted */
};

/* Puts each text in the place of `from` and compares what is said at its place. */
static void scalar_check(const char *file, const char *from, const char *field, uint32_t line,
                         uint32_t column, const struct scalar_case *cases)
{
    for (; cases->text != NULL; cases++) {
        char whole[600];
        char expected[600] = "";
        char *text;
        (void)snprintf(whole, sizeof(whole), "%s: %s", field, cases->text);
        text = limits_text_with(file, from, whole);
        if (cases->reason == NULL) {
            limits_text_accepted(text, expected);
        } else {
            (void)snprintf(expected, sizeof(expected), "l.yaml:%u:%u: limit \"a\": %s\n", line,
                           column, cases->reason);
            limits_text_refused(text, expected);
        }
        free(text);
    }
}

#define WHOLE "; expected a whole number from 0 to 999999999999999"

Test(limits_file_scalars, whole_numbers)
{
    static const struct scalar_case cases[] = {
        {"60", NULL},
        {"0", NULL},
        {"1_000_000", NULL},
        {"\"60\"", NULL},
        {"'60'", NULL},
        {"999999999999999", NULL},
        {"999_999_999_999_999", NULL},
        {"-5", "limit: \"-5\" is negative" WHOLE},
        {"\"-0\"", "limit: \"-0\" is negative" WHOLE},
        {"+5", "limit: \"+5\" has a sign" WHOLE},
        {"5.5", "limit: \"5.5\" is a fraction" WHOLE},
        {"5.0", "limit: \"5.0\" is a fraction" WHOLE},
        {"1e3", "limit: \"1e3\" has an exponent" WHOLE},
        {"1e400", "limit: \"1e400\" has an exponent" WHOLE},
        {"010", "limit: \"010\" begins with 0" WHOLE},
        {"0x10", "limit: \"0x10\" begins with 0" WHOLE},
        {"0o17", "limit: \"0o17\" begins with 0" WHOLE},
        {"10k", "limit: \"10k\" has more in it than digits" WHOLE},
        {"\"\"", "limit: \"\" is empty" WHOLE},
        {"\" 5\"", "limit: \" 5\" is no number" WHOLE},
        {"\"5 \"", "limit: \"5 \" has more in it than digits" WHOLE},
        {".nan", "limit: \".nan\" is no number" WHOLE},
        {"NaN", "limit: \"NaN\" is no number" WHOLE},
        {"abc", "limit: \"abc\" is no number" WHOLE},
        {"null", "limit: \"null\" is no number" WHOLE},
        {"~", "limit: \"~\" is no number" WHOLE},
        {"true", "limit: \"true\" is no number" WHOLE},
        {"_5", "limit: \"_5\" is no number" WHOLE},
        {"5_", "limit: \"5_\" has more in it than digits" WHOLE},
        {"5__0", "limit: \"5__0\" has more in it than digits" WHOLE},
        {"1000000000000000", "limit: \"1000000000000000\" is too large" WHOLE},
        {"18446744073709551616", "limit: \"18446744073709551616\" is too large" WHOLE},
        {"99999999999999999999999", "limit: \"99999999999999999999999\" is too large" WHOLE},
        {"[5]", "limit: expected a whole number, not a list"},
        {"{a: 5}", "limit: expected a whole number, not a mapping"},
        {NULL, NULL}};
    scalar_check(LIMITS_TEXT_GOOD, "limit: 5", "limit", 2, 39, cases);
}

Test(limits_file_scalars, a_log_counts_to_a_million)
{
    static const struct scalar_case cases[] = {
        {"1000000", NULL},
        {"1000001",
         "limit: \"1000001\" is too large; expected a whole number from 0 to 1000000"},
        {NULL, NULL}};
    char *text = limits_text_with(LIMITS_TEXT_GOOD, "fixed_window", "sliding_window_log");
    scalar_check(text, "limit: 5", "limit", 2, 45, cases);
    free(text);
}

Test(limits_file_scalars, durations)
{
    static const struct scalar_case cases[] = {
        {"60s", NULL},
        {"\"60s\"", NULL},
        {"1h30m", NULL},
        {"250ms", NULL},
        {"7d", NULL},
        {"1ms", NULL},
        {"1000us", NULL},
        {"1000000ns", NULL},
        {"3653d", NULL},
        {"1w2d3h4m5s6ms7us8ns", NULL},
        {"10", "window: \"10\": needs a unit, such as 10s"},
        {"0", "window: \"0\": needs a unit, such as 10s"},
        {"1.5h", "window: \"1.5h\": has a fraction; use a smaller unit: 1h30m, not 1.5h"},
        {"1h1h", "window: \"1h1h\": names a unit twice"},
        {"5m1h", "window: \"5m1h\": units must fall, as in 1h30m"},
        {"0s", "window: \"0s\": is too short; expected 1ms to 10 years (3653d)"},
        {"999us", "window: \"999us\": is too short; expected 1ms to 10 years (3653d)"},
        {"999999ns", "window: \"999999ns\": is too short; expected 1ms to 10 years (3653d)"},
        {"573w", "window: \"573w\": is too long; expected 1ms to 10 years (3653d)"},
        {"3653d1ns", "window: \"3653d1ns\": is too long; expected 1ms to 10 years (3653d)"},
        {"[1s]", "window: expected a duration such as 60s, not a list"},
        {NULL, NULL}};
    scalar_check(LIMITS_TEXT_GOOD, "window: 60s", "window", 2, 50, cases);
}

/* The words are base/text.h's; that there are some, and where, is ours. */
Test(limits_file_scalars, what_is_no_duration)
{
    static const char *const texts[] = {"5mo", "1y", "-5s", "+5s", "1 h", "\"\"", "h", "5S", "01s",
                                        "99999999999999999999w", "999999999w", "60s ago", NULL};
    for (uint32_t i = 0; texts[i] != NULL; i++) {
        char whole[100];
        (void)snprintf(whole, sizeof(whole), "window: %s", texts[i]);
        char *text = limits_text_with(LIMITS_TEXT_GOOD, "window: 60s", whole);
        struct policy_set *set = NULL;
        char *said = limits_text_read(slice_text(text), &set);
        static const char start[] = "l.yaml:2:50: limit \"a\": window: \"";
        cr_expect_null(set, "%s", whole);
        cr_expect(strncmp(said, start, strlen(start)) == 0, "%s: %s", whole, said);
        cr_expect_eq(strchr(said, '\n'), said + strlen(said) - 1, "more than one line: %s", said);
        free(said);
        free(text);
    }
}

Test(limits_file_scalars, bools)
{
    static const struct scalar_case cases[] = {
        {"true", NULL},
        {"false", NULL},
        {"yes", "shadow: \"yes\" is neither true nor false"},
        {"on", "shadow: \"on\" is neither true nor false"},
        {"1", "shadow: \"1\" is neither true nor false"},
        {"banana", "shadow: \"banana\" is neither true nor false"},
        {"True", "shadow: \"True\" is neither true nor false"},
        {"\"\"", "shadow: \"\" is neither true nor false"},
        {"[true]", "shadow: expected true or false, not a list"},
        {NULL, NULL}};
    scalar_check(LIMITS_TEXT_GOOD, "limit: 5", "limit: 5, shadow", 2, 50, cases);
}

#define WITH_OVERRIDE                                                                             \
    "limits:\n"                                                                                   \
    "  a:\n"                                                                                      \
    "    algorithm: token_bucket\n"                                                               \
    "    limit: 5\n"                                                                              \
    "    window: 60s\n"                                                                           \
    "    overrides:\n"                                                                            \
    "    - match: {key: k}\n"                                                                     \
    "      until: 2030-01-01T00:00:00Z\n"                                                         \
    "routes:\n"                                                                                   \
    "  \"*\": [a]\n"

Test(limits_file_scalars, patterns)
{
    static const struct scalar_case cases[] = {
        {"abc", NULL},
        {"\"*\"", NULL},
        {"'a*b*c'", NULL},
        {"'a\\*b'", NULL},
        {"'a\\\\b'", NULL},
        {"'a\\b'", "override: match: in \"a\\\\b\" a \\ stands before neither * nor \\"},
        {"'\\'", "override: match: in \"\\\\\" a \\ stands before neither * nor \\"},
        {"'x\\\\\\'", "override: match: in \"x\\\\\\\\\\\\\" a \\ stands before neither * nor \\"},
        {"''", "override: match: \"\" can match nothing; keys, routes and attributes have at "
               "least 1 byte"},
        {"[a]", "override: expected a pattern, or a network as {cidr: \"10.0.0.0/8\"}"},
        {NULL, NULL}};
    char *text = limits_text_with(WITH_OVERRIDE, "{key: k}", "\n        key: k");
    scalar_check(text, "key: k", "key", 8, 14, cases);
    free(text);
}

#define NO_INSTANT                                                                                \
    " is no instant; expected date, time and zone such as 2027-01-01T00:00:00Z"

Test(limits_file_scalars, times)
{
    static const struct scalar_case cases[] = {
        {"2030-01-01T00:00:00Z", NULL},
        {"\"2030-01-01T00:00:00+02:00\"", NULL},
        {"2030-01-01T00:00:00.5-07:00", NULL},
        {"9999-12-31T23:59:59Z", NULL},
        {"2030-01-01", "override: until: \"2030-01-01\"" NO_INSTANT},
        {"2030-01-01T00:00:00", "override: until: \"2030-01-01T00:00:00\"" NO_INSTANT},
        {"2030-02-30T00:00:00Z", "override: until: \"2030-02-30T00:00:00Z\"" NO_INSTANT},
        {"tomorrow", "override: until: \"tomorrow\"" NO_INSTANT},
        {"1893456000", "override: until: \"1893456000\"" NO_INSTANT},
        {NULL, NULL}};
    scalar_check(WITH_OVERRIDE, "until: 2030-01-01T00:00:00Z", "until", 8, 14, cases);
}

Test(limits_file_scalars, an_until_in_the_past_is_a_warning)
{
    static const char *const past[] = {"2026-01", "0001-01"};
    for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++) {
        char *text = limits_text_with(WITH_OVERRIDE, "2030-01", past[i]);
        limits_text_accepted(text, "l.yaml:8:14: warning: limit \"a\": override: until lies in the "
                                   "past: it matches nothing any more\n");
        free(text);
    }
}

Test(limits_file_scalars, an_until_beyond_2262_never_ends)
{
    char *text = limits_text_with(WITH_OVERRIDE, "2030-01", "9999-01");
    struct policy_set *set = limits_text_set(text);
    const struct policy_limit *limit = limits_text_limit(set, "a");
    cr_assert_eq(limit->override_count, 1);
    cr_expect_eq(limit->overrides[0].until_ns, INT64_MAX);
    policy_set_destroy(&set);
    free(text);
}

Test(limits_file_scalars, names_are_text_as_written)
{
    static const char *const names[] = {"no", "null", "0123", "1_000", "true", "a.b-c_D", "0x1F",
                                        NULL};
    for (uint32_t i = 0; names[i] != NULL; i++) {
        char text[200];
        (void)snprintf(text, sizeof(text),
                       "limits:\n  %s: {algorithm: fixed_window, limit: 5, window: 60s, "
                       "count_by: [%s]}\nroutes:\n  \"*\": [%s]\n",
                       names[i], names[i], names[i]);
        struct policy_set *set = limits_text_set(text);
        const struct policy_limit *limit = limits_text_limit(set, names[i]);
        cr_expect(slice_equal_text(limit->parts[0].attribute, names[i]));
        cr_expect_eq(limit->parts[0].source, POLICY_ATTRIBUTE);
        policy_set_destroy(&set);
    }
}
