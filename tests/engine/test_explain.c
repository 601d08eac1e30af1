/* What `sluice check --explain` says. */
#include "limits_text.h"

#include "engine/explain.h"

static const char explain_limits[] =
    "limits:\n"
    "  per_key:\n"
    "    algorithm: token_bucket\n"
    "    limit: 60\n"
    "    window: 1m\n"
    "    burst: 20\n"
    "    plans: {by: plan, values: {pro: {limit: 600}, free: {blocked: true}}}\n"
    "    overrides:\n"
    "      - match: {key: \"tenant-*\"}\n"
    "        limit: 1000\n"
    "        until: 2027-01-01T00:00:00Z\n"
    "      - match: {key: \"internal\"}\n"
    "        unlimited: true\n"
    "  per_net:\n"
    "    algorithm: sliding_window_log\n"
    "    limit: 0\n"
    "    window: 1h30m\n"
    "    count_by: [route, ip]\n"
    "    ip_prefix: {of: ip, v4: 24}\n"
    "    shadow: true\n"
    "  per_day: {algorithm: fixed_window, limit: 9, window: day, timezone: Europe/Berlin, "
    "count_by: []}\n"
    "routes:\n"
    "  \"GET /a/*\": {limits: [per_key, per_net, per_day], cost: 3}\n"
    "  \"GET /none\": []\n"
    "normalize_routes: [merge_slashes]\n";

static struct request explain_of(const char *key, const char *route)
{
    return (struct request){.key = slice_text(key), .route = slice_text(route)};
}

static void with(struct request *request, const char *name, const char *value)
{
    request->attributes[request->attribute_count++] =
        (struct request_attribute){slice_text(name), slice_text(value)};
}

static void expect_explained(const struct request *request, const char *expected)
{
    struct policy_set *set = limits_text_set(explain_limits);
    struct buf out;
    buf_init(&out, 0);
    explain_request(set, request, LIMITS_TEXT_NOW_NS, &out);
    buf_append_byte(&out, '\0');
    cr_expect_str_eq((const char *)buf_slice(&out).data, expected, "said:\n%s\nexpected:\n%s",
                     (const char *)buf_slice(&out).data, expected);
    buf_deinit(&out);
    policy_set_destroy(&set);
}

Test(explain, an_override_and_a_network)
{
    struct request request = explain_of("tenant-\"7\"", "GET //a/b");
    with(&request, "ip", "192.0.2.77");
    expect_explained(&request,
                     "key        \"tenant-\\\"7\\\"\"\n"
                     "route      \"GET //a/b\", normalised to \"GET /a/b\"\n"
                     "entry      \"GET /a/*\", line 23\n"
                     "cost       3, the entry's\n"
                     "\n"
                     "limit \"per_key\", token_bucket\n"
                     "  numbers    1000 per 1m, burst 20\n"
                     "  from       the override of line 9, {\"key\": \"tenant-*\"}, until "
                     "2027-01-01T00:00:00Z\n"
                     "  counted by key = \"tenant-\\\"7\\\"\"\n"
                     "\n"
                     "limit \"per_net\", sliding_window_log, shadow: counts, and never refuses\n"
                     "  numbers    0 per 1h30m: closed, every cost of 1 or more is refused for "
                     "ever\n"
                     "  from       the limit itself, line 14\n"
                     "  counted by route = \"GET /a/b\"\n"
                     "  and        \"ip\" = \"192.0.2.77\", counted as 192.0.2.0/24\n"
                     "\n"
                     "limit \"per_day\", fixed_window\n"
                     "  numbers    9 per day (Europe/Berlin, now 2025-12-31T23:00:00Z to "
                     "2026-01-01T23:00:00Z)\n"
                     "  from       the limit itself, line 21\n"
                     "  counted by nothing: one counter for everybody\n");
}

static void expect_part(const struct request *request, const char *part)
{
    struct policy_set *set = limits_text_set(explain_limits);
    struct buf out;
    buf_init(&out, 0);
    explain_request(set, request, LIMITS_TEXT_NOW_NS, &out);
    buf_append_byte(&out, '\0');
    cr_expect_not_null(strstr((const char *)buf_slice(&out).data, part), "%s\nis not in\n%s", part,
                       (const char *)buf_slice(&out).data);
    buf_deinit(&out);
    policy_set_destroy(&set);
}

Test(explain, plans_unlimited_and_blocked)
{
    struct request request = explain_of("k", "GET /a/b");
    request.has_cost = true;
    request.cost = 7;
    expect_part(&request, "cost       7\n");
    expect_part(&request, "  from       the limit itself, line 2: no override matches, and "
                          "\"plan\" names no plan\n");
    with(&request, "plan", "pro");
    expect_part(&request, "  numbers    600 per 1m, burst 20\n"
                          "  from       plan \"pro\", the value of \"plan\"\n");
    request.attributes[0].value = slice_text("free");
    expect_part(&request, "  numbers    blocked: always refused\n"
                          "  from       plan \"free\", the value of \"plan\"\n");
    request.key = slice_text("internal");
    expect_part(&request, "  numbers    unlimited: allowed, and not counted\n"
                          "  from       the override of line 12, {\"key\": \"internal\"}\n");
}

Test(explain, what_a_request_lacks)
{
    struct request request = explain_of("k", "GET /a/b");
    expect_part(&request, "  and        \"ip\", which the request lacks: the limit is skipped\n");
    with(&request, "ip", "nowhere");
    expect_part(&request, "  and        \"ip\" = \"nowhere\", which is no address: the limit is "
                          "skipped\n");
}

Test(explain, nothing_that_limits)
{
    struct request request = explain_of("k", "PUT /a");
    expect_explained(&request, "key        \"k\"\nroute      \"PUT /a\"\n"
                               "entry      none matches: allowed, NO_LIMIT\n");
    request = explain_of("k", "GET /none");
    expect_explained(&request, "key        \"k\"\nroute      \"GET /none\"\n"
                               "entry      \"GET /none\", line 24\ncost       1, the entry's\n"
                               "limits     none: allowed, NO_LIMIT\n");
}

Test(explain, a_request_that_is_none)
{
    struct request request = explain_of("", "x");
    expect_part(&request, "INVALID_ARGUMENT: key: ");
}
