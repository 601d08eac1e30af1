#include "engine/limits_file_limit.h"

#include "base/text.h"
#include "engine/limits_file_read.h"
#include "engine/limits_file_variant.h"
#include "engine/limits_file_zone.h"
#include "engine/zone.h"

/* key, route and every attribute that a request can name. */
#define LIMITS_FILE_LIMIT_PARTS (LIMITS_ATTRIBUTES_MAX + 2)

enum limits_file_limit_field {
    LIMIT_ALGORITHM,
    LIMIT_LIMIT,
    LIMIT_WINDOW,
    LIMIT_BURST,
    LIMIT_COUNT_BY,
    LIMIT_PLANS,
    LIMIT_OVERRIDES,
    LIMIT_SHADOW,
    LIMIT_IP_PREFIX,
    LIMIT_TIMEZONE,
    LIMIT_LEASE
};

static const char *const limits_file_limit_fields[] = {
    "algorithm", "limit",  "window",    "burst",    "count_by", "plans",
    "overrides", "shadow", "ip_prefix", "timezone", "lease",    NULL};

/* In the order of enum limiter_algorithm; concurrency is a word of the file only. */
static const char *const limits_file_limit_algorithms[] = {
    "token_bucket",           "leaky_bucket", "fixed_window", "sliding_window_log",
    "sliding_window_counter", "concurrency",  NULL};

#define LIMITS_FILE_LIMIT_CONCURRENCY ((uint32_t)LIMITER_ALGORITHMS)
#define LIMITS_FILE_LIMIT_UNKNOWN (LIMITS_FILE_LIMIT_CONCURRENCY + 1)

/* A limit while it is read. */
struct limits_file_limit_reader {
    struct limits_file_build *build;
    const struct yaml_tree_node *key; /* its name: the place of what is missing */
    struct limits_file_fields fields;
    struct limits_file_own own;
    uint32_t algorithm; /* index of limits_file_limit_algorithms, or unknown */
    bool window_known;  /* read without error */
    bool calendar;
};

static const struct yaml_tree_node *limits_file_limit_value(
    const struct limits_file_limit_reader *reader, enum limits_file_limit_field field)
{
    const struct yaml_tree_item *item = reader->fields.items[field];
    return item == NULL ? NULL : item->value;
}

static void limits_file_limit_require(const struct limits_file_limit_reader *reader,
                                      enum limits_file_limit_field field)
{
    if (reader->fields.items[field] == NULL && !reader->fields.excused[field]) {
        LIMITS_FILE_BUILD_ERROR(reader->build, reader->key, "missing field \"%s\"",
                                limits_file_limit_fields[field]);
    }
}

/* A field that the algorithm does not have. */
static bool limits_file_limit_refuse(const struct limits_file_limit_reader *reader,
                                     enum limits_file_limit_field field)
{
    if (reader->fields.items[field] == NULL || reader->own.algorithm == NULL) {
        return false;
    }
    LIMITS_FILE_BUILD_ERROR(reader->build, reader->fields.items[field]->key, "%s has no %s",
                            reader->own.algorithm, limits_file_limit_fields[field]);
    return true;
}

static void limits_file_limit_algorithm(struct limits_file_limit_reader *reader)
{
    struct limits_file_build *build = reader->build;
    const struct yaml_tree_node *node = limits_file_limit_value(reader, LIMIT_ALGORITHM);
    struct slice text;
    reader->algorithm = LIMITS_FILE_LIMIT_UNKNOWN;
    reader->own.most = LIMITS_QUOTA_MAX;
    limits_file_limit_require(reader, LIMIT_ALGORITHM);
    if (node == NULL ||
        !limits_file_read_text(build, node, "algorithm", "the name of one", &text)) {
        return;
    }
    uint32_t at = 0;
    while (limits_file_limit_algorithms[at] != NULL &&
           !slice_equal_text(text, limits_file_limit_algorithms[at])) {
        at++;
    }
    reader->algorithm = at;
    if (at == LIMITS_FILE_LIMIT_UNKNOWN) {
        const char *nearest = text_nearest(text, limits_file_limit_algorithms);
        LIMITS_FILE_BUILD_ERROR(build, node, "unknown algorithm %s; %s%s%s",
                                limits_file_notes_quote(&build->notes, text),
                                nearest == NULL ? "expected token_bucket, leaky_bucket, "
                                                  "fixed_window, sliding_window_log or "
                                                  "sliding_window_counter"
                                                : "did you mean \"",
                                nearest == NULL ? "" : nearest, nearest == NULL ? "" : "\"?");
        return;
    }
    reader->own.algorithm = limits_file_limit_algorithms[at];
    if (at == LIMITS_FILE_LIMIT_CONCURRENCY) {
        LIMITS_FILE_BUILD_ERROR(build, node, "concurrency is not in this build");
        return;
    }
    reader->own.limit->algorithm = (enum limiter_algorithm)at;
    reader->own.bucket = at == LIMITER_TOKEN_BUCKET || at == LIMITER_LEAKY_BUCKET;
    reader->own.most = at == LIMITER_SLIDING_LOG ? LIMITS_LOG_QUOTA_MAX : LIMITS_QUOTA_MAX;
}

