/* A limits file, read in four steps: bytes -> trees (yaml_tree.h) -> limits -> routes. All files
 * of a directory go through each step together, since a route may name a limit of another file.
 * Errors are collected throughout; a set comes out only where there is none. */
#include "engine/limits_file.h"

#include "engine/envoy_config.h"
#include "engine/envoy_file.h"
#include "engine/limits_file_limit.h"
#include "engine/limits_file_read.h"
#include "engine/limits_file_route.h"
#include "engine/limits_file_source.h"
#include "engine/policy_builtin.h"
#include "engine/policy_index.h"
#include "engine/policy_route_index.h"

#include <stdlib.h>

#define LIMITS_FILE_CHUNK_BYTES ((size_t)64 * 1024)

enum limits_file_field { FILE_LIMITS, FILE_ROUTES, FILE_NORMALISE };

static const char *const limits_file_fields[] = {"limits", "routes", "normalize_routes", NULL};

/* One file taken apart. */
struct limits_file_part {
    struct yaml_tree tree;
    struct limits_file_fields fields;
};

void limits_file_report_init(struct limits_file_report *report)
{
    *report = (struct limits_file_report){.errors = 0};
    buf_init(&report->text, 0);
}

void limits_file_report_deinit(struct limits_file_report *report)
{
    buf_deinit(&report->text);
}

/* The faults of the YAML itself. */
static void limits_file_faults(struct limits_file_build *build, const struct yaml_tree *tree)
{
    for (const struct yaml_tree_fault *fault = tree->faults; fault != NULL; fault = fault->next) {
        struct limits_file_place place = {
            .file = build->file, .line = fault->line, .column = fault->column};
        limits_file_notes_error(&build->notes, place, "%s", fault->text);
    }
}

/* The top level of a limits file. */
static void limits_file_open(struct limits_file_build *build, struct limits_file_part *part)
{
    struct yaml_tree *tree = &part->tree;
    build->limits_cut = build->limits_cut || tree->cut;
    if (tree->root == NULL && !tree->cut) {
        struct limits_file_place place = {.file = build->file, .line = 1, .column = 1};
        limits_file_notes_error(&build->notes, place,
                                "the file is empty; expected limits and routes");
    }
    if (tree->root != NULL && !(tree->cut && tree->root->kind == YAML_TREE_SCALAR)) {
        (void)limits_file_read_fields(build, tree->root, "a mapping with limits and routes",
                                      limits_file_fields, &part->fields);
    }
}

/* limits and routes must stand in one of the files, if only as {}. */
static void limits_file_require(struct limits_file_build *build,
                                const struct limits_file_part *parts, uint32_t count,
                                enum limits_file_field field)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct limits_file_part *part = &parts[i];
        if (part->fields.items[field] != NULL || part->fields.excused[field] || part->tree.cut) {
            return;
        }
    }
    const struct yaml_tree_node *root = parts[0].tree.root;
    if (root != NULL && root->kind == YAML_TREE_MAPPING) {
        build->file = 0;
        LIMITS_FILE_BUILD_ERROR(build, root, "missing field \"%s\"%s", limits_file_fields[field],
                                field == FILE_ROUTES ? "; {} says that nothing is limited" : "");
    }
}

static uint32_t limits_file_count(const struct limits_file_part *parts, uint32_t count,
                                  enum limits_file_field field)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct yaml_tree_item *item = parts[i].fields.items[field];
        sum += item == NULL ? 0 : item->value->count;
    }
    return sum;
}

