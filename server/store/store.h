/* Every counter of the daemon: shards with one lock each, counters found by fingerprint.
 *
 *   store.c  shards, their locks (taken in ascending order, in one function), memory for growth
 *   table.c  one shard's open-addressing table in small segments; no lock, no clock, no allocation
 *   log.c    the blocks of sliding logs and of counters too wide for their slot
 *
 * The counters of one request change together or not at all. Nothing is allocated, logged or
 * asked of the kernel under a lock: a call that finds no room gives the lock back, fetches memory
 * and tries again.
 *
 * Thread safety: every function may be called from any thread, but create, destroy and
 * store_install. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/hash.h"
#include "base/status.h"
#include "limiter/limiter.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

enum store_when_full { STORE_REFUSE, STORE_EVICT };

struct store_config {
    struct hash_key key;       /* of the fingerprints; random for each state */
    uint32_t shards;           /* a power of two, 1 to 1024; 0: 64 */
    uint64_t max_counters;     /* 0: no bound */
    uint64_t max_memory_bytes; /* counters, logs and table together; 0: no bound */
    enum store_when_full when_full;
};

/* The policies in force; policies[i].id == i. Owned by the engine, which keeps it alive until
 * no thread and no counter needs it. */
struct store_policies {
    const struct limiter_policy *policies;
    uint32_t count;
};

#define STORE_GONE UINT32_MAX

/* A reload. Counters are converted when touched, or by store_sweep. */
struct store_change {
    const struct store_policies *next;
    const uint32_t *map; /* old policy id -> new id (the same plan value or override), or
                          * STORE_GONE: its counters are forgotten */
    int64_t at_ns;       /* R: old numbers before it, new ones after */
};

enum store_verdict {
    STORE_ADMITTED,
    STORE_REFUSED,
    STORE_NEVER, /* cost above B or L */
    STORE_FULL   /* needs a new counter and there is no room (a shadow one: skipped) */
};

/* One counter of one request. */
struct store_item {
    struct fingerprint id;
    const struct limiter_policy *policy; /* the request's own numbers */
    uint64_t cost;                       /* 0: a look */
    bool shadow;                         /* never refuses the request */
    bool quota;                          /* of a shadow one: refuses where all quota items of the
                                          * request would (two of them at least) */

    /* filled by the store */
    bool exists;                  /* a counter was there (before the request) */
    enum store_verdict verdict;   /* this limit's own */
    struct limiter_report report; /* after the charge where charged, else as it stands */
    uint32_t evicted;             /* policy id of the counter that made room, or STORE_GONE */
};

struct store *store_create(const struct store_config *config); /* NULL: no memory */
void store_destroy(struct store **store);

const struct hash_key *store_hash_key(const struct store *store);

/* The first policies; before any other call. */
void store_install(struct store *store, const struct store_policies *policies);

/* Puts new policies in force at change->at_ns, for all shards at one instant. The old policies,
 * change->map and *change stay alive (caller's) until store_is_converted. STATUS_UNAVAILABLE
 * while an earlier change is still being applied. */
STATUS_CHECKED enum status store_swap(struct store *store, const struct store_change *change);
/* No counter refers to the policies before the latest swap any more. */
bool store_is_converted(const struct store *store);

/* Brings the counter's cache lines near; call a little before the decision. */
void store_prefetch(const struct store *store, struct fingerprint id);

/* Decides items[0 … count) together. *allowed is false when an enforced item refuses; then none is
 * charged. Otherwise all are charged but the shadow ones that would refuse. An id that comes twice
 * is charged twice, in order. STATUS_STALE: `policies` is no longer in force; nothing was done. */
STATUS_CHECKED enum status store_decide(struct store *store,
                                        const struct store_policies *policies,
                                        struct store_item *items, uint32_t count, int64_t now_ns,
                                        bool *allowed);

/* Gives items[i].cost units back to each counter that exists, then reports as a look does. */
STATUS_CHECKED enum status store_refund(struct store *store,
                                        const struct store_policies *policies,
                                        struct store_item *items, uint32_t count, int64_t now_ns);

/* Forgets the counters; *forgotten says how many were not as if never used. */
STATUS_CHECKED enum status store_reset(struct store *store,
                                       const struct store_policies *policies,
                                       struct store_item *items, uint32_t count, int64_t now_ns,
                                       uint32_t *forgotten);

/* One small step of house-keeping: frees counters that have been as if never used for a second by
 * the latest now seen, converts after a swap, gives memory back. Looks at about `budget` slots.
 * Returns false when a whole round found nothing due, so that a caller may wait. */
bool store_sweep(struct store *store, int64_t now_ns, uint32_t budget);

struct store_stats {
    uint64_t counters;     /* stored now */
    uint64_t memory_bytes; /* table, logs, pools */
    uint64_t swept;        /* since start */
    uint64_t evicted;
};
void store_stats(const struct store *store, struct store_stats *out);

#endif
