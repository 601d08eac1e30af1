/* What an accepted limits file becomes. */
#include "limits_text.h"

#include "engine/policy_builtin.h"

#define MINUTE_NS (INT64_C(60) * 1000000000)

static const char limits_example[] =
    "limits:\n"
    "  per_key:\n"
    "    algorithm: token_bucket\n"
    "    limit: 60\n"
    "    window: 1m\n"
    "    burst: 20\n"
    "    count_by: [key]\n"
    "    plans:\n"
    "      by: plan\n"
    "      values:\n"
    "        free: {limit: 61}\n"
    "        pro:  {limit: 600, burst: 100}\n"
    "        closed: {limit: 0}\n"
    "        same: {}\n"
    "        friend: {unlimited: true, blocked: false}\n"
    "    overrides:\n"
    "      - match: {key: \"tenant-42\"}\n"
    "        limit: 1000\n"
    "        until: 2027-01-01T00:00:00Z\n"
    "      - match: {plan: pro, key: \"internal-*\"}\n"
    "        unlimited: true\n"
    "      - match: {ip: {cidr: \"10.0.0.0/8\"}}\n"
    "        burst: 7\n"
    "      - match: {key: \"scraper-**\"}\n"
    "        blocked: true\n"
    "    shadow: false\n"
    "  per_address:\n"
    "    algorithm: sliding_window_log\n"
    "    limit: 5\n"
    "    window: 10s\n"
    "    count_by: [ip]\n"
    "    ip_prefix: {of: ip, v4: 24, v6: 56}\n"
    "    shadow: true\n"
    "  per_month:\n"
    "    algorithm: fixed_window\n"
    "    limit: 10000\n"
    "    window: month\n"
    "    timezone: Europe/Berlin\n"
    "    count_by: []\n"
    "  pace:\n"
    "    algorithm: leaky_bucket\n"
    "    limit: 3\n"
    "    window: 250ms\n"
    "    count_by: [region, key, route]\n"
    "  rolling: {algorithm: sliding_window_counter, limit: 9, window: 1h}\n"
    "routes:\n"
    "  \"POST /login\": [per_address, per_key]\n"
    "  \"GET /export/*\": {limits: [per_key, per_month, pace, rolling], cost: 10}\n"
    "  \"GET /health\": []\n"
    "  \"*\": [per_key]\n"
    "normalize_routes: [lowercase, strip_query]\n";

Test(limits_file, every_field_arrives)
{
    struct policy_set *set = limits_text_set(limits_example);
    cr_expect_eq(set->limit_count, 5);
    cr_expect_eq(set->route_count, 4);
    cr_expect_eq(set->normalise, POLICY_LOWERCASE | POLICY_STRIP_QUERY);
    cr_expect_eq(set->loaded_ns, LIMITS_TEXT_NOW_NS);
    const struct policy_limit *limit = limits_text_limit(set, "per_key");
    cr_expect_eq(limit->algorithm, LIMITER_TOKEN_BUCKET);
    cr_expect_eq(limit->limit, 60);
    cr_expect_eq(limit->burst, 20);
    cr_expect_eq(limit->window_ns, MINUTE_NS);
    cr_expect_eq(limit->part_count, 1);
    cr_expect_eq(limit->parts[0].source, POLICY_KEY);
    cr_expect_eq(limit->line, 2);
    cr_expect_not(limit->shadow);
    cr_expect_not(limit->ip_prefix);
    limit = limits_text_limit(set, "per_address");
    cr_expect_eq(limit->algorithm, LIMITER_SLIDING_LOG);
    cr_expect(limit->ip_prefix && limit->ip_part == 0);
    cr_expect_eq(limit->ip_v4_bits, 24);
    cr_expect_eq(limit->ip_v6_bits, 56);
    cr_expect(limit->shadow);
    cr_expect(slice_equal_text(limit->parts[0].attribute, "ip"));
    limit = limits_text_limit(set, "pace");
    cr_expect_eq(limit->algorithm, LIMITER_LEAKY_BUCKET);
    cr_expect_eq(limit->burst, 3);
    cr_expect_eq(limit->part_count, 3);
    cr_expect_eq(limit->parts[0].source, POLICY_ATTRIBUTE);
    cr_expect_eq(limit->parts[1].source, POLICY_KEY);
    cr_expect_eq(limit->parts[2].source, POLICY_ROUTE);
    limit = limits_text_limit(set, "rolling");
    cr_expect_eq(limit->algorithm, LIMITER_SLIDING_COUNTER);
    cr_expect_eq(limit->part_count, 1);
    policy_set_destroy(&set);
    cr_expect_null(set);
}

