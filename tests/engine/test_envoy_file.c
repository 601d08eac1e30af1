/* Envoy files: what is accepted, and what is said about the rest. */
#include "limits_text.h"

#include "engine/envoy_config.h"

static char *read_file(const char *text, bool classic, struct policy_set **set)
{
    struct limits_file_options options = limits_text_options();
    struct limits_file_report report;
    options.envoy_path = "e.yaml";
    options.envoy_text = slice_text(text);
    options.envoy_classic = classic;
    limits_file_report_init(&report);
    enum status status =
        limits_file_parse("l.yaml", slice_text(LIMITS_TEXT_GOOD), &options, set, &report);
    cr_assert_eq(status == STATUS_OK, *set != NULL);
    char *said = strndup(report.text.data == NULL ? "" : (const char *)buf_slice(&report.text).data,
                         report.text.size);
    limits_file_report_deinit(&report);
    return said;
}

static void refused(const char *text, const char *expected)
{
    struct policy_set *set = NULL;
    char *said = read_file(text, false, &set);
    cr_expect_null(set);
    cr_expect_str_eq(said, expected, "said:\n%sexpected:\n%sof:\n%s", said, expected, text);
    policy_set_destroy(&set);
    free(said);
}

static struct policy_set *accepted(const char *text, const char *expected)
{
    struct policy_set *set = NULL;
    char *said = read_file(text, false, &set);
    cr_assert(set != NULL, "refused:\n%s%s", said, text);
    cr_expect_str_eq(said, expected, "said:\n%sexpected:\n%sof:\n%s", said, expected, text);
    free(said);
    return set;
}

#define ONE(fields) "domain: a\ndescriptors:\n  - " fields "\n"

Test(envoy_file, everything_that_their_files_hold)
{
    struct policy_set *set = accepted(
        "domain: mongo_cps\n"
        "descriptors:\n"
        "  - key: database\n"
        "    value: users\n"
        "    rate_limit:\n"
        "      unit: SECOND\n"
        "      requests_per_unit: 500\n"
        "      name: users\n"
        "      replaces: [{name: other}, {name: third}]\n"
        "    detailed_metric: true\n"
        "    value_to_metric: yes\n"
        "    metadata: {a: 1.5, b: [x, {c: ~}]}\n"
        "  - key: database\n"
        "    shadow_mode: True\n"
        "    quota_mode: on\n"
        "    rate_limit: {unit: Week, requests_per_unit: 4_000_000_000}\n"
        "    descriptors:\n"
        "      - key: 12\n"
        "        value: \"*.5*\"\n"
        "        share_threshold: true\n"
        "        rate_limit: {unlimited: true}\n"
        "      - key: empty\n"
        "        value:\n"
        "        rate_limit: ~\n"
        "  - {key: smooth, algorithm: token_bucket, burst: 9, rate_limit: {unit: day, "
        "requests_per_unit: 3}}\n",
        "");
    cr_assert_eq(set->limit_count, 4);
    cr_expect_eq(set->envoy->rule_count, 3);
    cr_expect(set->envoy->loaded && !set->envoy->classic);
    const struct policy_limit *users = limits_text_limit(set, "envoy:mongo_cps/database=users");
    cr_expect(users->limit == 500 && users->window_ns == INT64_C(1000000000));
    cr_expect_eq(users->part_count, 0);
    const struct policy_limit *week = limits_text_limit(set, "envoy:mongo_cps/database");
    cr_expect(week->limit == UINT32_C(4000000000) && week->shadow && week->part_count == 1);
    const struct policy_limit *smooth = limits_text_limit(set, "envoy:mongo_cps/smooth");
    cr_expect(smooth->algorithm == LIMITER_TOKEN_BUCKET && smooth->limit == 3 &&
              smooth->burst == 9);
    policy_set_destroy(&set);
}