static bool limits_file_limit_calendar(struct slice text, enum calendar_unit *unit)
{
    static const char *const units[] = {"day", "week", "month", "year"};
    for (uint32_t i = 0; i < 4; i++) {
        if (slice_equal_text(text, units[i])) {
            *unit = (enum calendar_unit)i;
            return true;
        }
    }
    return false;
}

static void limits_file_limit_window(struct limits_file_limit_reader *reader)
{
    struct limits_file_build *build = reader->build;
    const struct yaml_tree_node *node = limits_file_limit_value(reader, LIMIT_WINDOW);
    struct policy_limit *limit = reader->own.limit;
    if (reader->algorithm == LIMITS_FILE_LIMIT_CONCURRENCY) {
        (void)limits_file_limit_refuse(reader, LIMIT_WINDOW);
        return;
    }
    if (reader->algorithm != LIMITS_FILE_LIMIT_UNKNOWN) {
        limits_file_limit_require(reader, LIMIT_WINDOW);
    }
    if (node == NULL) {
        return;
    }
    reader->calendar = node->kind == YAML_TREE_SCALAR &&
                       limits_file_limit_calendar(node->text, &limit->calendar.unit);
    if (!reader->calendar) {
        reader->window_known =
            limits_file_read_duration(build, node, "window", &limit->window_ns);
        return;
    }
    limit->calendar.zone = zone_utc();
    reader->window_known = true;
    if (reader->own.algorithm != NULL && reader->algorithm != LIMITER_FIXED_WINDOW) {
        LIMITS_FILE_BUILD_ERROR(build, node,
                                "window: %s is a calendar window, which only fixed_window has",
                                limits_file_notes_quote(&build->notes, node->text));
    }
}

static void limits_file_limit_timezone(struct limits_file_limit_reader *reader)
{
    struct limits_file_build *build = reader->build;
    const struct yaml_tree_item *item = reader->fields.items[LIMIT_TIMEZONE];
    bool concurrency = reader->algorithm == LIMITS_FILE_LIMIT_CONCURRENCY;
    if (item == NULL) {
        return;
    }
    if (!reader->calendar && (reader->window_known || concurrency)) {
        LIMITS_FILE_BUILD_ERROR(build, item->key,
                                "timezone needs a calendar window: day, week, month or year");
        return;
    }
    struct calendar_zone zone;
    if (limits_file_zone_read(build, item->value, &zone) && reader->calendar) {
        reader->own.limit->calendar.zone = zone;
        reader->own.limit->timezone = limits_file_read_keep(build, item->value->text);
    }
}

static void limits_file_limit_numbers(struct limits_file_limit_reader *reader)
{
    struct limits_file_build *build = reader->build;
    struct policy_limit *limit = reader->own.limit;
    const struct yaml_tree_node *quota = limits_file_limit_value(reader, LIMIT_LIMIT);
    const struct yaml_tree_item *burst = reader->fields.items[LIMIT_BURST];
    limits_file_limit_require(reader, LIMIT_LIMIT);
    bool known = quota != NULL && limits_file_read_number(build, quota, "limit", 0,
                                                          reader->own.most, &limit->limit);
    limit->burst = limit->limit;
    if (burst == NULL || (!reader->own.bucket && limits_file_limit_refuse(reader, LIMIT_BURST)) ||
        !limits_file_read_number(build, burst->value, "burst", 1, reader->own.most,
                                 &limit->burst)) {
        return;
    }
    reader->own.has_burst = true;
    if (known && limit->limit == 0) {
        LIMITS_FILE_BUILD_ERROR(build, burst->key,
                                "burst beside limit 0: what is closed has no burst");
    }
}

static void limits_file_limit_lease(struct limits_file_limit_reader *reader)
{
    const struct yaml_tree_node *lease = limits_file_limit_value(reader, LIMIT_LEASE);
    int64_t lease_ns = 0;
    if (reader->algorithm == LIMITS_FILE_LIMIT_CONCURRENCY) {
        limits_file_limit_require(reader, LIMIT_LEASE);
        if (lease != NULL) {
            (void)limits_file_read_duration(reader->build, lease, "lease", &lease_ns);
        }
        return;
    }
    (void)limits_file_limit_refuse(reader, LIMIT_LEASE);
}