static enum status limits_file_allocate(struct limits_file_build *build,
                                        const struct limits_file_part *parts,
                                        const struct limits_file_sources *sources)
{
    struct policy_set *set = build->set;
    uint32_t count = sources->own;
    uint32_t limits = limits_file_count(parts, count, FILE_LIMITS);
    uint32_t routes = limits_file_count(parts, count, FILE_ROUTES);
    uint32_t rules = 0;
    for (uint32_t i = count; i < sources->count; i++) {
        rules += envoy_file_count(parts[i].tree.root);
    }
    if (envoy_file_begin(build, rules, sources->count - count) != STATUS_OK) {
        return STATUS_NO_MEMORY;
    }
    set->limits = arena_zalloc(&set->arena, sizeof(*set->limits) * ((size_t)limits + rules));
    set->routes = arena_zalloc(&set->arena, sizeof(*set->routes) * routes);
    build->names = arena_alloc(&build->scratch, sizeof(*build->names) * limits);
    build->route_places = arena_alloc(&build->scratch, sizeof(*build->route_places) * routes);
    if (set->limits == NULL || set->routes == NULL || build->names == NULL ||
        build->route_places == NULL ||
        name_index_init(&build->name_index, &build->scratch, limits) != STATUS_OK ||
        name_index_init(&build->route_index, &build->scratch, routes) != STATUS_OK ||
        name_index_init(&build->zone_index, &build->scratch, 0) != STATUS_OK) {
        return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

static void limits_file_walk(struct limits_file_build *build, struct limits_file_part *parts,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        build->file = i;
        if (parts[i].fields.items[FILE_NORMALISE] != NULL) {
            limits_file_route_normalise(build, parts[i].fields.items[FILE_NORMALISE]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        build->file = i;
        if (parts[i].fields.items[FILE_LIMITS] != NULL) {
            limits_file_limit_read_all(build, parts[i].fields.items[FILE_LIMITS]->value);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        build->file = i;
        if (parts[i].fields.items[FILE_ROUTES] != NULL) {
            limits_file_route_read_all(build, parts[i].fields.items[FILE_ROUTES]->value);
        }
    }
    limits_file_require(build, parts, count, FILE_LIMITS);
    limits_file_require(build, parts, count, FILE_ROUTES);
    for (uint32_t i = 0; i < build->name_count; i++) {
        const struct limits_file_name *name = &build->names[i];
        if (!name->used) {
            limits_file_notes_warning(&build->notes, name->place,
                                      "limit %s is used by no route",
                                      limits_file_notes_quote(&build->notes, name->name));
        }
    }
}

/* Identities of a limit begin with its name's own fingerprint. */
struct fingerprint limits_file_name_id(const struct hash_key *key, struct slice name)
{
    static const char domain[] = "limit name:";
    uint8_t bytes[sizeof(domain) - 1 + LIMITS_LIMIT_NAME_BYTES_MAX];
    memcpy(bytes, domain, sizeof(domain) - 1);
    memcpy(bytes + sizeof(domain) - 1, name.data, name.size);
    return hash_bytes(key, bytes, sizeof(domain) - 1 + name.size);
}

static enum status limits_file_complete(struct limits_file_build *build)
{
    struct policy_set *set = build->set;
    const struct limits_file_options *options = build->options;
    size_t size = sizeof(struct limiter_policy) * build->policy_count;
    struct limiter_policy *policies =
        arena_alloc(&set->arena, size + sizeof(struct limiter_policy) * POLICY_BUILTINS);
    if (policies == NULL) {
        return STATUS_NO_MEMORY;
    }
    if (size > 0) {
        memcpy(policies, build->policies, size);
    }
    set->builtin_first = build->policy_count;
    policy_builtin_fill(policies, set->builtin_first);
    set->policies = (struct store_policies){.policies = policies,
                                            .count = build->policy_count + POLICY_BUILTINS};
    set->loaded_ns = options->now_ns;
    struct hash_key key = {.bytes = {0}};
    if (options->key != NULL) {
        key = *options->key;
    }
    for (uint32_t i = 0; i < set->limit_count - set->envoy->rule_count; i++) {
        struct policy_limit *limit = &set->limits[i];
        limit->name_id = limits_file_name_id(&key, limit->name);
        if (options->metrics != NULL) {
            limit->metric = metrics_limit(options->metrics, limit->name);
        }
    }
    enum status status = envoy_file_complete(build, &key);
    if (status == STATUS_OK) {
        status = policy_index_build(set);
    }
    return status == STATUS_OK ? policy_route_index_build(set) : status;
}

/* Trees -> set, or errors in build->notes. */
static enum status limits_file_build_set(struct limits_file_build *build,
                                         struct limits_file_part *parts,
                                         const struct limits_file_sources *sources)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        build->file = i;
        enum status status = yaml_tree_parse(&parts[i].tree, sources->items[i].text);
        if (status != STATUS_OK) {
            return status;
        }
        limits_file_faults(build, &parts[i].tree);
        if (i < sources->own) {
            limits_file_open(build, &parts[i]);
        }
    }
    enum status status = limits_file_allocate(build, parts, sources);
    if (status != STATUS_OK) {
        return status;
    }
    limits_file_walk(build, parts, sources->own);
    for (uint32_t i = sources->own; i < sources->count; i++) {
        build->file = i;
        envoy_file_read(build, &parts[i].tree);
    }
    if (build->no_memory || build->notes.failed) {
        return STATUS_NO_MEMORY;
    }
    return build->notes.errors.count > 0 ? STATUS_INVALID : limits_file_complete(build);
}

static void limits_file_print(const struct limits_file_build *build, enum status status,
                              struct limits_file_report *report)
{
    const struct limits_file_notes *notes = &build->notes;
    if (status == STATUS_OK) {
        report->warnings = notes->warnings.count;
        limits_file_notes_print_warnings(notes, &report->text);
        return;
    }
    report->errors = notes->errors.count;
    limits_file_notes_print_errors(notes, &report->text);
    if (status != STATUS_INVALID) {
        report->errors++;
        buf_printf(&report->text, "%s: %s\n", notes->names[0], status_text(status));
    }
}

static enum status limits_file_read_sources(const struct limits_file_sources *sources,
                                            const struct limits_file_options *options,
                                            struct policy_set **out,
                                            struct limits_file_report *report)
{
    struct limits_file_part *parts = calloc(sources->count, sizeof(*parts));
    struct policy_set *set = calloc(1, sizeof(*set));
    struct limits_file_build build = {.options = options, .set = set};
    enum status status = STATUS_NO_MEMORY;
    limits_file_notes_init(&build.notes, sources->names);
    arena_init(&build.scratch, LIMITS_FILE_CHUNK_BYTES, 0);
    if (parts != NULL && set != NULL) {
        arena_init(&set->arena, LIMITS_FILE_CHUNK_BYTES, 0);
        for (uint32_t i = 0; i < sources->count; i++) {
            yaml_tree_init(&parts[i].tree);
        }
        status = limits_file_build_set(&build, parts, sources);
    }
    limits_file_print(&build, status, report);
    if (status == STATUS_OK) {
        *out = set;
    } else {
        policy_set_destroy(&set);
    }
    for (uint32_t i = 0; parts != NULL && i < sources->count; i++) {
        yaml_tree_deinit(&parts[i].tree);
    }
    free(parts);
    free(build.policies);
    arena_deinit(&build.scratch);
    limits_file_notes_deinit(&build.notes);
    return status;
}

enum status limits_file_parse(const char *name, struct slice text,
                              const struct limits_file_options *options, struct policy_set **out,
                              struct limits_file_report *report)
{
    struct limits_file_source items[] = {{.text = text}, {.text = options->envoy_text}};
    const char *names[] = {name, options->envoy_path};
    struct limits_file_sources sources = {
        .items = items, .names = names, .count = options->envoy_path != NULL ? 2 : 1, .own = 1};
    *out = NULL;
    if (text.size > LIMITS_FILE_BYTES_MAX) {
        limits_file_source_too_large(name, report);
        return STATUS_INVALID;
    }
    return limits_file_read_sources(&sources, options, out, report);
}

enum status limits_file_load(const char *path, const struct limits_file_options *options,
                             struct policy_set **out, struct limits_file_report *report)
{
    struct limits_file_sources sources;
    *out = NULL;
    enum status status = limits_file_source_read(path, &sources, report);
    if (status == STATUS_OK && options->envoy_path != NULL) {
        status = limits_file_source_add_envoy(options->envoy_path, &sources, report);
    }
    if (status == STATUS_OK) {
        status = limits_file_read_sources(&sources, options, out, report);
    }
    limits_file_source_deinit(&sources);
    return status;
}
