#include "store/store.h"

#include "store/decide.h"
#include "store/store_hold.h"
#include "store/store_room.h"

#include <stdlib.h>

#define SHARDS_DEFAULT 64u

/* ---- beginning and end ---- */

struct store *store_create_from(const struct store_config *config,
                                const struct pages_source *source)
{
    uint32_t count = config->shards == 0 ? SHARDS_DEFAULT : config->shards;
    size_t bytes = sizeof(struct store) + count * sizeof(struct store_shard);
    bytes = (bytes + STORE_LINE_BYTES - 1) / STORE_LINE_BYTES * STORE_LINE_BYTES;
    struct store *store = aligned_alloc(STORE_LINE_BYTES, bytes);
    if (store == NULL) {
        return NULL;
    }
    memset(store, 0, bytes);
    store->config = *config;
    store->source = *source;
    store->shard_count = count;
    store->shard_bits = (uint32_t)__builtin_ctz(count);
    store_sum_init(&store->counters);
    store_sum_init(&store->memory_bytes);
    (void)store_sum_more(&store->memory_bytes, bytes, 0, true);
    store_lock_init(&store->sweep_lock);
    for (uint32_t i = 0; i < count; i++) {
        store_lock_init(&store->shards[i].lock);
        shard_init(&store->shards[i].shard, i, store->shard_bits);
        store->shards[i].shard.bounded = config->max_counters > 0;
    }
    return store;
}

struct store *store_create(const struct store_config *config)
{
    struct pages_source source = pages_system();
    return store_create_from(config, &source);
}

void store_destroy(struct store **store)
{
    if (*store == NULL) {
        return;
    }
    for (uint32_t i = 0; i < (*store)->shard_count; i++) {
        struct shard *shard = &(*store)->shards[i].shard;
        shard_clear(shard);
        store_hold_unmap(*store, shard->memory.pages.dropped);
    }
    free(*store);
    *store = NULL;
}

const struct hash_key *store_hash_key(const struct store *store)
{
    return &store->config.key;
}

/* ---- policies ---- */

void store_install(struct store *store, const struct store_policies *policies)
{
    assert(policies->count <= 1u << COUNTER_POLICY_BITS);
    for (uint32_t i = 0; i < store->shard_count; i++) {
        store->shards[i].shard.policies = policies;
    }
}

static void take_all(struct store *store)
{
    for (uint32_t i = 0; i < store->shard_count; i++) {
        store_lock_take(&store->shards[i].lock);
    }
}

static void drop_all(struct store *store)
{
    for (uint32_t i = store->shard_count; i-- > 0;) {
        store_lock_drop(&store->shards[i].lock);
    }
}

enum status store_swap(struct store *store, const struct store_change *change)
{
    assert(change->next->count <= 1u << COUNTER_POLICY_BITS);
    uint64_t unconverted = 0;
    take_all(store);
    for (uint32_t i = 0; i < store->shard_count; i++) {
        unconverted += store->shards[i].shard.unconverted;
    }
    for (uint32_t i = 0; unconverted == 0 && i < store->shard_count; i++) {
        shard_swap(&store->shards[i].shard, change);
    }
    drop_all(store);
    return unconverted == 0 ? STATUS_OK : STATUS_UNAVAILABLE;
}

bool store_is_converted(const struct store *store)
{
    struct store *whole = (struct store *)store; /* the locks are not part of what is asked */
    uint64_t unconverted = 0;
    for (uint32_t i = 0; i < store->shard_count; i++) {
        store_lock_take(&whole->shards[i].lock);
        unconverted += whole->shards[i].shard.unconverted;
        store_lock_drop(&whole->shards[i].lock);
    }
    return unconverted == 0;
}

void store_stats(const struct store *store, struct store_stats *out)
{
    struct store *whole = (struct store *)store;
    *out = (struct store_stats){.memory_bytes = store_sum_get(&store->memory_bytes)};
    for (uint32_t i = 0; i < store->shard_count; i++) {
        const struct shard *shard = &whole->shards[i].shard;
        store_lock_take(&whole->shards[i].lock);
        out->counters += shard->table.count;
        out->swept += shard->swept;
        out->evicted += shard->evicted;
        store_lock_drop(&whole->shards[i].lock);
    }
    /* The shards are not looked at in one instant, so one counter's place may have been seen in
     * two of them; the sum that guards the bound is never beyond it. */
    if (store->config.max_counters > 0) {
        out->counters = store_sum_get(&store->counters);
    }
}

/* ---- requests ---- */

void store_prefetch(const struct store *store, struct fingerprint id)
{
    struct table_key key = table_key_of(id);
    const struct store_shard *shard = store_shard_of(store, key);
    const uint8_t *home = (const uint8_t *)table_home(&shard->shard.table, key);
    if (home != NULL) {
        __builtin_prefetch(home, 1);
        __builtin_prefetch(home + STORE_LINE_BYTES / 2, 1);
    }
}

static void begin(struct decide *decide, struct store_hold *hold, struct store *store,
                  struct store_item *items, uint32_t count, int64_t now_ns)
{
    assert(count <= LIMITS_ROUTE_LIMITS_MAX);
    store_hold_begin(hold, store);
    decide->items = items;
    decide->count = count;
    decide->now_ns = now_ns;
    decide->allowed = true;
    for (uint32_t i = 0; i < count; i++) {
        struct table_key key = table_key_of(items[i].id);
        struct store_shard *shard = store_shard_of(store, key);
        decide->work[i].key = key;
        decide->work[i].shard = &shard->shard;
        decide->work[i].no_memory = false;
        items[i].evicted = STORE_GONE;
        store_hold_add(hold, shard->shard.index);
    }
}

