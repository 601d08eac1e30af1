/* The policy set under construction, and what its readers share while a file is walked. */
#ifndef ENGINE_LIMITS_FILE_BUILD_H
#define ENGINE_LIMITS_FILE_BUILD_H

#include "engine/limits_file.h"
#include "engine/limits_file_notes.h"
#include "engine/name_index.h"
#include "engine/yaml_tree.h"

/* A name that `limits` defines, also where its definition has errors. */
struct limits_file_name {
    struct slice name;
    struct policy_limit *limit;
    struct limits_file_place place;
    bool used; /* by a route */
};

struct limits_file_build {
    const struct limits_file_options *options;
    struct limits_file_notes notes;
    uint32_t file;           /* the one being walked */
    struct policy_set *set;  /* its arena holds what stays */
    struct arena scratch;    /* what is forgotten after the build */
    struct limiter_policy *policies; /* grows; copied into the set at the end */
    uint32_t policy_count;
    uint32_t policy_capacity;
    struct limits_file_name *names;
    uint32_t name_count;
    struct name_index name_index;  /* into names */
    struct name_index route_index; /* normalised pattern -> set->routes */
    struct limits_file_place *route_places;
    struct name_index zone_index; /* time zone -> zones */
    struct calendar_zone *zones;
    uint32_t zone_count;
    struct limits_file_place normalise_place; /* line 0: not said */
    bool limits_cut; /* `limits` broke off: a name that is not known may stand further down */
    bool no_memory;
};

static inline struct limits_file_place limits_file_build_place(
    const struct limits_file_build *build, const struct yaml_tree_node *node)
{
    return (struct limits_file_place){
        .file = build->file, .line = node->line, .column = node->column};
}

/* An error at a node of the file being walked. */
#define LIMITS_FILE_BUILD_ERROR(build, node, ...) \
    limits_file_notes_error(&(build)->notes, limits_file_build_place((build), (node)), __VA_ARGS__)

#endif
