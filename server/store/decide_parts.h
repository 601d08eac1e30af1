/* What deciding one item and deciding several have in common. Private to decide*.c. */
#ifndef STORE_DECIDE_PARTS_H
#define STORE_DECIDE_PARTS_H

#include "store/decide.h"

static inline bool decide_parts_is_log(const struct limiter_policy *policy)
{
    return policy->algorithm == LIMITER_SLIDING_LOG;
}

static inline enum store_verdict decide_parts_verdict(enum limiter_outcome outcome)
{
    switch (outcome) {
    case LIMITER_ADMIT:
        return STORE_ADMITTED;
    case LIMITER_REFUSE:
        return STORE_REFUSED;
    case LIMITER_NEVER:
        break;
    }
    return STORE_NEVER;
}

/* Writes an admission and keeps the instants at which house-keeping is due true: a report's
 * reset_after is when the counter becomes as if never used. An admission under the numbers that
 * the counter had before only moves that further away, and so leaves the segment's head alone. */
static inline void decide_parts_charge(struct shard *shard, struct table_slot *slot,
                                       const struct store_item *item,
                                       const struct limiter_step *step, int64_t now_ns)
{
    bool fresh = slot->meta == 0;
    bool same = !fresh && counter_policy(slot) == item->policy->id;
    counter_apply(&shard->memory, slot, decide_parts_is_log(item->policy), step, item->policy->id,
                  shard->generation);
    shard_note_changed(shard, slot, !fresh && !same);
    if (!same) {
        struct table_key key = {.order = slot->order, .tag = slot->tag};
        shard_note_due(shard, key, arith_add_ns(now_ns, item->report.reset_after_ns));
    }
}

static inline void decide_parts_note_now(struct shard *shard, int64_t now_ns)
{
    if (now_ns > shard->latest_ns) {
        shard->latest_ns = now_ns;
    }
}

#endif
