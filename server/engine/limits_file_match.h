/* The `match` of an override: tests on key, route and attributes. */
#ifndef ENGINE_LIMITS_FILE_MATCH_H
#define ENGINE_LIMITS_FILE_MATCH_H

#include "engine/limits_file_build.h"

/* Fills tests, test_count and variant.label. False: there were errors. */
bool limits_file_match_read(struct limits_file_build *build, const struct yaml_tree_node *node,
                            struct policy_override *out);

#endif