static bool limits_file_limit_same_part(const struct policy_part *a, const struct policy_part *b)
{
    return a->source == b->source && slice_equal(a->attribute, b->attribute);
}

static void limits_file_limit_count_by(struct limits_file_limit_reader *reader)
{
    struct limits_file_build *build = reader->build;
    struct policy_limit *limit = reader->own.limit;
    const struct yaml_tree_node *node = limits_file_limit_value(reader, LIMIT_COUNT_BY);
    uint32_t count = node == NULL ? 1 : node->count;
    if (node != NULL && !limits_file_read_list(build, node, "count_by", "a list such as [key]")) {
        return;
    }
    if (count > LIMITS_FILE_LIMIT_PARTS) {
        LIMITS_FILE_BUILD_ERROR(build, node, "count_by: a request names at most %d attributes",
                                LIMITS_ATTRIBUTES_MAX);
        return;
    }
    limit->parts = arena_zalloc(&build->set->arena, sizeof(*limit->parts) * count);
    if (limit->parts == NULL) {
        build->no_memory = true;
        return;
    }
    if (node == NULL) {
        limit->parts[limit->part_count++].source = POLICY_KEY;
        return;
    }
    for (const struct yaml_tree_item *item = node->first; item != NULL; item = item->next) {
        struct policy_part part;
        if (!limits_file_read_source(build, item->value, "count_by", &part)) {
            continue;
        }
        uint32_t at = 0;
        while (at < limit->part_count && !limits_file_limit_same_part(&limit->parts[at], &part)) {
            at++;
        }
        if (at < limit->part_count) {
            LIMITS_FILE_BUILD_ERROR(build, item->value, "count_by: %s stands here twice",
                                    limits_file_notes_quote(&build->notes, item->value->text));
            continue;
        }
        limit->parts[limit->part_count++] = part;
    }
}

/* Which part is the address: the one that `of` names, or the only one. */
static void limits_file_limit_ip_part(struct limits_file_limit_reader *reader,
                                      const struct yaml_tree_node *node,
                                      const struct yaml_tree_item *of)
{
    struct limits_file_build *build = reader->build;
    struct policy_limit *limit = reader->own.limit;
    struct policy_part part;
    const struct yaml_tree_node *place = of == NULL ? node : of->value;
    if (of == NULL && limit->part_count != 1) {
        LIMITS_FILE_BUILD_ERROR(build, node, "ip_prefix: missing field \"of\": count_by has %s",
                                limit->part_count == 0 ? "no part" : "several parts");
        return;
    }
    if (of == NULL) {
        part = limit->parts[0];
    } else if (!limits_file_read_source(build, of->value, "of", &part)) {
        return;
    }
    while (limit->ip_part < limit->part_count &&
           !limits_file_limit_same_part(&limit->parts[limit->ip_part], &part)) {
        limit->ip_part++;
    }
    if (limit->ip_part == limit->part_count) {
        LIMITS_FILE_BUILD_ERROR(build, place, "of: %s is not in count_by",
                                limits_file_notes_quote(&build->notes, place->text));
        limit->ip_part = 0;
    } else if (part.source == POLICY_ROUTE) {
        LIMITS_FILE_BUILD_ERROR(build, place, "ip_prefix: a route is no address");
    }
}

static void limits_file_limit_ip_prefix(struct limits_file_limit_reader *reader)
{
    static const char *const names[] = {"of", "v4", "v6", NULL};
    struct limits_file_build *build = reader->build;
    struct policy_limit *limit = reader->own.limit;
    const struct yaml_tree_node *node = limits_file_limit_value(reader, LIMIT_IP_PREFIX);
    struct limits_file_fields fields;
    uint64_t v4_bits = 32;
    uint64_t v6_bits = 64;
    if (node == NULL ||
        !limits_file_read_fields(build, node, "ip_prefix as a mapping such as {v4: 32, v6: 64}",
                                 names, &fields)) {
        return;
    }
    if (fields.items[1] != NULL) {
        (void)limits_file_read_number(build, fields.items[1]->value, "v4", 0, 32, &v4_bits);
    }
    if (fields.items[2] != NULL) {
        (void)limits_file_read_number(build, fields.items[2]->value, "v6", 0, 128, &v6_bits);
    }
    limit->ip_prefix = true;
    limit->ip_v4_bits = (uint8_t)v4_bits;
    limit->ip_v6_bits = (uint8_t)v6_bits;
    if (fields.items[0] != NULL || !fields.excused[0]) {
        limits_file_limit_ip_part(reader, node, fields.items[0]);
    }
}

