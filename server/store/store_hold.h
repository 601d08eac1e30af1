/* Holding several shards together, and fetching the memory they want while they are not held.
 *
 *     store_hold_begin -> take -> (work; it wants memory: store_hold_note) -> drop -> supply
 *                          ^----------------------------------------------------------'
 *
 * The only place where more than one lock is taken: in ascending order. */
#ifndef STORE_STORE_HOLD_H
#define STORE_STORE_HOLD_H

#include "store/store_state.h"

struct store_hold {
    struct store *store;
    uint32_t shards[LIMITS_ROUTE_LIMITS_MAX]; /* ascending, each once */
    uint32_t count;
    uint32_t wish_shard;
    size_t wish_bytes; /* 0: nothing is wanted */
    size_t wish_align;
    bool impossible;
    void *run; /* what was fetched for the wish */
};

void store_hold_begin(struct store_hold *hold, struct store *store);
void store_hold_add(struct store_hold *hold, uint32_t shard);
void store_hold_take(struct store_hold *hold);
/* Keeps what a held shard wants. */
void store_hold_note(struct store_hold *hold, struct shard *shard);
/* Unlocks, then gives back to the system what the shards dropped. */
void store_hold_drop(struct store_hold *hold);

/* Fetches what is wanted, to be handed over by the next take. STATUS_FULL: the bound on memory
 * (where `bounded`) forbids it. */
STATUS_CHECKED enum status store_hold_supply(struct store_hold *hold, bool bounded);
/* Gives back what was fetched and not used. */
void store_hold_end(struct store_hold *hold);

/* Unmaps a list that a shard dropped. */
void store_hold_unmap(struct store *store, struct pages_run *dropped);

#endif
