/* What store_*.c share: the shards with their locks, and how to hold some of them together. */
#ifndef STORE_STORE_STATE_H
#define STORE_STORE_STATE_H

#include "base/limits.h"
#include "store/shard.h"
#include "store/store_lock.h"

#define STORE_LINE_BYTES 128 /* two cache lines: neighbours are fetched in pairs */

struct store_shard {
    _Alignas(STORE_LINE_BYTES) struct store_lock lock;
    struct shard shard; /* guarded by lock, but for table_home */
};

struct store {
    struct store_config config;
    struct pages_source source;
    uint32_t shard_bits;
    uint32_t shard_count;
    struct store_sum memory_bytes;
    struct store_sum counters; /* stored or promised; only where max_counters is set */
    struct store_lock sweep_lock;
    uint32_t sweep_shard; /* guarded by sweep_lock, as the next one */
    bool sweep_found;     /* something was due in this round */
    struct store_shard shards[];
};

/* store_create with another source of memory. */
struct store *store_create_from(const struct store_config *config,
                                const struct pages_source *source);

static inline struct store_shard *store_shard_of(const struct store *store, struct table_key key)
{
    uint32_t index = table_shard_of(key, store->shard_bits);
    return (struct store_shard *)&store->shards[index];
}

#endif