static void limits_file_limit_check_name(struct limits_file_build *build,
                                         const struct yaml_tree_node *key)
{
    bool good = key->text.size >= 1 && key->text.size <= LIMITS_LIMIT_NAME_BYTES_MAX;
    for (size_t i = 0; good && i < key->text.size; i++) {
        uint8_t byte = key->text.data[i];
        good = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               (byte >= '0' && byte <= '9') || byte == '_' || byte == '.' || byte == '-';
    }
    if (!good) {
        LIMITS_FILE_BUILD_ERROR(build, key,
                                "limit %s: a limit's name is 1 to %d of A-Z a-z 0-9 _ . -",
                                limits_file_notes_quote(&build->notes, key->text),
                                LIMITS_LIMIT_NAME_BYTES_MAX);
    }
}

static void limits_file_limit_read(struct limits_file_build *build,
                                   const struct yaml_tree_item *item, struct policy_limit *limit)
{
    struct limits_file_limit_reader reader = {
        .build = build, .key = item->key, .own = {.limit = limit}};
    limit->line = item->key->line;
    build->notes.subject =
        (struct limits_file_subject){.what = "limit", .name = item->key->text};
    if (limits_file_read_fields(build, item->value, "a mapping with algorithm, limit and window",
                                limits_file_limit_fields, &reader.fields)) {
        limits_file_limit_algorithm(&reader);
        limits_file_limit_numbers(&reader);
        limits_file_limit_window(&reader);
        limits_file_limit_timezone(&reader);
        limits_file_limit_lease(&reader);
        limits_file_limit_count_by(&reader);
        limits_file_limit_ip_prefix(&reader);
        if (limits_file_limit_value(&reader, LIMIT_SHADOW) != NULL) {
            (void)limits_file_read_bool(build, limits_file_limit_value(&reader, LIMIT_SHADOW),
                                        "shadow", &limit->shadow);
        }
        limit->shadow = limit->shadow || build->options->shadow_all;
        limit->own.policy =
            limits_file_variant_policy(build, limit, limit->limit, limit->burst);
        if (limits_file_limit_value(&reader, LIMIT_PLANS) != NULL) {
            limits_file_variant_plans(build, &reader.own,
                                      limits_file_limit_value(&reader, LIMIT_PLANS));
        }
        if (limits_file_limit_value(&reader, LIMIT_OVERRIDES) != NULL) {
            limits_file_variant_overrides(build, &reader.own,
                                          limits_file_limit_value(&reader, LIMIT_OVERRIDES));
        }
    }
    build->notes.subject = (struct limits_file_subject){.what = NULL};
}

/* Registers a name; false: it was defined before, here or in another file. */
static bool limits_file_limit_register(struct limits_file_build *build,
                                       const struct yaml_tree_node *key,
                                       struct policy_limit *limit)
{
    uint32_t existing = NAME_INDEX_NONE;
    if (name_index_add(&build->name_index, 0, key->text, build->name_count, &existing) !=
        STATUS_OK) {
        build->no_memory = true;
        return false;
    }
    if (existing == NAME_INDEX_NONE) {
        build->names[build->name_count++] = (struct limits_file_name){
            .name = key->text, .limit = limit, .place = limits_file_build_place(build, key)};
        return true;
    }
    const struct limits_file_place *first = &build->names[existing].place;
    bool here = first->file == build->file;
    LIMITS_FILE_BUILD_ERROR(build, key, "limit %s is defined twice, first in %s%sline %u",
                            limits_file_notes_quote(&build->notes, key->text),
                            here ? "" : build->notes.names[first->file], here ? "" : " ",
                            first->line);
    return false;
}

void limits_file_limit_read_all(struct limits_file_build *build, const struct yaml_tree_node *node)
{
    if (node->kind != YAML_TREE_MAPPING) {
        LIMITS_FILE_BUILD_ERROR(build, node, "limits: expected a mapping of names to limits");
        build->limits_cut = true; /* routes may well name what is meant here */
        return;
    }
    build->limits_cut = build->limits_cut || node->cut;
    for (const struct yaml_tree_item *item = node->first; item != NULL; item = item->next) {
        if (item->key->kind != YAML_TREE_SCALAR) {
            LIMITS_FILE_BUILD_ERROR(build, item->key, "limits: a limit's name is plain text");
            continue;
        }
        struct policy_limit *limit = &build->set->limits[build->set->limit_count++];
        limit->name = limits_file_read_keep(build, item->key->text);
        limits_file_limit_check_name(build, item->key);
        (void)limits_file_limit_register(build, item->key, limit);
        limits_file_limit_read(build, item, limit);
    }
}
