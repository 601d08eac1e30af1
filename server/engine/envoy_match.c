#include "engine/envoy_match.h"

enum status envoy_match_init(struct envoy_config *config, struct arena *arena, uint32_t nodes,
                             uint32_t domains)
{
    size_t levels = (size_t)nodes + domains;
    config->level_list = arena_zalloc(arena, sizeof(*config->level_list) * levels);
    config->key_list = arena_zalloc(arena, sizeof(*config->key_list) * nodes);
    config->node_list = arena_zalloc(arena, sizeof(*config->node_list) * nodes);
    if (config->level_list == NULL || config->key_list == NULL || config->node_list == NULL) {
        return STATUS_NO_MEMORY;
    }
    enum status status = name_index_init(&config->domains, arena, domains);
    if (status == STATUS_OK) {
        status = name_index_init(&config->keys, arena, nodes);
    }
    return status == STATUS_OK ? name_index_init(&config->values, arena, nodes) : status;
}

struct envoy_level *envoy_match_add_level(struct envoy_config *config)
{
    struct envoy_level *level = &config->level_list[config->level_count];
    level->id = config->level_count++;
    return level;
}

enum status envoy_match_add_domain(struct envoy_config *config, struct slice name,
                                   struct envoy_level **level)
{
    uint32_t existing;
    enum status status =
        name_index_add(&config->domains, 0, name, config->level_count, &existing);
    *level = NULL;
    if (status == STATUS_OK && existing == NAME_INDEX_NONE) {
        *level = envoy_match_add_level(config);
        config->domain_count++;
    }
    return status;
}

/* What the level has for `name`, made where it is not there. NULL: no memory. */
static struct envoy_key *key_of(struct envoy_config *config, const struct envoy_level *level,
                                struct slice name)
{
    uint32_t existing;
    if (name_index_add(&config->keys, level->id, name, config->key_count, &existing) !=
        STATUS_OK) {
        return NULL;
    }
    return existing != NAME_INDEX_NONE ? &config->key_list[existing]
                                       : &config->key_list[config->key_count++];
}

enum status envoy_match_add_node(struct envoy_config *config, const struct envoy_level *level,
                                 const struct envoy_node *node, struct envoy_node **added,
                                 const struct envoy_node **existing)
{
    uint32_t before;
    *existing = NULL;
    struct envoy_key *key = key_of(config, level, node->key);
    if (key == NULL) {
        return STATUS_NO_MEMORY;
    }
    enum status status = name_index_add(&config->values, (uint32_t)(key - config->key_list),
                                        node->value, config->node_count, &before);
    if (status != STATUS_OK) {
        return status;
    }
    if (before != NAME_INDEX_NONE) {
        *existing = &config->node_list[before];
        return STATUS_OK;
    }
    *added = &config->node_list[config->node_count++];
    **added = *node;
    if (node->value.size == 0) {
        key->fallback = *added;
    } else if (node->pattern && key->first_pattern == NULL) {
        key->first_pattern = key->last_pattern = *added;
    } else if (node->pattern) {
        key->last_pattern->next = *added;
        key->last_pattern = *added;
    }
    return STATUS_OK;
}

const struct envoy_level *envoy_match_domain(const struct envoy_config *config,
                                             struct slice domain)
{
    uint32_t at = config->domain_count == 0 ? NAME_INDEX_NONE
                                            : name_index_find(&config->domains, 0, domain);
    return at == NAME_INDEX_NONE ? NULL : &config->level_list[at];
}

/* The bytes of `pattern` up to its next star (or its end), taken off its front. */
static struct slice take_literal(struct slice *pattern)
{
    const uint8_t *star =
        pattern->size == 0 ? NULL : memchr(pattern->data, '*', pattern->size);
    size_t size = star == NULL ? pattern->size : (size_t)(star - pattern->data);
    struct slice literal = slice_make(pattern->data, size);
    *pattern = slice_make(pattern->data + size, pattern->size - size);
    return literal;
}

bool envoy_match_pattern(struct slice pattern, struct slice text)
{
    struct slice literal = take_literal(&pattern);
    if (literal.size > text.size || !slice_equal(literal, slice_make(text.data, literal.size))) {
        return false;
    }
    if (pattern.size == 0) {
        return literal.size == text.size;
    }
    text = slice_make(text.data + literal.size, text.size - literal.size);
    /* Each literal between stars where it comes first: the most is left for those behind it. */
    while (pattern.size > 0) {
        pattern = slice_make(pattern.data + 1, pattern.size - 1);
        literal = take_literal(&pattern);
        if (literal.size > text.size) {
            return false;
        }
        if (pattern.size == 0) {
            size_t rest = text.size - literal.size;
            return slice_equal(literal, slice_make(text.data + rest, literal.size));
        }
        const uint8_t *at = literal.size == 0
                                ? text.data
                                : memmem(text.data, text.size, literal.data, literal.size);
        if (at == NULL && literal.size > 0) {
            return false;
        }
        size_t used = literal.size == 0 ? 0 : (size_t)(at - text.data) + literal.size;
        text = slice_make(text.data + used, text.size - used);
    }
    return true;
}

static const struct envoy_node *find_in(const struct envoy_config *config,
                                        const struct envoy_level *level,
                                        const struct envoy_entry *entry)
{
    uint32_t at = name_index_find(&config->keys, level->id, entry->key);
    if (at == NAME_INDEX_NONE) {
        return NULL;
    }
    const struct envoy_key *key = &config->key_list[at];
    if (entry->value.size == 0) {
        return key->fallback;
    }
    uint32_t exact = name_index_find(&config->values, at, entry->value);
    if (exact != NAME_INDEX_NONE && !config->node_list[exact].pattern) {
        return &config->node_list[exact];
    }
    for (const struct envoy_node *node = key->first_pattern; node != NULL; node = node->next) {
        if (envoy_match_pattern(node->value, entry->value)) {
            return node;
        }
    }
    return key->fallback;
}

const struct envoy_node *envoy_match_find(const struct envoy_config *config,
                                          const struct envoy_level *level,
                                          const struct envoy_entry *entries, uint32_t count)
{
    const struct envoy_node *node = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (level == NULL) {
            return NULL;
        }
        node = find_in(config, level, &entries[i]);
        if (node == NULL) {
            return NULL;
        }
        level = node->children;
    }
    return node;
}