Test(envoy_file, months_are_the_calendars_unless_classic)
{
    static const char text[] = ONE("{key: k, rate_limit: {unit: month, requests_per_unit: 1}}");
    struct policy_set *set = NULL;
    free(read_file(text, false, &set));
    const struct policy_limit *limit = limits_text_limit(set, "envoy:a/k");
    cr_expect(limit->window_ns == 0 && limit->calendar.unit == CALENDAR_MONTH);
    policy_set_destroy(&set);
    free(read_file(text, true, &set));
    limit = limits_text_limit(set, "envoy:a/k");
    cr_expect_eq(limit->window_ns, INT64_C(2592000) * 1000000000);
    policy_set_destroy(&set);
    free(read_file(ONE("{key: k, algorithm: sliding_window_log, rate_limit: {unit: year, "
                       "requests_per_unit: 1}}"),
                   false, &set));
    limit = limits_text_limit(set, "envoy:a/k");
    cr_expect_eq(limit->window_ns, INT64_C(31536000) * 1000000000);
    policy_set_destroy(&set);
}

Test(envoy_file, names_are_apart_whatever_is_in_them)
{
    struct policy_set *set = accepted("domain: a/b\n"
                                      "descriptors:\n"
                                      "  - {key: \"x/y\", rate_limit: {unit: day}}\n"
                                      "  - {key: \"x=y\", rate_limit: {unit: day}}\n"
                                      "  - {key: x, value: y, rate_limit: {unit: day}}\n"
                                      "  - {key: x_y, rate_limit: {unit: day}}\n"
                                      "  - {key: '\\', rate_limit: {unit: day}}\n",
                                      "");
    (void)limits_text_limit(set, "envoy:a\\/b/x\\/y");
    (void)limits_text_limit(set, "envoy:a\\/b/x\\=y");
    (void)limits_text_limit(set, "envoy:a\\/b/x=y");
    (void)limits_text_limit(set, "envoy:a\\/b/x_y");
    (void)limits_text_limit(set, "envoy:a\\/b/\\\\");
    policy_set_destroy(&set);
}

Test(envoy_file, the_document)
{
    refused("", "e.yaml:1:1: the file is empty; expected domain and descriptors\n");
    refused("[]", "e.yaml:1:1: expected a mapping with domain and descriptors\n");
    refused("descriptors: []\n", "e.yaml:1:1: config file cannot have an empty domain\n");
    refused("domain: ''\n", "e.yaml:1:9: config file cannot have an empty domain\n");
    refused("domain: sluice\n", "e.yaml:1:9: domain \"sluice\" is the limits file's own\n");
    refused("domain: a\ndescripters: []\n",
            "e.yaml:2:1: unknown field \"descripters\"; did you mean \"descriptors\"?\n");
    refused("domain: a\ndescriptors: {}\n",
            "e.yaml:2:14: descriptors: expected a list of descriptors\n");
    refused("domain: a\ndomain: b\n",
            "e.yaml:2:1: field \"domain\" stands here twice, first in line 1\n");
    struct policy_set *set = accepted("domain: a\n", "");
    policy_set_destroy(&set);
    set = accepted("domain: a\ndescriptors:\n", "");
    policy_set_destroy(&set);
    set = accepted("domain: a\nshadow_mode: true\n",
                   "e.yaml:2:1: warning: \"shadow_mode\" means nothing here and is ignored\n");
    policy_set_destroy(&set);
}

Test(envoy_file, descriptors)
{
    refused(ONE("a"), "e.yaml:3:5: expected a mapping such as {key: user}\n");
    refused(ONE("{value: x}"), "e.yaml:3:5: descriptor has an empty key\n");
    refused(ONE("{key: a, rate: 5}"), "e.yaml:3:14: unknown field \"rate\"\n");
    refused(ONE("{key: [a]}"), "e.yaml:3:11: key: expected text, not a list\n");
    refused(ONE("{key: a, value: 1.5}"),
            "e.yaml:3:21: value: \"1.5\" is a number with a fraction (or a very large one); put it "
            "in quotes if it is meant as text\n");
    refused(ONE("{key: a, value: 9223372036854775808}"),
            "e.yaml:3:21: value: \"9223372036854775808\" is a number with a fraction (or a very "
            "large one); put it in quotes if it is meant as text\n");
    refused(ONE("{key: a, shadow_mode: maybe}"),
            "e.yaml:3:27: shadow_mode: \"maybe\" is neither true nor false\n");
    refused(ONE("{key: a, metadata: 3}"), "e.yaml:3:24: metadata: expected a mapping\n");
    refused(ONE("{key: a, descriptors: 3}"),
            "e.yaml:3:27: descriptors: expected a list of descriptors\n");
    refused(ONE("{key: a}\n  - {key: a, value: b}\n  - {key: a}\n  - {key: a, value: b}"),
            "e.yaml:5:5: descriptor \"a\" stands here twice, first in line 3\n"
            "e.yaml:6:5: descriptor \"a\" with value \"b\" stands here twice, first in line 4\n");
    struct policy_set *set = accepted(
        ONE("{key: a, value: b, share_threshold: true}\n  - {key: a_b}\n"
            "  - {key: b, value: '1.5'}"),
        "e.yaml:3:24: warning: share_threshold has no effect: the value has no *\n");
    policy_set_destroy(&set);
}

