/* The numbers that plan values and overrides put in the place of a limit's own. */
#ifndef ENGINE_LIMITS_FILE_VARIANT_H
#define ENGINE_LIMITS_FILE_VARIANT_H

#include "engine/limits_file_build.h"

/* The limit's own side of it. */
struct limits_file_own {
    struct policy_limit *limit;
    const char *algorithm; /* as named in the file; NULL: not known */
    bool bucket;           /* its algorithm has a burst */
    uint64_t most;         /* of L and B */
    bool has_burst;        /* B was written down */
};

/* Adds one more policy of the limit's algorithm and window, and returns its number. */
uint32_t limits_file_variant_policy(struct limits_file_build *build,
                                    const struct policy_limit *limit, uint64_t quota,
                                    uint64_t burst);

void limits_file_variant_plans(struct limits_file_build *build, const struct limits_file_own *own,
                               const struct yaml_tree_node *node);
void limits_file_variant_overrides(struct limits_file_build *build,
                                   const struct limits_file_own *own,
                                   const struct yaml_tree_node *node);

#endif
