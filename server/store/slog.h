/* The admissions of one sliding log, in units of a shard's pools. No lock, no allocation.
 *
 *   header (64 B):  base, count, skip ... and   up to 3 entries                     (ring 0)
 *                                          or   up to 5 blocks                      (ring 5)
 *                                          or   a ring of pointers to blocks elsewhere
 *   block (64 B):   5 entries of 8 + 4 bytes
 *
 * The blocks in ring order hold the entries one after another; the first `skip` places of the
 * first blocks are of dropped entries. Entry i is place skip + i, so access by index is two steps.
 * Blocks that only hold dropped entries go back a few at each change, however many are dropped at
 * once. A log costs 12.8 bytes an entry in blocks and at most 3.2 in its ring. */
#ifndef STORE_SLOG_H
#define STORE_SLOG_H

#include "limiter/limiter.h"
#include "store/pool.h"

#define SLOG_POOLS 7u /* units of 64 to 2688 bytes; larger rings are runs of pages */

struct slog_pools {
    struct pool units[SLOG_POOLS];
    struct slog *trash; /* headers of forgotten logs with many blocks, freed bit by bit */
};

#define SLOG_INLINE_ENTRIES 3u
#define SLOG_INLINE_BLOCKS 5u
#define SLOG_BLOCK_ENTRIES 5u

struct slog_block {
    int64_t at_ns[SLOG_BLOCK_ENTRIES];
    uint32_t total[SLOG_BLOCK_ENTRIES];
    uint32_t unused;
};

struct slog_inline {
    int64_t at_ns[SLOG_INLINE_ENTRIES];
    uint32_t total[SLOG_INLINE_ENTRIES];
};

struct slog_ring {
    struct slog_block **blocks;
    struct slog *next_trash;
};

struct slog {
    uint32_t base;   /* total just before entry 0 */
    uint32_t count;  /* entries */
    uint32_t skip;   /* places of dropped entries in front */
    uint32_t head;   /* ring index of the first block */
    uint32_t blocks; /* blocks held */
    uint32_t ring;   /* places of the ring; 0: entries are inline */
    union {
        struct slog_inline entries;
        struct slog_block *few[SLOG_INLINE_BLOCKS];
        struct slog_ring many;
    };
};

/* A log as the limiters read it; valid until the log changes. */
struct slog_view {
    struct limiter_log log;
    const struct slog *of;
};

void slog_pools_init(struct slog_pools *pools);
/* Room for `count` new logs. False: wants memory. */
bool slog_pools_reserve(struct slog_pools *pools, struct pages *pages, uint32_t count);
/* Frees up to `budget` blocks of forgotten logs; returns how many. */
uint32_t slog_pools_sweep(struct slog_pools *pools, struct pages *pages, uint32_t budget);
void slog_pools_trim(struct slog_pools *pools, struct pages *pages);

/* An empty log, after slog_pools_reserve. */
struct slog *slog_make(struct slog_pools *pools);
void slog_forget(struct slog_pools *pools, struct pages *pages, struct slog *log);

struct slog_view slog_view(const struct slog *log);
struct limiter_log_entry slog_entry(const struct slog *log, uint32_t index);

/* Room for `more` further entries (at most SLOG_BLOCK_ENTRIES) in this log. False: wants memory. */
bool slog_reserve(struct slog_pools *pools, struct pages *pages, struct slog *log, uint32_t more);
/* After slog_reserve. Merges with the newest entry where the instant is the same. */
void slog_append(struct slog *log, int64_t at_ns, uint32_t units);
/* Forgets the `entries` oldest. */
void slog_drop(struct slog *log, uint32_t entries);
/* Takes `units` back, newest first. */
void slog_pop(struct slog *log, uint32_t units);
/* Gives back blocks that hold nothing any more, a few at a time. */
void slog_trim(struct slog_pools *pools, struct pages *pages, struct slog *log);

#endif
