/* One entry of `limits`. */
#ifndef ENGINE_LIMITS_FILE_LIMIT_H
#define ENGINE_LIMITS_FILE_LIMIT_H

#include "engine/limits_file_build.h"

/* Reads all of `limits` into build->set->limits and build->names. */
void limits_file_limit_read_all(struct limits_file_build *build,
                                const struct yaml_tree_node *node);

#endif