Test(limits_file, a_calendar_window_has_its_zone)
{
    struct policy_set *set = limits_text_set(limits_example);
    const struct policy_limit *limit = limits_text_limit(set, "per_month");
    cr_expect_eq(limit->window_ns, 0);
    cr_expect_eq(limit->part_count, 0);
    cr_expect_eq(limit->calendar.unit, CALENDAR_MONTH);
    cr_expect(slice_equal_text(limit->timezone, "Europe/Berlin"));
    cr_expect_gt(limit->calendar.zone.count, 100);
    const struct limiter_policy *policy = limits_text_numbers(set, &limit->own);
    cr_expect_eq(policy->calendar, &limit->calendar);
    cr_expect_eq(policy->window_ns, 0);
    policy_set_destroy(&set);
}

Test(limits_file, routes_hold_limits_in_order)
{
    struct policy_set *set = limits_text_set(limits_example);
    const struct policy_route *route = &set->routes[0];
    cr_expect(slice_equal_text(route->pattern, "post /login"));
    cr_expect_eq(route->limit_count, 2);
    cr_expect_eq(route->limits[0], limits_text_limit(set, "per_address"));
    cr_expect_eq(route->limits[1], limits_text_limit(set, "per_key"));
    cr_expect_eq(route->cost, 1);
    cr_expect_eq(route->line, 47);
    cr_expect_eq(set->routes[1].cost, 10);
    cr_expect_eq(set->routes[1].limit_count, 4);
    cr_expect_eq(set->routes[2].limit_count, 0);
    policy_set_destroy(&set);
}

static void expect_numbers(const struct policy_set *set, const struct policy_variant *variant,
                           uint64_t limit, uint64_t burst)
{
    const struct limiter_policy *policy = limits_text_numbers(set, variant);
    cr_expect_eq(variant->kind, POLICY_NUMBERS);
    cr_expect_eq(policy->limit, limit);
    cr_expect_eq(policy->burst, burst);
    cr_expect_eq(policy->algorithm, LIMITER_TOKEN_BUCKET);
    cr_expect_eq(policy->window_ns, MINUTE_NS);
}

Test(limits_file, what_a_plan_leaves_out_is_the_limits_own)
{
    struct policy_set *set = limits_text_set(limits_example);
    const struct policy_limit *limit = limits_text_limit(set, "per_key");
    cr_assert_eq(limit->plan_count, 5);
    expect_numbers(set, &limit->own, 60, 20);
    expect_numbers(set, &limit->plans[0], 61, 20);
    expect_numbers(set, &limit->plans[1], 600, 100);
    expect_numbers(set, &limit->plans[2], 0, 0);
    expect_numbers(set, &limit->plans[3], 60, 20);
    cr_expect_neq(limit->plans[3].policy, limit->own.policy, "a reload tells them apart");
    cr_expect_eq(limit->plans[4].kind, POLICY_UNLIMITED);
    cr_expect_eq(limit->plans[4].policy, limit->own.policy);
    cr_expect(slice_equal_text(limit->plan_attribute, "plan"));
    cr_expect(slice_equal_text(limit->plans[1].label, "pro"));
    policy_set_destroy(&set);
}

Test(limits_file, overrides_have_numbers_and_labels)
{
    struct policy_set *set = limits_text_set(limits_example);
    const struct policy_limit *limit = limits_text_limit(set, "per_key");
    cr_assert_eq(limit->override_count, 4);
    const struct policy_override *overrides = limit->overrides;
    expect_numbers(set, &overrides[0].variant, 1000, 20);
    cr_expect_eq(overrides[0].until_ns, INT64_C(1798761600000000000));
    cr_expect_eq(overrides[0].line, 17);
    cr_expect_eq(overrides[1].variant.kind, POLICY_UNLIMITED);
    cr_expect_eq(overrides[1].until_ns, INT64_MAX);
    cr_expect_eq(overrides[1].test_count, 2);
    expect_numbers(set, &overrides[2].variant, 60, 7);
    cr_expect_eq(overrides[3].variant.kind, POLICY_BLOCKED);
    cr_expect(slice_equal_text(overrides[0].variant.label, "\"key\": \"tenant-42\""));
    cr_expect(slice_equal_text(overrides[1].variant.label,
                               "\"key\": \"internal-*\", \"plan\": \"pro\""),
              "in one order however written");
    cr_expect(slice_equal_text(overrides[2].variant.label, "\"ip\": 10.0.0.0/8"));
    cr_expect(slice_equal_text(overrides[3].variant.label, "\"key\": \"scraper-*\""),
              "two stars say what one says");
    policy_set_destroy(&set);
}

