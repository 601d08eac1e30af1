#include "engine/engine_set.h"

#include <stdlib.h>

/* A variant without numbers has the limit's own policy, so noting it again does no harm. */
static void note_metric(struct engine_set *set, const struct policy_variant *variant,
                        uint32_t metric)
{
    set->metric_by_policy[variant->policy] = metric;
}

static void note_limit(struct engine_set *set, const struct policy_limit *limit)
{
    note_metric(set, &limit->own, limit->metric);
    for (uint32_t i = 0; i < limit->plan_count; i++) {
        note_metric(set, &limit->plans[i], limit->metric);
    }
    for (uint32_t i = 0; i < limit->override_count; i++) {
        note_metric(set, &limit->overrides[i].variant, limit->metric);
    }
}

struct engine_set *engine_set_create(struct policy_set *policies, uint64_t sequence)
{
    struct engine_set *set = calloc(1, sizeof(*set));
    if (set == NULL) {
        return NULL;
    }
    set->metric_by_policy = calloc((size_t)policies->policies.count + 1, sizeof(uint32_t));
    if (set->metric_by_policy == NULL) {
        free(set);
        return NULL;
    }
    set->policies = policies;
    set->sequence = sequence;
    for (uint32_t i = 0; i < policies->limit_count; i++) {
        note_limit(set, &policies->limits[i]);
    }
    return set;
}

void engine_set_destroy(struct engine_set **set)
{
    if (*set != NULL) {
        if ((*set)->policies != NULL) {
            policy_set_destroy(&(*set)->policies);
        }
        free((*set)->metric_by_policy);
        free(*set);
        *set = NULL;
    }
}
