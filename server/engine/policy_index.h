/* How a policy set finds things: plan values and overrides of a limit, and the routes. Built once
 * when the set is complete. */
#ifndef ENGINE_POLICY_INDEX_H
#define ENGINE_POLICY_INDEX_H

#include "engine/name_index.h"
#include "engine/policy.h"

struct policy_plan_index {
    struct name_index by_value; /* -> plans */
};

/* Overrides whose match is one exact key are found by that key, in ascending chains; all others
 * are tried in file order. */
struct policy_override_index {
    struct name_index by_key; /* -> the first override of that key */
    uint32_t *next;           /* the next override of the same key, or NAME_INDEX_NONE */
    uint32_t *others;         /* ascending */
    uint32_t other_count;
};

/* For plans and overrides of every limit. */
STATUS_CHECKED enum status policy_index_build(struct policy_set *set);

#endif
