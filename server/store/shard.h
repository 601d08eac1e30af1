/* One shard: its table, what its counters keep outside, the policies in force, house-keeping.
 * Called with the shard's lock held; knows nothing of locks. */
#ifndef STORE_SHARD_H
#define STORE_SHARD_H

#include "store/counter.h"
#include "store/dirty.h"
#include "store/store.h"

struct shard {
    const struct store_policies *policies; /* in force */
    uint32_t generation;                   /* COUNTER_GENERATION or 0 */
    uint32_t index;
    bool bounded; /* the store has a bound on counters: whoever makes one asks the store first */
    int64_t latest_ns; /* latest now that a request brought */
    int64_t due_ns;    /* no counter is as if never used before this instant */
    struct table table;
    int64_t noted_ns;    /* the earliest that was noted since the table's cursor set out */
    int64_t round_ns;    /* the earliest of the segments it has passed */
    uint64_t unconverted; /* counters of the other generation */
    const struct store_policies *before; /* what those refer to */
    const struct store_change *change;   /* how to bring them over */
    uint64_t told; /* counters that the store's own sum knows of, where they are bounded */
    uint64_t swept;
    uint64_t evicted;
    bool loose; /* counters were erased in this round: segments may be too large */
    uint64_t epoch; /* how many swaps there were */
    struct dirty dirty;
    struct counter_memory memory;
};

void shard_init(struct shard *shard, uint32_t index, uint32_t shard_bits);
/* Hangs all memory on memory.pages.dropped. */
void shard_clear(struct shard *shard);

/* Puts other policies in force; the counters follow one by one. */
void shard_swap(struct shard *shard, const struct store_change *change);

/* The counter of a key, brought over to the policies in force, or NULL in *slot. May move slots.
 * False: wants memory. */
bool shard_find(struct shard *shard, struct table_key key, struct table_slot **slot);

static inline bool shard_is_current(const struct shard *shard, const struct table_slot *slot)
{
    return (slot->meta & COUNTER_GENERATION) == shard->generation;
}

/* The numbers that a counter was last admitted under. */
const struct limiter_policy *shard_held(const struct shard *shard, const struct table_slot *slot);

/* Moves slots. */
void shard_erase(struct shard *shard, struct table_slot *slot);

/* A counter was written. `pin`: what is on disk of it would outlive it. */
static inline void shard_note_changed(struct shard *shard, struct table_slot *slot, bool pin)
{
    dirty_mark(&shard->dirty, table_rest(&shard->table, slot->order));
    if (pin && shard->dirty.on) {
        slot->meta |= COUNTER_PINNED;
    }
}

/* Makes a counter as if never used: erased, or, where a state is kept, emptied so that the state
 * learns of it. Moves slots. */
void shard_forget(struct shard *shard, struct table_slot *slot);

/* A counter of this key was written and is as if never used at due_ns, not earlier. */
void shard_note_due(struct shard *shard, struct table_key key, int64_t due_ns);

/* One stretch of house-keeping from the table's cursor on. */
struct shard_visit {
    int64_t now_ns;
    int64_t grace_ns;  /* free what has been as if never used for so long */
    uint32_t budget;   /* slots to look at */
    bool may_wish;     /* may ask for memory (to move into something smaller, to convert) */

    uint32_t looked;
    uint32_t freed;    /* counters */
    bool found;        /* something was due */
    bool wants;        /* stopped for want of memory */
    bool wrapped;      /* came to the end of the table; the cursor is at its start again */
};

void shard_visit(struct shard *shard, struct shard_visit *visit);
/* Is there anything for a visit to do? */
bool shard_is_due(const struct shard *shard, int64_t now_ns, int64_t grace_ns);

/* The counter that an eviction would cost least, of those looked at. */
struct shard_sample {
    const struct table_key *except; /* those of the request itself */
    uint32_t except_count;
    int64_t now_ns;
    uint32_t wanted;     /* stop at so many candidates */
    bool one_segment;
    uint64_t rest;       /* where to go on; 0 after the last */
    uint32_t looked;
    uint32_t candidates; /* not exhausted */
    bool found;
    int64_t idle_ns;     /* of the best one: the nearest to reset */
    struct table_key key;
    uint32_t policy;
    uint32_t shard;
};

/* Looks on from sample->rest at up to `budget` slots or until `wanted`; false: the table's end (or,
 * where `one_segment`, the segment's) was reached. */
bool shard_sample(const struct shard *shard, struct shard_sample *sample, uint32_t budget);
/* Is this counter there and not exhausted? Then it goes. */
bool shard_evict(struct shard *shard, struct table_key key, int64_t now_ns);

#endif
