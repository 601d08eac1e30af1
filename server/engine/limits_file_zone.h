/* Time zones of one build: each is read once, however many limits name it. */
#ifndef ENGINE_LIMITS_FILE_ZONE_H
#define ENGINE_LIMITS_FILE_ZONE_H

#include "engine/limits_file_build.h"

/* False: unknown or unreadable, said at the node. */
bool limits_file_zone_read(struct limits_file_build *build, const struct yaml_tree_node *node,
                           struct calendar_zone *out);

#endif
