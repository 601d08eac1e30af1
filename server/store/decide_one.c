/* The straight path: a request of one item. */
#include "store/decide_parts.h"

static bool make_room_for_one(struct shard *shard, const struct store_item *item,
                              struct table_key key, const struct limiter_step *step)
{
    return table_reserve(&shard->table, &shard->memory.pages, key, 1) &&
           counter_reserve(&shard->memory, NULL, decide_parts_is_log(item->policy), step, 1);
}

static inline enum decide_result answer(struct store_item *item, bool exists,
                                        enum limiter_outcome outcome)
{
    item->exists = exists;
    item->verdict = decide_parts_verdict(outcome);
    item->evicted = STORE_GONE;
    return DECIDE_DONE;
}

/* Apart from decide_one, whose few values then all stay in registers. */
static __attribute__((noinline)) enum decide_result
decide_one_other(struct shard *shard, struct table_slot *slot, struct store_item *item,
                 struct table_key key, int64_t now_ns)
{
    struct counter_view view;
    const struct limiter_state *state = NULL;
    const struct limiter_policy *held = item->policy;
    struct limiter_step step;
    if (slot != NULL) {
        if (!shard_is_current(shard, slot)) {
            return DECIDE_OTHERWISE;
        }
        counter_read(slot, &view);
        state = &view.state;
        held = &shard->policies->policies[counter_policy(slot)];
    }
    enum limiter_outcome outcome =
        limiter_admit(item->policy, held, state, item->cost, now_ns, &step);
    if (outcome == LIMITER_ADMIT && item->cost > 0) {
        if (slot == NULL) {
            if (shard->bounded || !make_room_for_one(shard, item, key, &step)) {
                return DECIDE_OTHERWISE;
            }
            slot = table_insert(&shard->table, key);
        } else if (!counter_reserve(&shard->memory, slot, decide_parts_is_log(item->policy),
                                    &step, 1)) {
            return DECIDE_OTHERWISE;
        }
        limiter_report_admitted(item->policy, held, state, &step, item->cost, now_ns,
                                &item->report);
        decide_parts_charge(shard, slot, item, &step, now_ns);
    } else {
        limiter_report(item->policy, held, state, item->cost, outcome, now_ns, &item->report);
    }
    decide_parts_note_now(shard, now_ns);
    return answer(item, state != NULL, outcome);
}

enum decide_result decide_one(struct shard *shard, const struct store_policies *policies,
                              struct store_item *item, struct table_key key, int64_t now_ns)
{
    const struct limiter_policy *policy = item->policy;
    struct table_slot *slot = table_find(&shard->table, key);
    if (shard->policies != policies) {
        return DECIDE_STALE;
    }
    /* Written by this generation, under the numbers of this request, in one word. */
    uint32_t like = policy->id << COUNTER_POLICY_SHIFT | shard->generation | COUNTER_PLAIN;
    if (slot != NULL && (slot->meta & ~(COUNTER_CHANGED | COUNTER_PINNED)) == like) {
        struct limiter_state state = {.time_ns = slot->time_ns, .lo = slot->word};
        struct limiter_state next;
        if (limiter_admit_brief(policy, &state, item->cost, now_ns, &next, &item->report)) {
            slot->time_ns = next.time_ns;
            slot->word = next.lo;
            slot->meta |= COUNTER_CHANGED;
            shard_note_changed(shard, slot, false);
            decide_parts_note_now(shard, now_ns);
            return answer(item, true, LIMITER_ADMIT);
        }
    }
    return decide_one_other(shard, slot, item, key, now_ns);
}
