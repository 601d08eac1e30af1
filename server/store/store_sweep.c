/* House-keeping: shard after shard, a few hundred slots in one hold of a lock. */
#include "store/store_hold.h"

#define GRACE_NS INT64_C(1000000000) /* two requests' clocks may differ, but not by so much */
#define PIECE_SLOTS 512u
#define IDLE_SHARD_SLOTS 4u /* what a look at a shard with nothing due counts as */

/* Works on one shard until its round is done or the budget is used up; true: the round is done. */
static bool sweep_shard(struct store *store, int64_t now_ns, uint32_t budget, uint32_t *looked)
{
    struct shard *shard = &store->shards[store->sweep_shard].shard;
    struct shard_visit visit = {.now_ns = now_ns, .grace_ns = GRACE_NS, .may_wish = true};
    struct store_hold hold;
    bool done = false;
    store_hold_begin(&hold, store);
    store_hold_add(&hold, store->sweep_shard);
    while (!done && *looked + visit.looked < budget) {
        store_hold_take(&hold);
        if (shard->latest_ns > visit.now_ns) {
            visit.now_ns = shard->latest_ns;
        }
        visit.wrapped = true;
        visit.wants = false;
        if (shard_is_due(shard, visit.now_ns, GRACE_NS)) {
            visit.budget = visit.looked + PIECE_SLOTS;
            shard_visit(shard, &visit);
        } else {
            visit.looked += IDLE_SHARD_SLOTS;
        }
        if (visit.wants) {
            store_hold_note(&hold, shard);
        }
        store_hold_drop(&hold);
        done = visit.wrapped;
        /* Converting must not fail for a bound, only for the system's lack; moving into smaller
         * segments can wait. */
        if (visit.wants && store_hold_supply(&hold, false) != STATUS_OK) {
            done = !visit.may_wish;
            visit.may_wish = false;
        }
    }
    store_hold_end(&hold);
    store->sweep_found = store->sweep_found || visit.found;
    *looked += visit.looked;
    return done;
}

bool store_sweep(struct store *store, int64_t now_ns, uint32_t budget)
{
    uint32_t looked = 0;
    bool round_done = false;
    bool found = true;
    if (!store_lock_try(&store->sweep_lock)) {
        return true;
    }
    while (looked < budget && !round_done) {
        if (!sweep_shard(store, now_ns, budget, &looked)) {
            continue;
        }
        store->sweep_shard = (store->sweep_shard + 1) & (store->shard_count - 1);
        round_done = store->sweep_shard == 0;
    }
    if (round_done) {
        found = store->sweep_found;
        store->sweep_found = false;
    }
    store_lock_drop(&store->sweep_lock);
    return found;
}
