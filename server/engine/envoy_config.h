/* The rules of envoyproxy/ratelimit files: a tree of descriptors under each domain.
 *
 *   domain -> level: key -> the descriptor of that very value, those with patterns, the default one
 *                    -> rule, or the next level
 *
 * Each rule that limits is also a policy_limit of the set, known by domain and path, so that
 * reloads, state and metrics treat it as they treat a limit of the limits file. Everything lives in
 * the set's arena and never changes once it is built. */
#ifndef ENGINE_ENVOY_CONFIG_H
#define ENGINE_ENVOY_CONFIG_H

#include "engine/name_index.h"
#include "engine/policy.h"

/* The numbers of RateLimit.Unit. */
enum envoy_unit {
    ENVOY_UNKNOWN,
    ENVOY_SECOND,
    ENVOY_MINUTE,
    ENVOY_HOUR,
    ENVOY_DAY,
    ENVOY_MONTH,
    ENVOY_YEAR,
    ENVOY_WEEK,
    ENVOY_UNITS
};

struct envoy_rule {
    struct slice name; /* current_limit's; may be empty */
    enum envoy_unit unit;
    bool unlimited;
    bool shadow;
    bool quota;
    struct slice *replaces; /* names of rules that do not count beside this one */
    uint32_t replace_count;
    struct policy_limit *limit; /* NULL: unlimited */
};

struct envoy_level {
    uint32_t id;
};

struct envoy_node {
    struct slice key;
    struct slice value; /* empty: the default of its key */
    bool pattern;       /* the value holds a star */
    bool shared;        /* share_threshold: all that match are one counter */
    struct envoy_rule *rule;      /* NULL: none */
    struct envoy_level *children; /* NULL: none */
    struct envoy_node *next;      /* the next pattern of the same key */
    const struct envoy_node *parent;
    uint32_t depth; /* from 1 */
    uint32_t line;
};

/* What a level has for one key. */
struct envoy_key {
    const struct envoy_node *fallback; /* NULL: none */
    struct envoy_node *first_pattern;  /* in the file's order */
    struct envoy_node *last_pattern;
};

struct envoy_config {
    bool loaded;  /* there was a file */
    bool classic; /* --envoy-semantics: one by one, charged past the limit, 30 and 365 days */
    bool shadow_all;
    struct name_index domains; /* -> levels */
    struct name_index keys;    /* in the space of the level's id: -> keys */
    struct name_index values;  /* in the space of the key's number: -> nodes */
    struct envoy_level *level_list;
    struct envoy_key *key_list;
    struct envoy_node *node_list;
    uint32_t level_count;
    uint32_t key_count;
    uint32_t node_count;
    uint32_t domain_count;
    uint32_t rule_count; /* the last ones of set->limits */
};

#endif