Test(envoy_file, rules)
{
    refused(ONE("{key: a, rate_limit: 5}"),
            "e.yaml:3:26: expected a mapping such as {unit: minute, requests_per_unit: 5}\n");
    refused(ONE("{key: a, rate_limit: {requests_per_unit: 5}}"),
            "e.yaml:3:26: missing field \"unit\"\n");
    refused(ONE("{key: a, rate_limit: {unit: fortnight}}"),
            "e.yaml:3:33: unit: \"fortnight\" is none; expected second, minute, hour, day, week, "
            "month or year\n");
    refused(ONE("{key: a, rate_limit: {unit: unknown}}"),
            "e.yaml:3:33: unit: \"unknown\" is none; expected second, minute, hour, day, week, "
            "month or year\n");
    refused(ONE("{key: a, rate_limit: {unit: day, requests_per_unit: -1}}"),
            "e.yaml:3:57: requests_per_unit: \"-1\" is negative; expected a whole number from 0 to "
            "4294967295\n");
    refused(ONE("{key: a, rate_limit: {unit: day, requests_per_unit: 4294967296}}"),
            "e.yaml:3:57: requests_per_unit: \"4294967296\" is too large; expected a whole number "
            "from 0 to 4294967295\n");
    refused(ONE("{key: a, rate_limit: {unit: day, unlimited: true}}"),
            "e.yaml:3:27: unit beside unlimited: one of them only\n");
    refused(ONE("{key: a, rate_limit: {unit: day, name: n, replaces: [{name: n}]}}"),
            "e.yaml:3:58: replaces: a rule cannot replace itself\n");
    refused(ONE("{key: a, rate_limit: {unit: day, replaces: [{name: ''}]}}"),
            "e.yaml:3:49: replaces: a name is missing\n");
    refused(ONE("{key: a, rate_limit: {unit: day, requests: 3}}"),
            "e.yaml:3:38: unknown field \"requests\"\n");
}

Test(envoy_file, our_own_fields)
{
    refused(ONE("{key: a, algorithm: token_bucket}"),
            "e.yaml:3:14: algorithm needs a rate_limit beside it\n");
    refused(ONE("{key: a, algorithm: concurrency, rate_limit: {unit: day}}"),
            "e.yaml:3:25: unknown algorithm \"concurrency\"; expected token_bucket, leaky_bucket, "
            "fixed_window, sliding_window_log or sliding_window_counter\n");
    refused(ONE("{key: a, burst: 3, rate_limit: {unit: day, requests_per_unit: 3}}"),
            "e.yaml:3:14: fixed_window has no burst\n");
    refused(ONE("{key: a, algorithm: leaky_bucket, burst: 0, rate_limit: {unit: day, "
                "requests_per_unit: 1}}"),
            "e.yaml:3:46: burst: \"0\" is too small; expected a whole number from 1 to "
            "999999999999999\n");
    refused(ONE("{key: a, algorithm: leaky_bucket, burst: 5, rate_limit: {unit: day}}"),
            "e.yaml:3:39: burst beside requests_per_unit 0: nothing is let through\n");
    refused(ONE("{key: a, algorithm: leaky_bucket, rate_limit: {unlimited: true}}"),
            "e.yaml:3:14: algorithm beside unlimited: one of them only\n");
    refused(ONE("{key: a, algorithm: sliding_window_log, rate_limit: {unit: day, "
                "requests_per_unit: 1000001}}"),
            "e.yaml:3:88: requests_per_unit: \"1000001\" is too large; expected a whole number "
            "from 0 to 1000000\n");
}
