#include "engine/envoy_file.h"

#include "engine/envoy_file_fields.h"
#include "engine/envoy_file_rule.h"
#include "engine/envoy_match.h"
#include "engine/envoy_path.h"

enum root_field { ROOT_DOMAIN, ROOT_DESCRIPTORS };

static const char *const root_fields[] = {"domain", "descriptors", NULL};

enum descriptor_field {
    DESCRIPTOR_KEY,
    DESCRIPTOR_VALUE,
    DESCRIPTOR_RATE_LIMIT,
    DESCRIPTOR_DESCRIPTORS,
    DESCRIPTOR_SHADOW,
    DESCRIPTOR_QUOTA,
    DESCRIPTOR_DETAILED,
    DESCRIPTOR_VALUE_TO_METRIC,
    DESCRIPTOR_SHARE,
    DESCRIPTOR_METADATA,
    DESCRIPTOR_ALGORITHM,
    DESCRIPTOR_BURST
};

static const char *const descriptor_fields[] = {
    "key",        "value",           "rate_limit",      "descriptors", "shadow_mode",
    "quota_mode", "detailed_metric", "value_to_metric", "share_threshold",
    "metadata",   "algorithm",       "burst",           NULL};

/* The domain that is read, and where in its tree. */
struct place {
    struct slice domain;
    const struct envoy_level *level;
    const struct envoy_node *parent; /* NULL: the first level */
};

static void read_list(struct limits_file_build *build, const struct yaml_tree_node *list,
                      const struct place *place);

/* The value of a field of a mapping, or NULL. */
static const struct yaml_tree_node *value_of(const struct yaml_tree_node *mapping,
                                             const char *field)
{
    for (const struct yaml_tree_item *item = mapping->first; item != NULL; item = item->next) {
        if (item->key->kind == YAML_TREE_SCALAR && slice_equal_text(item->key->text, field)) {
            return item->value;
        }
    }
    return NULL;
}

uint32_t envoy_file_count(const struct yaml_tree_node *root)
{
    uint32_t count = 0;
    if (root == NULL || root->kind != YAML_TREE_MAPPING) {
        return 0;
    }
    const struct yaml_tree_node *list = value_of(root, "descriptors");
    if (list == NULL || list->kind != YAML_TREE_SEQUENCE) {
        return 0;
    }
    for (const struct yaml_tree_item *item = list->first; item != NULL; item = item->next) {
        count += 1 + envoy_file_count(item->value);
    }
    return count;
}

enum status envoy_file_begin(struct limits_file_build *build, uint32_t nodes, uint32_t files)
{
    struct envoy_config *config = arena_zalloc(&build->set->arena, sizeof(*config));
    if (config == NULL) {
        return STATUS_NO_MEMORY;
    }
    config->loaded = files > 0;
    config->classic = build->options->envoy_classic;
    config->shadow_all = build->options->shadow_all;
    build->set->envoy = config;
    return envoy_match_init(config, &build->set->arena, nodes, files);
}

/* What is wrong with a descriptor whatever rule it has. */
static void check_descriptor(struct limits_file_build *build,
                             const struct limits_file_fields *fields,
                             const struct envoy_node *node)
{
    const struct yaml_tree_item *metadata = fields->items[DESCRIPTOR_METADATA];
    const struct yaml_tree_item *share = fields->items[DESCRIPTOR_SHARE];
    if (metadata != NULL && metadata->value->kind != YAML_TREE_MAPPING) {
        LIMITS_FILE_BUILD_ERROR(build, metadata->value, "metadata: expected a mapping");
    }
    if (node->shared && !node->pattern) {
        limits_file_notes_warning(&build->notes, limits_file_build_place(build, share->key),
                                  "share_threshold has no effect: the value has no *");
    }
    (void)envoy_file_fields_flag(build, fields->items[DESCRIPTOR_DETAILED], "detailed_metric");
    (void)envoy_file_fields_flag(build, fields->items[DESCRIPTOR_VALUE_TO_METRIC],
                                 "value_to_metric");
}

/* Key, value and what follows from them. False: it cannot stand in the tree. */
static bool read_identity(struct limits_file_build *build, const struct yaml_tree_node *mapping,
                          const struct limits_file_fields *fields, const struct place *place,
                          struct envoy_node *node)
{
    *node = (struct envoy_node){.parent = place->parent,
                                .depth = place->parent == NULL ? 1 : place->parent->depth + 1,
                                .line = mapping->line};
    bool good = envoy_file_fields_text(build, fields->items[DESCRIPTOR_KEY], "key", &node->key);
    if (good && node->key.size == 0) {
        if (!fields->excused[DESCRIPTOR_KEY]) {
            LIMITS_FILE_BUILD_ERROR(build, mapping, "descriptor has an empty key");
        }
        good = false;
    }
    good = envoy_file_fields_text(build, fields->items[DESCRIPTOR_VALUE], "value", &node->value) &&
           good;
    node->pattern =
        node->value.size > 0 && memchr(node->value.data, '*', node->value.size) != NULL;
    node->shared =
        envoy_file_fields_flag(build, fields->items[DESCRIPTOR_SHARE], "share_threshold");
    return good;
}