static bool is_stale(const struct decide *decide, const struct store_policies *policies)
{
    return decide->count > 0 && decide->work[0].shard->policies != policies;
}

enum attempt { DONE, STALE, WANTS_COUNTERS, WANTS_MEMORY_TO_CONVERT, WANTS_MEMORY };

static enum attempt attempt(struct store_room *room, const struct store_policies *policies)
{
    struct decide *decide = room->decide;
    uint64_t bound = room->store->config.max_counters;
    if (is_stale(decide, policies)) {
        return STALE;
    }
    if (!decide_look(decide)) {
        return WANTS_MEMORY_TO_CONVERT;
    }
    if (bound > 0 && decide->creates > room->promised) {
        room->promised += (uint32_t)store_sum_more(
            &room->store->counters, decide->creates - room->promised, bound, false);
        if (decide->creates > room->promised && !room->no_counters) {
            return WANTS_COUNTERS;
        }
    }
    decide_settle(decide, bound > 0 ? room->promised : UINT32_MAX);
    if (decide->allowed && !decide_reserve(decide)) {
        return WANTS_MEMORY;
    }
    uint32_t made = decide_finish(decide);
    room->promised -= bound > 0 ? made : 0;
    return DONE;
}

static enum status help(struct store_room *room, struct store_hold *hold, enum attempt wanted)
{
    if (wanted == WANTS_COUNTERS) {
        store_room_for_counters(room);
        return STATUS_OK;
    }
    enum status status = store_hold_supply(hold, wanted == WANTS_MEMORY);
    if (status == STATUS_FULL) {
        store_room_for_memory(room);
        return STATUS_OK;
    }
    return status;
}

static __attribute__((noinline)) enum status
decide_together(struct store *store, const struct store_policies *policies,
                struct store_item *items,
                uint32_t count, int64_t now_ns, bool *allowed)
{
    struct decide decide;
    struct store_hold hold;
    enum status status = STATUS_OK;
    enum attempt result;
    begin(&decide, &hold, store, items, count, now_ns);
    struct store_room room;
    store_room_begin(&room, store, &decide);
    do {
        store_hold_take(&hold);
        result = attempt(&room, policies);
        if (result == WANTS_MEMORY || result == WANTS_MEMORY_TO_CONVERT) {
            store_hold_note(&hold, decide.wanting);
        }
        store_hold_drop(&hold);
        if (result == STALE) {
            status = STATUS_STALE;
        } else if (result != DONE) {
            status = help(&room, &hold, result);
        }
    } while (result != DONE && status == STATUS_OK);
    store_hold_end(&hold);
    store_room_end(&room);
    *allowed = decide.allowed;
    return status;
}

enum status store_decide(struct store *store, const struct store_policies *policies,
                         struct store_item *items, uint32_t count, int64_t now_ns,
                         bool *allowed)
{
    if (count == 1) {
        struct table_key key = table_key_of(items[0].id);
        struct store_shard *shard = store_shard_of(store, key);
        store_lock_take(&shard->lock);
        enum decide_result result = decide_one(&shard->shard, policies, items, key, now_ns);
        struct pages_run *dropped = shard->shard.memory.pages.dropped;
        if (dropped != NULL) {
            shard->shard.memory.pages.dropped = NULL;
        }
        store_lock_drop(&shard->lock);
        if (dropped != NULL) {
            store_hold_unmap(store, dropped);
        }
        if (result == DECIDE_STALE) {
            return STATUS_STALE;
        }
        if (result == DECIDE_DONE) {
            *allowed = items[0].verdict == STORE_ADMITTED || items[0].shadow;
            return STATUS_OK;
        }
    }
    return decide_together(store, policies, items, count, now_ns, allowed);
}

/* Refund and reset differ only in the step they take; `forgotten` NULL: a refund. */
static enum status give_back(struct store *store, const struct store_policies *policies,
                             struct store_item *items, uint32_t count, int64_t now_ns,
                             uint32_t *forgotten)
{
    struct decide decide;
    struct store_hold hold;
    enum status status = STATUS_OK;
    bool done = false;
    begin(&decide, &hold, store, items, count, now_ns);
    while (!done && status == STATUS_OK) {
        store_hold_take(&hold);
        if (is_stale(&decide, policies)) {
            status = STATUS_STALE;
        } else {
            done = forgotten == NULL ? decide_refund(&decide) : decide_reset(&decide, forgotten);
            if (!done) {
                store_hold_note(&hold, decide.wanting);
            }
        }
        store_hold_drop(&hold);
        if (!done && status == STATUS_OK) {
            status = store_hold_supply(&hold, false);
        }
    }
    store_hold_end(&hold);
    return status;
}

enum status store_refund(struct store *store, const struct store_policies *policies,
                         struct store_item *items, uint32_t count, int64_t now_ns)
{
    return give_back(store, policies, items, count, now_ns, NULL);
}

enum status store_reset(struct store *store, const struct store_policies *policies,
                        struct store_item *items, uint32_t count, int64_t now_ns,
                        uint32_t *forgotten)
{
    *forgotten = 0;
    return give_back(store, policies, items, count, now_ns, forgotten);
}
