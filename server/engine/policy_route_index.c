#include "engine/policy_route_index.h"

#include "engine/name_index.h"
#include "engine/pattern.h"

#include <stdlib.h>

/* A pattern of `routes`, measured. */
struct policy_route_pattern {
    const struct policy_route *route;
    struct slice prefix; /* literal, before the first star */
    struct slice suffix; /* literal, after the only star */
    bool one_star;
    uint32_t length; /* bytes and stars */
    uint32_t order;  /* in the file */
};

/* The patterns with the same prefix. */
struct policy_route_group {
    uint32_t prefix_size;
    uint32_t first; /* of its patterns, which stand together, longest first */
    uint32_t count;
    uint32_t *suffix_sizes; /* of its patterns with one star, falling, each once */
    uint32_t suffix_size_count;
    struct policy_route_pattern *many; /* those with more stars, longest first */
    uint32_t many_count;
};

/* Spaces of the one index below. Groups come after. */
enum { POLICY_ROUTE_EXACT, POLICY_ROUTE_PREFIX, POLICY_ROUTE_GROUPS };

struct policy_route_index {
    struct name_index names; /* exact route -> routes; prefix -> groups; suffix in the space of
                              * its group -> patterns */
    struct policy_route_pattern *patterns;
    uint32_t pattern_count;
    struct policy_route_group *groups;
    uint32_t group_count;
    uint32_t *prefix_sizes; /* falling, each once */
    uint32_t prefix_size_count;
};

/* Takes a pattern apart; an exact route is its prefix and nothing else (*exact). */
static enum status policy_route_index_measure(struct arena *arena,
                                              const struct policy_route *route,
                                              struct policy_route_pattern *out, bool *exact)
{
    size_t size = route->pattern.size;
    uint16_t *tokens = malloc(sizeof(*tokens) * (size + 1));
    uint8_t *bytes = arena_alloc(arena, size + 1);
    uint32_t count = 0;
    enum status status = STATUS_OK;
    if (tokens == NULL || bytes == NULL) {
        status = STATUS_NO_MEMORY;
    } else if (!pattern_decode(route->pattern, tokens, &count)) {
        status = STATUS_INVALID;
    } else {
        size_t before = pattern_literal(tokens, count, bytes, exact);
        *out = (struct policy_route_pattern){
            .route = route, .prefix = slice_make(bytes, before), .length = count};
        if (!*exact) {
            uint32_t rest = count - (uint32_t)before - 1;
            size_t after = pattern_literal(tokens + before + 1, rest, bytes + before,
                                           &out->one_star);
            out->suffix = slice_make(bytes + before, after);
        }
    }
    free(tokens);
    return status;
}

static int policy_route_index_compare(const void *left, const void *right)
{
    const struct policy_route_pattern *a = left;
    const struct policy_route_pattern *b = right;
    if (a->prefix.size != b->prefix.size) {
        return a->prefix.size > b->prefix.size ? -1 : 1;
    }
    int order = a->prefix.size == 0 ? 0 : memcmp(a->prefix.data, b->prefix.data, a->prefix.size);
    if (order != 0) {
        return order;
    }
    if (a->length != b->length) {
        return a->length > b->length ? -1 : 1;
    }
    return a->order < b->order ? -1 : 1;
}

/* One group: its suffixes into the index, its other patterns into a list. */
static enum status policy_route_index_fill_group(struct policy_set *set,
                                                 struct policy_route_index *index,
                                                 struct policy_route_group *group)
{
    uint32_t space = POLICY_ROUTE_GROUPS + (uint32_t)(group - index->groups);
    group->suffix_sizes = arena_alloc(&set->arena, sizeof(uint32_t) * group->count);
    group->many = arena_alloc(&set->arena, sizeof(*group->many) * group->count);
    if (group->suffix_sizes == NULL || group->many == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        const struct policy_route_pattern *pattern = &index->patterns[i];
        if (!pattern->one_star) {
            group->many[group->many_count++] = *pattern;
            continue;
        }
        uint32_t existing;
        enum status status = name_index_add(&index->names, space, pattern->suffix, i, &existing);
        if (status != STATUS_OK) {
            return status;
        }
        uint32_t known = group->suffix_size_count;
        if (known == 0 || group->suffix_sizes[known - 1] != pattern->suffix.size) {
            group->suffix_sizes[group->suffix_size_count++] = (uint32_t)pattern->suffix.size;
        }
    }
    return STATUS_OK;
}

static bool policy_route_index_same_prefix(const struct policy_route_pattern *a,
                                           const struct policy_route_pattern *b)
{
    return slice_equal(a->prefix, b->prefix);
}

