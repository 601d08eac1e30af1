/* Which rule a descriptor of a request meets: the tree walked entry by entry, the value itself
 * first, then the patterns in the file's order, then the key's default. Never back: an exact value
 * whose subtree lacks the next key does not fall back to a pattern. Key and value are looked up
 * apart, so no two of them can be glued into a third. */
#ifndef ENGINE_ENVOY_MATCH_H
#define ENGINE_ENVOY_MATCH_H

#include "engine/envoy_config.h"

struct envoy_entry {
    struct slice key;
    struct slice value;
};

/* Room for `nodes` descriptors in `domains` domains, in the set's arena. */
STATUS_CHECKED enum status envoy_match_init(struct envoy_config *config, struct arena *arena,
                                            uint32_t nodes, uint32_t domains);

/* A new domain, or NULL and the one that has its name in *existing. */
STATUS_CHECKED enum status envoy_match_add_domain(struct envoy_config *config, struct slice name,
                                                  struct envoy_level **level);
struct envoy_level *envoy_match_add_level(struct envoy_config *config);
/* Adds a descriptor; *existing is the one that has its key and value already, or NULL. */
STATUS_CHECKED enum status envoy_match_add_node(struct envoy_config *config,
                                                const struct envoy_level *level,
                                                const struct envoy_node *node,
                                                struct envoy_node **added,
                                                const struct envoy_node **existing);

/* NULL: the file has no such domain. */
const struct envoy_level *envoy_match_domain(const struct envoy_config *config,
                                             struct slice domain);

/* The node of the last entry, or NULL: none as deep as the descriptor. */
const struct envoy_node *envoy_match_find(const struct envoy_config *config,
                                          const struct envoy_level *level,
                                          const struct envoy_entry *entries, uint32_t count);

/* `*` is any run of bytes; every other byte stands for itself. */
bool envoy_match_pattern(struct slice pattern, struct slice text);

#endif
