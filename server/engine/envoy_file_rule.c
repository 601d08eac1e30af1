#include "engine/envoy_file_rule.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/envoy_file_fields.h"
#include "engine/envoy_path.h"
#include "engine/limits_file_variant.h"
#include "engine/zone.h"

enum rule_field { RULE_UNIT, RULE_REQUESTS, RULE_UNLIMITED, RULE_NAME, RULE_REPLACES };

static const char *const rule_fields[] = {"unit", "requests_per_unit", "unlimited",
                                          "name", "replaces",          NULL};

static const char *const units[ENVOY_UNITS + 1] = {"unknown", "second", "minute", "hour", "day",
                                                   "month",   "year",   "week",   NULL};

static const char *const algorithms[] = {"token_bucket",       "leaky_bucket",
                                         "fixed_window",       "sliding_window_log",
                                         "sliding_window_counter", NULL};

static_assert(sizeof(algorithms) / sizeof(algorithms[0]) == LIMITER_ALGORITHMS + 1,
              "in the order of enum limiter_algorithm");

static int64_t unit_seconds(enum envoy_unit unit)
{
    static const int64_t seconds[ENVOY_UNITS] = {
        [ENVOY_SECOND] = 1,      [ENVOY_MINUTE] = 60,          [ENVOY_HOUR] = 3600,
        [ENVOY_DAY] = 86400,     [ENVOY_WEEK] = 7 * 86400,     [ENVOY_MONTH] = 30 * 86400,
        [ENVOY_YEAR] = 365 * 86400};
    return seconds[unit];
}

/* ENVOY_UNKNOWN: absent, or wrong (said so: *good is false). */
static enum envoy_unit read_unit(struct limits_file_build *build,
                                 const struct yaml_tree_item *item, bool *good)
{
    struct slice text;
    *good = true;
    if (item == NULL) {
        return ENVOY_UNKNOWN;
    }
    *good = limits_file_read_text(build, item->value, "unit", "a unit such as minute", &text);
    char lower[16] = "";
    for (size_t i = 0; *good && text.size < sizeof(lower) && i < text.size; i++) {
        lower[i] = (char)(text.data[i] | ('A' <= text.data[i] && text.data[i] <= 'Z' ? 32 : 0));
    }
    for (uint32_t i = ENVOY_SECOND; *good && i < ENVOY_UNITS; i++) {
        if (strcmp(lower, units[i]) == 0) {
            return (enum envoy_unit)i;
        }
    }
    if (*good) {
        LIMITS_FILE_BUILD_ERROR(build, item->value,
                                "unit: %s is none; expected second, minute, hour, day, week, month "
                                "or year",
                                limits_file_notes_quote(&build->notes, text));
        *good = false;
    }
    return ENVOY_UNKNOWN;
}

/* One of the names that this rule takes the place of. */
static bool read_replaced(struct limits_file_build *build, const struct yaml_tree_node *node,
                          struct slice own, struct slice *out)
{
    static const char *const names[] = {"name", NULL};
    struct limits_file_fields fields;
    if (!envoy_file_fields_read(build, node, "a mapping such as {name: other}", names, &fields) ||
        !envoy_file_fields_text(build, fields.items[0], "name", out)) {
        return false;
    }
    if (out->size == 0) {
        LIMITS_FILE_BUILD_ERROR(build, node, "replaces: a name is missing");
    } else if (slice_equal(*out, own)) {
        LIMITS_FILE_BUILD_ERROR(build, node, "replaces: a rule cannot replace itself");
    }
    return true;
}

static void read_replaces(struct limits_file_build *build, const struct yaml_tree_item *item,
                          struct envoy_rule *rule)
{
    if (item == NULL || !limits_file_read_list(build, item->value, "replaces",
                                               "a list such as [{name: other}]")) {
        return;
    }
    rule->replaces =
        arena_zalloc(&build->set->arena, sizeof(*rule->replaces) * item->value->count);
    if (rule->replaces == NULL) {
        build->no_memory = true;
        return;
    }
    for (const struct yaml_tree_item *one = item->value->first; one != NULL; one = one->next) {
        if (read_replaced(build, one->value, rule->name, &rule->replaces[rule->replace_count])) {
            rule->replace_count++;
        }
    }
}

static bool read_algorithm(struct limits_file_build *build, const struct yaml_tree_item *item,
                           enum limiter_algorithm *out)
{
    struct slice text;
    *out = LIMITER_FIXED_WINDOW;
    if (item == NULL) {
        return true;
    }
    if (!limits_file_read_text(build, item->value, "algorithm", "the name of one", &text)) {
        return false;
    }
    for (uint32_t i = 0; algorithms[i] != NULL; i++) {
        if (slice_equal_text(text, algorithms[i])) {
            *out = (enum limiter_algorithm)i;
            return true;
        }
    }
    LIMITS_FILE_BUILD_ERROR(build, item->value,
                            "unknown algorithm %s; expected token_bucket, leaky_bucket, "
                            "fixed_window, sliding_window_log or sliding_window_counter",
                            limits_file_notes_quote(&build->notes, text));
    return false;
}