Test(limits_file, the_burst_of_neither_is_the_limit_in_force)
{
    struct policy_set *set =
        limits_text_set("limits:\n"
                        "  a:\n"
                        "    algorithm: leaky_bucket\n"
                        "    limit: 0\n"
                        "    window: 1m\n"
                        "    plans: {by: p, values: {x: {limit: 9}, y: {burst: 4}, z: {limit: 9, "
                        "burst: 4}}}\n"
                        "routes: {x: [a]}\n");
    const struct policy_limit *limit = limits_text_limit(set, "a");
    static const uint64_t expected[3][2] = {{9, 9}, {0, 0}, {9, 4}};
    for (uint32_t i = 0; i < 3; i++) {
        const struct limiter_policy *policy = limits_text_numbers(set, &limit->plans[i]);
        cr_expect_eq(policy->limit, expected[i][0], "%u", i);
        cr_expect_eq(policy->burst, expected[i][1], "%u", i);
    }
    cr_expect_eq(limits_text_numbers(set, &limit->own)->burst, 0);
    policy_set_destroy(&set);
}

Test(limits_file, policies_are_dense_and_each_variant_has_its_own)
{
    struct policy_set *set = limits_text_set(limits_example);
    cr_expect_eq(set->builtin_first, 5 + 4 + 2);
    cr_expect_eq(set->policies.count, set->builtin_first + POLICY_BUILTINS);
    for (uint32_t i = 0; i < set->policies.count; i++) {
        cr_expect_eq(set->policies.policies[i].id, i);
    }
    policy_set_destroy(&set);
}

Test(limits_file, every_limit_can_be_made_a_shadow)
{
    struct limits_file_options options = limits_text_options();
    struct limits_file_report report;
    struct policy_set *set = NULL;
    options.shadow_all = true;
    limits_file_report_init(&report);
    cr_assert_eq(limits_file_parse("l", slice_text(limits_example), &options, &set, &report),
                 STATUS_OK);
    for (uint32_t i = 0; i < set->limit_count; i++) {
        cr_expect(set->limits[i].shadow);
    }
    policy_set_destroy(&set);
    limits_file_report_deinit(&report);
}

Test(limits_file, names_have_ids_of_their_own)
{
    struct limits_file_options options = limits_text_options();
    struct hash_key other = {.bytes = {9}};
    struct limits_file_report report;
    struct policy_set *set = limits_text_set(limits_example);
    struct policy_set *again = limits_text_set(limits_example);
    struct policy_set *keyed = NULL;
    options.key = &other;
    limits_file_report_init(&report);
    cr_assert_eq(limits_file_parse("l", slice_text(limits_example), &options, &keyed, &report),
                 STATUS_OK);
    for (uint32_t i = 0; i < set->limit_count; i++) {
        const struct fingerprint *id = &set->limits[i].name_id;
        cr_expect_eq(id->lo, again->limits[i].name_id.lo);
        cr_expect_eq(id->hi, again->limits[i].name_id.hi);
        cr_expect_neq(id->lo, keyed->limits[i].name_id.lo);
        cr_expect(i == 0 || id->lo != set->limits[i - 1].name_id.lo);
    }
    policy_set_destroy(&set);
    policy_set_destroy(&again);
    policy_set_destroy(&keyed);
    limits_file_report_deinit(&report);
}

Test(limits_file, metrics_number_the_limits)
{
    struct limits_file_options options = limits_text_options();
    struct limits_file_report report;
    struct policy_set *set = NULL;
    options.metrics = metrics_create(1);
    limits_file_report_init(&report);
    cr_assert_eq(limits_file_parse("l", slice_text(limits_example), &options, &set, &report),
                 STATUS_OK);
    for (uint32_t i = 0; i < set->limit_count; i++) {
        cr_expect_eq(set->limits[i].metric, metrics_limit(options.metrics, set->limits[i].name));
        cr_expect_neq(set->limits[i].metric, METRICS_NO_LIMIT);
    }
    policy_set_destroy(&set);
    limits_file_report_deinit(&report);
    metrics_destroy(&options.metrics);
}

Test(limits_file, an_unused_limit_is_a_warning)
{
    limits_text_accepted("limits:\n"
                         "  a: {algorithm: fixed_window, limit: 5, window: 60s}\n"
                         "  b: {algorithm: fixed_window, limit: 5, window: 60s}\n"
                         "routes: {x: [a]}\n",
                         "l.yaml:3:3: warning: limit \"b\" is used by no route\n");
    limits_text_accepted("limits: {}\nroutes: {}\n", "");
}

Test(limits_file, warnings_of_a_refused_file_are_not_told)
{
    limits_text_refused("limits:\n"
                        "  b: {algorithm: fixed_window, limit: x, window: 60s}\n"
                        "routes: {}\n",
                        "l.yaml:2:39: limit \"b\": limit: \"x\" is no number; expected a whole "
                        "number from 0 to 999999999999999\n");
}
