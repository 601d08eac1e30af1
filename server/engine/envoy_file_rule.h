/* The `rate_limit` of a descriptor. */
#ifndef ENGINE_ENVOY_FILE_RULE_H
#define ENGINE_ENVOY_FILE_RULE_H

#include "engine/envoy_config.h"
#include "engine/limits_file_read.h"

/* What stands beside it in the descriptor. */
struct envoy_file_rule_around {
    const struct yaml_tree_item *algorithm; /* NULL: fixed_window */
    const struct yaml_tree_item *burst;     /* NULL: none */
    bool shadow;
    bool quota;
};

/* The rule, or NULL where something is wrong with it (said so). `node` is the descriptor that it
 * is for, with its parents. */
struct envoy_rule *envoy_file_rule_read(struct limits_file_build *build,
                                        const struct yaml_tree_node *rate_limit,
                                        const struct envoy_file_rule_around *around,
                                        struct slice domain, const struct envoy_node *node);

#endif
