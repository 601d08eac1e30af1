/* Reads files of envoyproxy/ratelimit as they are: a domain a file, nested descriptors, and of our
 * own `algorithm` and `burst` beside them. They are part of the policy set that the limits file
 * makes (limits_file.c): checked together, in force together. */
#ifndef ENGINE_ENVOY_FILE_H
#define ENGINE_ENVOY_FILE_H

#include "engine/limits_file_build.h"

#define ENVOY_FILE_OWN_DOMAIN "sluice" /* its descriptors meet the limits file */

/* The descriptors of a file, on all levels: no file has more rules. */
uint32_t envoy_file_count(const struct yaml_tree_node *root);

/* Makes build->set->envoy, with room for what the files hold. */
STATUS_CHECKED enum status envoy_file_begin(struct limits_file_build *build, uint32_t nodes,
                                            uint32_t files);

/* Adds the file being walked (build->file). Its limits go behind those that the set has. */
void envoy_file_read(struct limits_file_build *build, const struct yaml_tree *tree);

/* Once the policies are settled: what identities are mixed with, and the numbers of the metrics. */
STATUS_CHECKED enum status envoy_file_complete(struct limits_file_build *build,
                                               const struct hash_key *key);

#endif
