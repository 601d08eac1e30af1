#include "engine/limits_file_variant.h"

#include "engine/limits_file_match.h"
#include "engine/limits_file_read.h"

#include <stdlib.h>

enum limits_file_variant_field {
    VARIANT_LIMIT,
    VARIANT_BURST,
    VARIANT_UNLIMITED,
    VARIANT_BLOCKED,
    VARIANT_MATCH,
    VARIANT_UNTIL
};

uint32_t limits_file_variant_policy(struct limits_file_build *build,
                                    const struct policy_limit *limit, uint64_t quota,
                                    uint64_t burst)
{
    /* A file with errors comes to nothing; its numbers may be none that a limiter takes. */
    if (build->notes.errors.count > 0) {
        return 0;
    }
    if (build->policy_count == build->policy_capacity) {
        uint32_t capacity = build->policy_capacity == 0 ? 64 : build->policy_capacity * 2;
        struct limiter_policy *grown =
            realloc(build->policies, sizeof(struct limiter_policy) * capacity);
        if (grown == NULL) {
            build->no_memory = true;
            return 0;
        }
        build->policies = grown;
        build->policy_capacity = capacity;
    }
    struct limiter_policy *policy = &build->policies[build->policy_count];
    limiter_policy_init(policy, limit->algorithm, quota, burst, limit->window_ns,
                        limit->window_ns == 0 ? &limit->calendar : NULL);
    policy->id = build->policy_count;
    return build->policy_count++;
}

static bool limits_file_variant_flag(struct limits_file_build *build,
                                     const struct limits_file_fields *fields, uint32_t at,
                                     const char *name, bool *out)
{
    *out = false;
    return fields->items[at] == NULL ||
           limits_file_read_bool(build, fields->items[at]->value, name, out);
}

/* unlimited, blocked and numbers exclude each other; false is as absent. */
static bool limits_file_variant_kind(struct limits_file_build *build,
                                     const struct limits_file_fields *fields,
                                     enum policy_kind *kind)
{
    bool unlimited = false;
    bool blocked = false;
    if (!limits_file_variant_flag(build, fields, VARIANT_UNLIMITED, "unlimited", &unlimited) ||
        !limits_file_variant_flag(build, fields, VARIANT_BLOCKED, "blocked", &blocked)) {
        return false;
    }
    *kind = unlimited ? POLICY_UNLIMITED : blocked ? POLICY_BLOCKED : POLICY_NUMBERS;
    const struct yaml_tree_item *number = fields->items[VARIANT_LIMIT] != NULL
                                              ? fields->items[VARIANT_LIMIT]
                                              : fields->items[VARIANT_BURST];
    if (unlimited && blocked) {
        LIMITS_FILE_BUILD_ERROR(build, fields->items[VARIANT_BLOCKED]->key,
                                "unlimited and blocked exclude each other");
        return false;
    }
    if (*kind != POLICY_NUMBERS && number != NULL) {
        LIMITS_FILE_BUILD_ERROR(build, number->key, "numbers and %s exclude each other",
                                unlimited ? "unlimited" : "blocked");
        return false;
    }
    return true;
}

/* Reads the numbers and makes the variant. Where the L in force is 0, B is 0. */
static bool limits_file_variant_numbers(struct limits_file_build *build,
                                        const struct limits_file_own *own,
                                        const struct limits_file_fields *fields,
                                        struct policy_variant *out)
{
    const struct yaml_tree_item *limit_item = fields->items[VARIANT_LIMIT];
    const struct yaml_tree_item *burst_item = fields->items[VARIANT_BURST];
    uint64_t quota = own->limit->limit;
    uint64_t burst = 0;
    bool good = limits_file_variant_kind(build, fields, &out->kind);
    if (limit_item != NULL) {
        good = limits_file_read_number(build, limit_item->value, "limit", 0, own->most, &quota) &&
               good;
    }
    if (burst_item != NULL && own->algorithm != NULL && !own->bucket) {
        LIMITS_FILE_BUILD_ERROR(build, burst_item->key, "%s has no burst", own->algorithm);
        good = false;
    } else if (burst_item != NULL) {
        good = limits_file_read_number(build, burst_item->value, "burst", 1, own->most, &burst) &&
               good;
    }
    if (good && limit_item != NULL && burst_item != NULL && quota == 0) {
        LIMITS_FILE_BUILD_ERROR(build, burst_item->key,
                                "burst beside limit 0: what is closed has no burst");
        good = false;
    }
    if (!good || out->kind != POLICY_NUMBERS) {
        out->policy = own->limit->own.policy;
        return good;
    }
    if (burst_item == NULL) {
        burst = own->has_burst ? own->limit->burst : quota;
    }
    burst = quota == 0 ? 0 : own->bucket ? burst : quota;
    out->policy = limits_file_variant_policy(build, own->limit, quota, burst);
    return true;
}

