/* A rule's place in the tree, written out. */
#ifndef ENGINE_ENVOY_PATH_H
#define ENGINE_ENVOY_PATH_H

#include "engine/envoy_config.h"

/* What a reload knows the rule by: `envoy:edge/tenant/user=a*`, with a backslash before / = and \
 * in a part, so that no two rules read the same (nor as a limit of the limits file does). False:
 * no memory. */
bool envoy_path_name(struct arena *arena, struct slice domain, const struct envoy_node *node,
                     struct slice *out);

/* What metrics call it, as envoyproxy/ratelimit's statistics do: `envoy/edge.tenant.user_a*`. */
bool envoy_path_metric(struct arena *arena, struct slice name, struct slice *out);

/* The keys whose values are counted apart, in order; an exact value or a shared pattern is none.
 * `parts` has room for node->depth. */
uint32_t envoy_path_parts(const struct envoy_node *node, struct policy_part *parts);

/* Is this level's value counted apart? */
static inline bool envoy_path_counts(const struct envoy_node *node)
{
    return node->value.size == 0 || (node->pattern && !node->shared);
}

#endif
