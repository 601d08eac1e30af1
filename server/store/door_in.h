/* The door through which counters come in, before any request:
 *
 *   door_in_expect   room for so many, so that tables need not grow step by step
 *   door_in_put      records as they were written; of several of one counter the last stays
 *   door_in_settle   takes each through the policies since (a reload after another) to those in
 *                    force, and times that lie ahead back to now
 *
 * Until the last step the slots hold ids that only the caller's table of ways understands. */
#ifndef STORE_DOOR_IN_H
#define STORE_DOOR_IN_H

#include "store/door_batch.h"
#include "store/store.h"

/* A reload that changed numbers. */
struct door_step {
    const struct limiter_policy *from;
    const struct limiter_policy *to;
    int64_t at_ns;
};

/* What becomes of the counters of one id. */
struct door_way {
    const struct limiter_policy *written; /* under which they were written down */
    uint32_t policy;                      /* in force now, or STORE_GONE */
    uint32_t first_step;
    uint32_t steps;
};

struct door_ways {
    const struct door_way *ways; /* by id */
    uint32_t count;
    const struct door_step *steps;
};

struct door_in_result {
    uint64_t counters;  /* loaded */
    uint64_t forgotten; /* of limits that are gone, changed, or as if never used */
    uint64_t evicted;   /* beyond --max-counters */
};

STATUS_CHECKED enum status door_in_expect(struct store *store, uint64_t counters);

/* Puts the batch in; the ids in its records are below ways->count. `old`: some records may be older
 * than what is there (a journal that ran while the image was made): logs are left alone where that
 * is seen. STATUS_INVALID: a log's record does not follow from what is there. */
STATUS_CHECKED enum status door_in_put(struct store *store, const struct door_batch *batch,
                                       const struct door_ways *ways, bool old);

/* Shards are settled one by one, and may be by several threads; *out is added to. */
uint32_t door_in_shards(const struct store *store);
STATUS_CHECKED enum status door_in_settle(struct store *store, uint32_t shard,
                                          const struct door_ways *ways, int64_t now_ns,
                                          struct door_in_result *out);
/* Last: what is beyond the bound on counters goes. */
void door_in_trim(struct store *store, int64_t now_ns, struct door_in_result *out);

/* Forgets everything that was put in. */
void door_in_clear(struct store *store);

#endif
