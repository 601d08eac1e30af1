#include "engine/limits_file_route.h"

#include "base/text.h"
#include "engine/limits_file_read.h"
#include "engine/pattern.h"

/* Names looked through for "did you mean": more would make a file of errors slow to refuse. */
#define LIMITS_FILE_ROUTE_NEAR 1000u

void limits_file_route_normalise(struct limits_file_build *build, const struct yaml_tree_item *item)
{
    static const char *const words[] = {"strip_query", "merge_slashes", "strip_trailing_slash",
                                        "lowercase", NULL};
    const struct limits_file_place *first = &build->normalise_place;
    if (first->line != 0) {
        LIMITS_FILE_BUILD_ERROR(build, item->key,
                                "normalize_routes stands in two files, first in %s line %u",
                                build->notes.names[first->file], first->line);
        return;
    }
    build->normalise_place = limits_file_build_place(build, item->key);
    if (!limits_file_read_list(build, item->value, "normalize_routes",
                               "a list of lowercase, merge_slashes, strip_trailing_slash, "
                               "strip_query")) {
        return;
    }
    for (const struct yaml_tree_item *at = item->value->first; at != NULL; at = at->next) {
        struct slice text;
        if (!limits_file_read_text(build, at->value, "normalize_routes", "a word", &text)) {
            continue;
        }
        uint32_t word = 0;
        while (words[word] != NULL && !slice_equal_text(text, words[word])) {
            word++;
        }
        const char *quoted = limits_file_notes_quote(&build->notes, text);
        if (words[word] == NULL) {
            const char *nearest = text_nearest(text, words);
            LIMITS_FILE_BUILD_ERROR(build, at->value,
                                    "normalize_routes: unknown word %s; %s%s", quoted,
                                    nearest == NULL ? "" : "did you mean ",
                                    nearest == NULL ? "expected lowercase, merge_slashes, "
                                                      "strip_trailing_slash or strip_query"
                                                    : nearest);
        } else if ((build->set->normalise & 1u << word) != 0) {
            LIMITS_FILE_BUILD_ERROR(build, at->value, "normalize_routes: %s stands here twice",
                                    quoted);
        } else {
            build->set->normalise |= 1u << word;
        }
    }
}

/* The nearest defined name, or NULL. */
static const char *limits_file_route_nearest(struct limits_file_build *build, struct slice name)
{
    if (build->name_count == 0 || build->name_count > LIMITS_FILE_ROUTE_NEAR) {
        return NULL;
    }
    const char **words =
        arena_alloc(&build->scratch, sizeof(*words) * (build->name_count + 1));
    if (words == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < build->name_count; i++) {
        words[i] = (const char *)build->names[i].limit->name.data;
    }
    words[build->name_count] = NULL;
    return text_nearest(name, words);
}

static void limits_file_route_unknown(struct limits_file_build *build,
                                      const struct yaml_tree_node *node)
{
    if (build->limits_cut) {
        return; /* it may stand in what could not be read */
    }
    struct limits_file_place place = limits_file_build_place(build, node);
    const char *nearest = limits_file_notes_keeps(&build->notes, place)
                              ? limits_file_route_nearest(build, node->text)
                              : NULL;
    const char *quoted = limits_file_notes_quote(&build->notes, node->text);
    if (nearest == NULL) {
        LIMITS_FILE_BUILD_ERROR(build, node, "unknown limit %s", quoted);
    } else {
        LIMITS_FILE_BUILD_ERROR(build, node, "unknown limit %s; did you mean \"%s\"?", quoted,
                                nearest);
    }
}

static bool limits_file_route_has(const struct policy_route *route,
                                  const struct policy_limit *limit)
{
    for (uint32_t i = 0; i < route->limit_count; i++) {
        if (route->limits[i] == limit) {
            return true;
        }
    }
    return false;
}

static void limits_file_route_limits(struct limits_file_build *build,
                                     const struct yaml_tree_node *node, struct policy_route *route)
{
    struct policy_limit *limits[LIMITS_ROUTE_LIMITS_MAX];
    uint32_t met = 0;
    route->limits = limits;
    for (const struct yaml_tree_item *item = node->first; item != NULL; item = item->next) {
        struct slice name;
        if (++met == LIMITS_ROUTE_LIMITS_MAX + 1) {
            LIMITS_FILE_BUILD_ERROR(build, item->value, "more than %d limits in one route",
                                    LIMITS_ROUTE_LIMITS_MAX);
        }
        if (!limits_file_read_text(build, item->value, "limits", "the name of a limit", &name)) {
            continue;
        }
        uint32_t at = name_index_find(&build->name_index, 0, name);
        if (at == NAME_INDEX_NONE) {
            limits_file_route_unknown(build, item->value);
            continue;
        }
        build->names[at].used = true;
        if (limits_file_route_has(route, build->names[at].limit)) {
            LIMITS_FILE_BUILD_ERROR(build, item->value, "limit %s stands here twice",
                                    limits_file_notes_quote(&build->notes, name));
        } else if (route->limit_count < LIMITS_ROUTE_LIMITS_MAX) {
            limits[route->limit_count++] = build->names[at].limit;
        }
    }
    route->limits =
        arena_alloc(&build->set->arena, sizeof(*route->limits) * (route->limit_count + 1));
    if (route->limits == NULL) {
        build->no_memory = true;
        return;
    }
    memcpy(route->limits, limits, sizeof(*route->limits) * route->limit_count);
}