static void read_rule(struct limits_file_build *build, const struct limits_file_fields *fields,
                      const struct place *place, struct envoy_node *node)
{
    struct envoy_file_rule_around around = {
        .algorithm = fields->items[DESCRIPTOR_ALGORITHM],
        .burst = fields->items[DESCRIPTOR_BURST],
        .shadow = envoy_file_fields_flag(build, fields->items[DESCRIPTOR_SHADOW], "shadow_mode") ||
                  build->options->shadow_all,
        .quota = envoy_file_fields_flag(build, fields->items[DESCRIPTOR_QUOTA], "quota_mode")};
    const struct yaml_tree_item *rate_limit = fields->items[DESCRIPTOR_RATE_LIMIT];
    const struct yaml_tree_item *needless =
        around.algorithm != NULL ? around.algorithm : around.burst;
    if (rate_limit != NULL) {
        node->rule =
            envoy_file_rule_read(build, rate_limit->value, &around, place->domain, node);
    } else if (needless != NULL && !fields->excused[DESCRIPTOR_RATE_LIMIT]) {
        LIMITS_FILE_BUILD_ERROR(build, needless->key, "%.*s needs a rate_limit beside it",
                                (int)needless->key->text.size,
                                (const char *)needless->key->text.data);
    }
}

static void read_descriptor(struct limits_file_build *build, const struct yaml_tree_node *mapping,
                            const struct place *place)
{
    struct envoy_config *config = build->set->envoy;
    struct limits_file_fields fields;
    struct envoy_node node;
    struct envoy_node *added = NULL;
    const struct envoy_node *existing = NULL;
    if (!envoy_file_fields_read(build, mapping, "a mapping such as {key: user}", descriptor_fields,
                                &fields) ||
        !read_identity(build, mapping, &fields, place, &node)) {
        return;
    }
    check_descriptor(build, &fields, &node);
    if (envoy_match_add_node(config, place->level, &node, &added, &existing) != STATUS_OK) {
        build->no_memory = true;
        return;
    }
    if (existing != NULL) {
        LIMITS_FILE_BUILD_ERROR(build, mapping, "descriptor %s%s%s stands here twice, first in "
                                "line %u",
                                limits_file_notes_quote(&build->notes, node.key),
                                node.value.size > 0 ? " with value " : "",
                                node.value.size > 0
                                    ? limits_file_notes_quote(&build->notes, node.value)
                                    : "",
                                existing->line);
        return;
    }
    read_rule(build, &fields, place, added);
    const struct yaml_tree_item *children = fields.items[DESCRIPTOR_DESCRIPTORS];
    if (children != NULL &&
        limits_file_read_list(build, children->value, "descriptors", "a list of descriptors") &&
        children->value->count > 0) {
        added->children = envoy_match_add_level(config);
        struct place below = {
            .domain = place->domain, .level = added->children, .parent = added};
        read_list(build, children->value, &below);
    }
}

/* As deep as the YAML tree, which is bounded. */
static void read_list(struct limits_file_build *build, const struct yaml_tree_node *list,
                      const struct place *place)
{
    for (const struct yaml_tree_item *item = list->first; item != NULL; item = item->next) {
        read_descriptor(build, item->value, place);
    }
}

/* Makes the domain's first level. NULL: it cannot be read (said so). */
static const struct envoy_level *read_domain(struct limits_file_build *build,
                                             const struct yaml_tree_node *root,
                                             const struct limits_file_fields *fields,
                                             struct slice *domain)
{
    struct envoy_level *level = NULL;
    const struct yaml_tree_item *item = fields->items[ROOT_DOMAIN];
    const struct yaml_tree_node *at = item == NULL ? root : item->value;
    if (!envoy_file_fields_text(build, item, "domain", domain)) {
        return NULL;
    }
    if (domain->size == 0) {
        if (!fields->excused[ROOT_DOMAIN]) {
            LIMITS_FILE_BUILD_ERROR(build, at, "config file cannot have an empty domain");
        }
        return NULL;
    }
    if (slice_equal_text(*domain, ENVOY_FILE_OWN_DOMAIN)) {
        LIMITS_FILE_BUILD_ERROR(build, at, "domain \"" ENVOY_FILE_OWN_DOMAIN
                                "\" is the limits file's own");
        return NULL;
    }
    if (envoy_match_add_domain(build->set->envoy, *domain, &level) != STATUS_OK) {
        build->no_memory = true;
    } else if (level == NULL) {
        LIMITS_FILE_BUILD_ERROR(build, at, "domain %s stands in another file already",
                                limits_file_notes_quote(&build->notes, *domain));
    }
    return level;
}

void envoy_file_read(struct limits_file_build *build, const struct yaml_tree *tree)
{
    const struct yaml_tree_node *root = tree->root;
    struct limits_file_fields fields;
    struct place place = {.parent = NULL};
    if (root == NULL) {
        if (!tree->cut) {
            struct limits_file_place at = {.file = build->file, .line = 1, .column = 1};
            limits_file_notes_error(&build->notes, at,
                                    "the file is empty; expected domain and descriptors");
        }
        return;
    }
    if (tree->cut && root->kind == YAML_TREE_SCALAR) {
        return;
    }
    if (!envoy_file_fields_read(build, root, "a mapping with domain and descriptors", root_fields,
                                &fields)) {
        return;
    }
    place.level = read_domain(build, root, &fields, &place.domain);
    const struct yaml_tree_item *list = fields.items[ROOT_DESCRIPTORS];
    if (place.level != NULL && list != NULL &&
        limits_file_read_list(build, list->value, "descriptors", "a list of descriptors")) {
        read_list(build, list->value, &place);
    }
}

enum status envoy_file_complete(struct limits_file_build *build, const struct hash_key *key)
{
    struct policy_set *set = build->set;
    struct metrics *metrics = build->options->metrics;
    for (uint32_t i = set->limit_count - set->envoy->rule_count; i < set->limit_count; i++) {
        struct policy_limit *limit = &set->limits[i];
        struct slice metric;
        limit->name_id = hash_bytes(key, limit->name.data, limit->name.size);
        if (metrics == NULL) {
            continue;
        }
        if (!envoy_path_metric(&set->arena, limit->name, &metric)) {
            return STATUS_NO_MEMORY;
        }
        limit->metric = metrics_limit(metrics, metric);
    }
    return STATUS_OK;
}