static enum status policy_route_index_group(struct policy_set *set,
                                            struct policy_route_index *index)
{
    for (uint32_t i = 0; i < index->pattern_count;) {
        const struct policy_route_pattern *first = &index->patterns[i];
        struct policy_route_group *group = &index->groups[index->group_count];
        *group = (struct policy_route_group){.prefix_size = (uint32_t)first->prefix.size,
                                             .first = i};
        while (i < index->pattern_count &&
               policy_route_index_same_prefix(first, &index->patterns[i])) {
            group->count++;
            i++;
        }
        uint32_t existing;
        enum status status = name_index_add(&index->names, POLICY_ROUTE_PREFIX, first->prefix,
                                            index->group_count++, &existing);
        if (status == STATUS_OK) {
            status = policy_route_index_fill_group(set, index, group);
        }
        if (status != STATUS_OK) {
            return status;
        }
        uint32_t known = index->prefix_size_count;
        if (known == 0 || index->prefix_sizes[known - 1] != group->prefix_size) {
            index->prefix_sizes[index->prefix_size_count++] = group->prefix_size;
        }
    }
    return STATUS_OK;
}

static enum status policy_route_index_add(struct policy_set *set,
                                          struct policy_route_index *index, uint32_t at)
{
    bool exact = false;
    struct policy_route_pattern *pattern = &index->patterns[index->pattern_count];
    enum status status =
        policy_route_index_measure(&set->arena, &set->routes[at], pattern, &exact);
    if (status != STATUS_OK) {
        return status;
    }
    if (exact) {
        uint32_t existing;
        return name_index_add(&index->names, POLICY_ROUTE_EXACT, pattern->prefix, at, &existing);
    }
    pattern->order = index->pattern_count++;
    return STATUS_OK;
}

enum status policy_route_index_build(struct policy_set *set)
{
    struct arena *arena = &set->arena;
    struct policy_route_index *index = arena_zalloc(arena, sizeof(*index));
    uint32_t most = set->route_count;
    if (index == NULL) {
        return STATUS_NO_MEMORY;
    }
    index->patterns = arena_alloc(arena, sizeof(*index->patterns) * (most + 1));
    index->groups = arena_alloc(arena, sizeof(*index->groups) * (most + 1));
    index->prefix_sizes = arena_alloc(arena, sizeof(*index->prefix_sizes) * (most + 1));
    if (index->patterns == NULL || index->groups == NULL || index->prefix_sizes == NULL) {
        return STATUS_NO_MEMORY;
    }
    enum status status = name_index_init(&index->names, arena, most);
    for (uint32_t i = 0; i < most && status == STATUS_OK; i++) {
        status = policy_route_index_add(set, index, i);
    }
    if (status != STATUS_OK) {
        return status;
    }
    qsort(index->patterns, index->pattern_count, sizeof(*index->patterns),
          policy_route_index_compare);
    set->route_index = index;
    return policy_route_index_group(set, index);
}

/* The best pattern of one group, or NULL. */
static const struct policy_route_pattern *policy_route_index_search(
    const struct policy_route_index *index, uint32_t at, struct slice route)
{
    const struct policy_route_group *group = &index->groups[at];
    const struct policy_route_pattern *best = NULL;
    size_t rest = route.size - group->prefix_size;
    for (uint32_t i = 0; i < group->suffix_size_count && best == NULL; i++) {
        size_t size = group->suffix_sizes[i];
        if (size <= rest) {
            struct slice suffix = slice_make(route.data + (route.size - size), size);
            uint32_t found = name_index_find(&index->names, POLICY_ROUTE_GROUPS + at, suffix);
            best = found == NAME_INDEX_NONE ? NULL : &index->patterns[found];
        }
    }
    for (uint32_t i = 0; i < group->many_count; i++) {
        const struct policy_route_pattern *pattern = &group->many[i];
        bool behind = best != NULL && (best->length > pattern->length ||
                                       (best->length == pattern->length &&
                                        best->order < pattern->order));
        if (behind) {
            break;
        }
        if (pattern_matches(pattern->route->pattern, route)) {
            return pattern;
        }
    }
    return best;
}

const struct policy_route *policy_route_index_find(const struct policy_set *set,
                                                   struct slice route)
{
    const struct policy_route_index *index = set->route_index;
    uint32_t exact = name_index_find(&index->names, POLICY_ROUTE_EXACT, route);
    if (exact != NAME_INDEX_NONE) {
        return &set->routes[exact];
    }
    for (uint32_t i = 0; i < index->prefix_size_count; i++) {
        size_t size = index->prefix_sizes[i];
        if (size > route.size) {
            continue;
        }
        uint32_t group = name_index_find(&index->names, POLICY_ROUTE_PREFIX,
                                         slice_make(route.data, size));
        const struct policy_route_pattern *best =
            group == NAME_INDEX_NONE ? NULL : policy_route_index_search(index, group, route);
        if (best != NULL) {
            return best->route;
        }
    }
    return NULL;
}
