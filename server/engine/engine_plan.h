/* Plans: a request that was checked, matched to its route and limits, and hashed; the worker's
 * scratch that they live in. Private to the engine.
 *
 * A plan's rows (one a limit of the route, in its order) stand at scratch.rows[plan->first …]; its
 * items for the store, close together, at scratch.items[plan->first …]. Both arrays end in a spare
 * part for the one plan that is made anew when the limits were replaced meanwhile. */
#ifndef ENGINE_ENGINE_PLAN_H
#define ENGINE_ENGINE_PLAN_H

#include "engine/engine.h"

/* A policy set in use. */
struct engine_set {
    struct policy_set *policies;
    uint32_t *metric_by_policy; /* policy id -> its limit's number in the metrics */
    uint64_t sequence;          /* 1 for the first, one more with each reload */
    struct engine_set *newer;   /* the one that replaced it */
};

#define ENGINE_PLAN_NO_ITEM UINT32_MAX

struct engine_row {
    const struct policy_limit *limit;
    const struct policy_variant *variant; /* NULL: a shadow limit that cannot tell who is counted:
                                           * skipped */
    uint32_t item;                        /* index into scratch.items, or ENGINE_PLAN_NO_ITEM */
};

enum {
    ENGINE_PLAN_ROWS = LIMITS_PLANNED_MAX * LIMITS_ROUTE_LIMITS_MAX,
    ENGINE_PLAN_SPARE = ENGINE_PLAN_ROWS, /* where the spare part begins */
    /* A part: its length and its bytes. */
    ENGINE_PLAN_IDENTITY_BYTES = LIMITS_COUNT_BY_MAX * (4 + LIMITS_KEY_BYTES_MAX)
};

/* Routes that this worker met lately, by a cheap hash of their bytes: most requests ask for one of
 * a few, and finding the entry of `routes` anew costs more than comparing. */
enum { ENGINE_PLAN_RECENT = 64, ENGINE_PLAN_RECENT_BYTES = 48 };

struct engine_recent {
    uint64_t sequence; /* of the set that it was matched in; 0: empty */
    const struct policy_route *route;
    const struct policy_limit *plain; /* its only limit, where that needs no thought; or NULL */
    uint32_t size;
    uint8_t text[ENGINE_PLAN_RECENT_BYTES];
};

struct engine_scratch {
    uint32_t used; /* rows taken by the plans since engine_enter or engine_rewind */
    struct engine_row rows[ENGINE_PLAN_ROWS + LIMITS_ROUTE_LIMITS_MAX];
    struct store_item items[ENGINE_PLAN_ROWS + LIMITS_ROUTE_LIMITS_MAX];
    struct engine_recent recent[ENGINE_PLAN_RECENT + 1]; /* the last: for longer ones, not kept */
    uint8_t route[LIMITS_KEY_BYTES_MAX];          /* the normalised route of the plan at hand */
    uint8_t identity[ENGINE_PLAN_IDENTITY_BYTES]; /* what is hashed */
};

/* Makes the plan of `request` against `set`, its rows from scratch->rows[first] on. Prefetches its
 * counters. False: *error says why. */
bool engine_plan_make(struct engine_scratch *scratch, const struct engine_set *set,
                      const struct store *store, const struct request *request,
                      enum engine_purpose purpose, int64_t now_ns, uint32_t first,
                      struct engine_plan *plan, struct request_error *error);

/* Whom `limit` counts, for a request whose route is not known. False: it counts by the route, or by
 * an attribute that the request lacks. */
bool engine_plan_identity(struct engine_scratch *scratch, const struct hash_key *key,
                          const struct policy_limit *limit, const struct request *request,
                          struct fingerprint *out);

#endif
