/* `routes` and `normalize_routes`. */
#ifndef ENGINE_LIMITS_FILE_ROUTE_H
#define ENGINE_LIMITS_FILE_ROUTE_H

#include "engine/limits_file_build.h"

/* To be read before anything that holds a route. */
void limits_file_route_normalise(struct limits_file_build *build,
                                 const struct yaml_tree_item *item);

/* Reads all of `routes` into build->set->routes; the limits are known. */
void limits_file_route_read_all(struct limits_file_build *build,
                                const struct yaml_tree_node *node);

#endif