static void read_burst(struct limits_file_build *build, const struct yaml_tree_item *item,
                       struct policy_limit *limit)
{
    limit->burst = limit->limit;
    if (item == NULL) {
        return;
    }
    if (limit->algorithm != LIMITER_TOKEN_BUCKET && limit->algorithm != LIMITER_LEAKY_BUCKET) {
        LIMITS_FILE_BUILD_ERROR(build, item->key, "%s has no burst",
                                limiter_algorithm_name(limit->algorithm));
    } else if (limits_file_read_number(build, item->value, "burst", 1, LIMITS_QUOTA_MAX,
                                       &limit->burst) &&
               limit->limit == 0) {
        LIMITS_FILE_BUILD_ERROR(build, item->key,
                                "burst beside requests_per_unit 0: nothing is let through");
    }
}

/* Windows of the calendar where they differ from a number of days, and a window can be one. */
static void set_window(const struct limits_file_build *build, enum envoy_unit unit,
                       struct policy_limit *limit)
{
    bool calendar = (unit == ENVOY_MONTH || unit == ENVOY_YEAR) &&
                    limit->algorithm == LIMITER_FIXED_WINDOW && !build->set->envoy->classic;
    if (calendar) {
        limit->calendar.unit = unit == ENVOY_MONTH ? CALENDAR_MONTH : CALENDAR_YEAR;
        limit->calendar.zone = zone_utc();
    } else {
        limit->window_ns = unit_seconds(unit) * CLOCK_NS_PER_S;
    }
}

static struct policy_limit *read_limit(struct limits_file_build *build,
                                       const struct limits_file_fields *fields,
                                       const struct yaml_tree_node *rate_limit,
                                       const struct envoy_file_rule_around *around,
                                       enum envoy_unit unit)
{
    struct policy_limit *limit = &build->set->limits[build->set->limit_count];
    const struct yaml_tree_item *requests = fields->items[RULE_REQUESTS];
    if (unit == ENVOY_UNKNOWN) {
        if (!fields->excused[RULE_UNIT]) {
            LIMITS_FILE_BUILD_ERROR(build, rate_limit, "missing field \"unit\"");
        }
        return NULL;
    }
    if (!read_algorithm(build, around->algorithm, &limit->algorithm)) {
        return NULL;
    }
    uint64_t most =
        limit->algorithm == LIMITER_SLIDING_LOG ? LIMITS_LOG_QUOTA_MAX : UINT32_MAX;
    if (requests != NULL && !limits_file_read_number(build, requests->value, "requests_per_unit",
                                                     0, most, &limit->limit)) {
        return NULL;
    }
    read_burst(build, around->burst, limit);
    set_window(build, unit, limit);
    return limit;
}

/* What a reload, the state and the metrics know the limit by. */
static bool name_limit(struct limits_file_build *build, struct slice domain,
                       const struct envoy_node *node, struct policy_limit *limit)
{
    struct arena *arena = &build->set->arena;
    limit->parts = arena_zalloc(arena, sizeof(*limit->parts) * node->depth);
    if (limit->parts == NULL || !envoy_path_name(arena, domain, node, &limit->name)) {
        build->no_memory = true;
        return false;
    }
    limit->part_count = envoy_path_parts(node, limit->parts);
    limit->line = node->line;
    limit->own.kind = POLICY_NUMBERS;
    limit->own.policy = limits_file_variant_policy(build, limit, limit->limit, limit->burst);
    return true;
}

struct envoy_rule *envoy_file_rule_read(struct limits_file_build *build,
                                        const struct yaml_tree_node *rate_limit,
                                        const struct envoy_file_rule_around *around,
                                        struct slice domain, const struct envoy_node *node)
{
    struct limits_file_fields fields;
    bool good_unit;
    if (!envoy_file_fields_read(build, rate_limit, "a mapping such as {unit: minute, "
                                "requests_per_unit: 5}", rule_fields, &fields)) {
        return NULL;
    }
    struct envoy_rule *rule = arena_zalloc(&build->set->arena, sizeof(*rule));
    if (rule == NULL) {
        build->no_memory = true;
        return NULL;
    }
    rule->shadow = around->shadow;
    rule->quota = around->quota;
    rule->unlimited =
        envoy_file_fields_flag(build, fields.items[RULE_UNLIMITED], "unlimited");
    rule->unit = read_unit(build, fields.items[RULE_UNIT], &good_unit);
    if (!envoy_file_fields_text(build, fields.items[RULE_NAME], "name", &rule->name)) {
        return NULL;
    }
    read_replaces(build, fields.items[RULE_REPLACES], rule);
    if (rule->unlimited) {
        const struct yaml_tree_item *beside = around->algorithm != NULL ? around->algorithm
                                              : around->burst != NULL   ? around->burst
                                                                        : fields.items[RULE_UNIT];
        if (beside != NULL && good_unit) {
            LIMITS_FILE_BUILD_ERROR(build, beside->key, "%.*s beside unlimited: one of them only",
                                    (int)beside->key->text.size,
                                    (const char *)beside->key->text.data);
        }
        return rule;
    }
    struct policy_limit *limit =
        good_unit ? read_limit(build, &fields, rate_limit, around, rule->unit) : NULL;
    if (limit == NULL || !name_limit(build, domain, node, limit)) {
        return NULL;
    }
    limit->shadow = rule->shadow;
    build->set->limit_count++;
    build->set->envoy->rule_count++;
    rule->limit = limit;
    return rule;
}