/* [a, b], or {limits: [a, b], cost: 10}. */
static void limits_file_route_value(struct limits_file_build *build,
                                    const struct yaml_tree_node *node, struct policy_route *route)
{
    static const char *const names[] = {"limits", "cost", NULL};
    struct limits_file_fields fields;
    if (node->kind == YAML_TREE_SEQUENCE) {
        limits_file_route_limits(build, node, route);
        return;
    }
    if (!limits_file_read_fields(build, node,
                                 "a list of limits such as [a, b], [] for none, or "
                                 "{limits: [a], cost: 10}",
                                 names, &fields)) {
        return;
    }
    if (fields.items[0] == NULL && !fields.excused[0]) {
        LIMITS_FILE_BUILD_ERROR(build, node, "missing field \"limits\"");
    }
    if (fields.items[0] != NULL &&
        limits_file_read_list(build, fields.items[0]->value, "limits",
                              "a list such as [a, b], or [] for none")) {
        limits_file_route_limits(build, fields.items[0]->value, route);
    }
    if (fields.items[1] != NULL) {
        (void)limits_file_read_number(build, fields.items[1]->value, "cost", 1, LIMITS_QUOTA_MAX,
                                      &route->cost);
    }
}

/* The pattern, checked and normalised. False: it is none (said so). */
static bool limits_file_route_pattern(struct limits_file_build *build,
                                      const struct yaml_tree_node *key, struct slice *out)
{
    uint16_t *tokens = arena_alloc(&build->scratch, sizeof(*tokens) * (key->text.size + 1));
    uint8_t *bytes = arena_alloc(&build->scratch, key->text.size * 2 + 1);
    uint32_t count = 0;
    if (tokens == NULL || bytes == NULL) {
        build->no_memory = true;
        return false;
    }
    if (!pattern_decode(key->text, tokens, &count)) {
        LIMITS_FILE_BUILD_ERROR(build, key, "in the route a \\ stands before neither * nor \\");
        return false;
    }
    if (count == 0 || pattern_literal_count(tokens, count) > LIMITS_KEY_BYTES_MAX) {
        LIMITS_FILE_BUILD_ERROR(build, key, "a route has 1 to %d bytes", LIMITS_KEY_BYTES_MAX);
        return false;
    }
    count = pattern_normalise(tokens, count, build->set->normalise);
    *out = limits_file_read_keep(build, slice_make(bytes, pattern_encode(tokens, count, bytes)));
    return true;
}

static bool limits_file_route_register(struct limits_file_build *build,
                                       const struct yaml_tree_node *key, struct slice pattern)
{
    uint32_t existing = NAME_INDEX_NONE;
    uint32_t at = build->set->route_count;
    if (name_index_add(&build->route_index, 0, pattern, at, &existing) != STATUS_OK) {
        build->no_memory = true;
        return false;
    }
    if (existing == NAME_INDEX_NONE) {
        build->route_places[at] = limits_file_build_place(build, key);
        return true;
    }
    const struct limits_file_place *first = &build->route_places[existing];
    bool here = first->file == build->file;
    LIMITS_FILE_BUILD_ERROR(build, key, "the route stands here twice, first in %s%sline %u%s%s",
                            here ? "" : build->notes.names[first->file], here ? "" : " ",
                            first->line, slice_equal(pattern, key->text) ? "" : ", normalised ",
                            slice_equal(pattern, key->text)
                                ? ""
                                : limits_file_notes_quote(&build->notes, pattern));
    return false;
}

static void limits_file_route_read(struct limits_file_build *build,
                                   const struct yaml_tree_item *item)
{
    struct slice pattern = slice_make(NULL, 0);
    struct policy_route route = {.cost = 1, .line = item->key->line};
    build->notes.subject =
        (struct limits_file_subject){.what = "route", .name = item->key->text};
    bool good = limits_file_route_pattern(build, item->key, &pattern) &&
                limits_file_route_register(build, item->key, pattern);
    route.pattern = pattern;
    limits_file_route_value(build, item->value, &route);
    if (good) {
        build->set->routes[build->set->route_count++] = route;
    }
    build->notes.subject = (struct limits_file_subject){.what = NULL};
}

void limits_file_route_read_all(struct limits_file_build *build, const struct yaml_tree_node *node)
{
    if (node->kind != YAML_TREE_MAPPING) {
        LIMITS_FILE_BUILD_ERROR(build, node,
                                "routes: expected a mapping of routes to lists of limits, or {}");
        return;
    }
    for (const struct yaml_tree_item *item = node->first; item != NULL; item = item->next) {
        if (item->key->kind != YAML_TREE_SCALAR) {
            LIMITS_FILE_BUILD_ERROR(build, item->key, "routes: a route is plain text");
            continue;
        }
        limits_file_route_read(build, item);
    }
}
