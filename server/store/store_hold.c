#include "store/store_hold.h"

void store_hold_begin(struct store_hold *hold, struct store *store)
{
    hold->store = store;
    hold->count = 0;
    hold->wish_bytes = 0;
    hold->impossible = false;
    hold->run = NULL;
}

void store_hold_add(struct store_hold *hold, uint32_t shard)
{
    uint32_t place = hold->count;
    while (place > 0 && hold->shards[place - 1] > shard) {
        place--;
    }
    if (place > 0 && hold->shards[place - 1] == shard) {
        return;
    }
    memmove(&hold->shards[place + 1], &hold->shards[place],
            (hold->count - place) * sizeof(hold->shards[0]));
    hold->shards[place] = shard;
    hold->count++;
}

void store_hold_take(struct store_hold *hold)
{
    for (uint32_t i = 0; i < hold->count; i++) {
        store_lock_take(&hold->store->shards[hold->shards[i]].lock);
    }
    if (hold->run != NULL) {
        struct pages *pages = &hold->store->shards[hold->wish_shard].shard.memory.pages;
        pages->given = hold->run;
        pages->given_bytes = hold->wish_bytes;
    }
}

void store_hold_note(struct store_hold *hold, struct shard *shard)
{
    struct pages *pages = &shard->memory.pages;
    /* A wish while the last one's run lies unused: things have changed, so that one goes back. */
    if (hold->run != NULL) {
        struct pages *before = &hold->store->shards[hold->wish_shard].shard.memory.pages;
        if (before->given != NULL) {
            pages_drop(before, before->given, before->given_bytes);
            before->given = NULL;
        }
        hold->run = NULL;
    }
    hold->wish_shard = shard->index;
    hold->wish_bytes = pages->wish_bytes;
    hold->wish_align = pages->wish_align;
    hold->impossible = pages->impossible;
    pages->wish_bytes = 0;
    pages->impossible = false;
}

/* What left a bounded store's sum behind: counters that were erased. */
static void settle_sum(struct store *store, struct shard *shard)
{
    if (store->config.max_counters == 0) {
        return;
    }
    if (shard->told > shard->table.count) {
        store_sum_less(&store->counters, shard->told - shard->table.count);
        shard->told = shard->table.count;
    }
}

static struct pages_run *joined(struct pages_run *list, struct pages_run *more)
{
    while (more != NULL) {
        struct pages_run *next = more->next;
        more->next = list;
        list = more;
        more = next;
    }
    return list;
}

void store_hold_drop(struct store_hold *hold)
{
    struct pages_run *dropped = NULL;
    struct store *store = hold->store;
    if (hold->run != NULL) {
        struct pages *pages = &store->shards[hold->wish_shard].shard.memory.pages;
        hold->run = pages->given;
        pages->given = NULL;
    }
    for (uint32_t i = hold->count; i-- > 0;) {
        struct store_shard *shard = &store->shards[hold->shards[i]];
        struct pages *pages = &shard->shard.memory.pages;
        settle_sum(store, &shard->shard);
        dropped = joined(dropped, pages->dropped);
        pages->dropped = NULL;
        store_lock_drop(&shard->lock);
    }
    store_hold_unmap(store, dropped);
}

void store_hold_unmap(struct store *store, struct pages_run *dropped)
{
    while (dropped != NULL) {
        struct pages_run *next = dropped->next;
        size_t bytes = dropped->bytes;
        pages_unmap(&store->source, dropped, bytes);
        store_sum_less(&store->memory_bytes, bytes);
        dropped = next;
    }
}

enum status store_hold_supply(struct store_hold *hold, bool bounded)
{
    struct store *store = hold->store;
    size_t bytes = hold->wish_bytes;
    if (hold->impossible || bytes == 0) {
        return STATUS_NO_MEMORY;
    }
    uint64_t bound = bounded ? store->config.max_memory_bytes : 0;
    if (store_sum_more(&store->memory_bytes, bytes, bound, true) == 0) {
        return STATUS_FULL;
    }
    hold->run = pages_map(&store->source, bytes, hold->wish_align);
    if (hold->run == NULL) {
        store_sum_less(&store->memory_bytes, bytes);
        return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

void store_hold_end(struct store_hold *hold)
{
    if (hold->run != NULL) {
        pages_unmap(&hold->store->source, hold->run, hold->wish_bytes);
        store_sum_less(&hold->store->memory_bytes, hold->wish_bytes);
        hold->run = NULL;
    }
}