static void limits_file_variant_plan_values(struct limits_file_build *build,
                                            const struct limits_file_own *own,
                                            const struct yaml_tree_node *values)
{
    static const char *const names[] = {"limit", "burst", "unlimited", "blocked", NULL};
    struct policy_limit *limit = own->limit;
    if (values->kind != YAML_TREE_MAPPING) {
        LIMITS_FILE_BUILD_ERROR(build, values,
                                "values: expected a mapping such as {free: {limit: 60}}");
        return;
    }
    limit->plans = arena_zalloc(&build->set->arena, sizeof(*limit->plans) * values->count);
    if (limit->plans == NULL) {
        build->no_memory = true;
        return;
    }
    for (const struct yaml_tree_item *item = values->first; item != NULL; item = item->next) {
        struct limits_file_fields fields;
        struct slice value;
        if (!limits_file_read_text(build, item->key, "values", "the value of an attribute",
                                   &value)) {
            continue;
        }
        const char *quoted = item->first_line == 0 && value.size <= LIMITS_KEY_BYTES_MAX
                                 ? NULL
                                 : limits_file_notes_quote(&build->notes, value);
        if (item->first_line != 0) {
            LIMITS_FILE_BUILD_ERROR(build, item->key, "%s stands here twice, first in line %u",
                                    quoted, item->first_line);
            continue;
        }
        if (quoted != NULL) {
            LIMITS_FILE_BUILD_ERROR(build, item->key, "%s is longer than a value can be (%d bytes)",
                                    quoted, LIMITS_KEY_BYTES_MAX);
        }
        build->notes.subject.part = "plan";
        build->notes.subject.part_name = value;
        struct policy_variant *plan = &limit->plans[limit->plan_count++];
        plan->label = limits_file_read_keep(build, value);
        if (limits_file_read_fields(build, item->value, "a mapping such as {limit: 60}", names,
                                    &fields)) {
            (void)limits_file_variant_numbers(build, own, &fields, plan);
        }
        build->notes.subject.part_name = slice_make(NULL, 0);
        build->notes.subject.part = "plans";
    }
}

void limits_file_variant_plans(struct limits_file_build *build, const struct limits_file_own *own,
                               const struct yaml_tree_node *node)
{
    static const char *const names[] = {"by", "values", NULL};
    struct limits_file_fields fields;
    build->notes.subject.part = "plans";
    if (limits_file_read_fields(build, node, "a mapping with by and values", names, &fields)) {
        for (uint32_t i = 0; names[i] != NULL; i++) {
            if (fields.items[i] == NULL && !fields.excused[i]) {
                LIMITS_FILE_BUILD_ERROR(build, node, "missing field \"%s\"", names[i]);
            }
        }
        if (fields.items[0] != NULL) {
            (void)limits_file_read_attribute(build, fields.items[0]->value, "by",
                                             &own->limit->plan_attribute);
        }
        if (fields.items[1] != NULL) {
            limits_file_variant_plan_values(build, own, fields.items[1]->value);
        }
    }
    build->notes.subject.part = NULL;
}

static void limits_file_variant_override(struct limits_file_build *build,
                                         const struct limits_file_own *own,
                                         const struct yaml_tree_node *node,
                                         struct policy_override *out)
{
    static const char *const names[] = {"limit",   "burst", "unlimited", "blocked",
                                        "match", "until", NULL};
    struct limits_file_fields fields;
    out->line = node->line;
    out->until_ns = INT64_MAX;
    if (!limits_file_read_fields(build, node, "a mapping such as {match: {key: a}, limit: 9}",
                                 names, &fields)) {
        return;
    }
    const struct yaml_tree_item *match = fields.items[VARIANT_MATCH];
    const struct yaml_tree_item *until = fields.items[VARIANT_UNTIL];
    if (match == NULL && !fields.excused[VARIANT_MATCH]) {
        LIMITS_FILE_BUILD_ERROR(build, node, "missing field \"match\"");
    }
    if (match != NULL) {
        (void)limits_file_match_read(build, match->value, out);
    }
    if (until != NULL && limits_file_read_time(build, until->value, "until", &out->until_ns) &&
        out->until_ns <= build->options->now_ns) {
        limits_file_notes_warning(&build->notes, limits_file_build_place(build, until->value),
                                  "until lies in the past: it matches nothing any more");
    }
    (void)limits_file_variant_numbers(build, own, &fields, &out->variant);
}

void limits_file_variant_overrides(struct limits_file_build *build,
                                   const struct limits_file_own *own,
                                   const struct yaml_tree_node *node)
{
    struct policy_limit *limit = own->limit;
    build->notes.subject.part = "override";
    if (limits_file_read_list(build, node, "overrides", "a list of overrides")) {
        limit->overrides =
            arena_zalloc(&build->set->arena, sizeof(*limit->overrides) * node->count);
        if (limit->overrides == NULL) {
            build->no_memory = true;
            return;
        }
        for (const struct yaml_tree_item *item = node->first; item != NULL; item = item->next) {
            limits_file_variant_override(build, own, item->value,
                                         &limit->overrides[limit->override_count++]);
        }
    }
    build->notes.subject.part = NULL;
}
