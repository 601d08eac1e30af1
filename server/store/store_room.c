#include "store/store_room.h"

#include "store/store_hold.h"

#define PIECE_SLOTS 512u     /* looked at in one hold of a lock */
#define SAMPLE_COUNTERS 16u  /* not exhausted ones to choose a victim from */
#define SAMPLE_SLOTS 2048u   /* looked at to find them; all exhausted: so are the others */
#define VICTIM_TRIES 8u      /* a victim may be used up or gone before it is taken */

void store_room_begin(struct store_room *room, struct store *store, struct decide *decide)
{
    room->store = store;
    room->decide = decide;
    room->promised = 0;
    room->no_counters = false;
    room->memory_freed = false;
    room->evictions = 0;
    room->victims = 0;
}

static void hold_one(struct store_hold *hold, struct store *store, uint32_t shard)
{
    store_hold_begin(hold, store);
    store_hold_add(hold, shard);
    store_hold_take(hold);
}

/* Once round the shard (the cursor may stand anywhere, so up to its end twice). */
static bool free_idle_in(struct store *store, uint32_t index, int64_t now_ns)
{
    struct shard *shard = &store->shards[index].shard;
    struct shard_visit visit = {.now_ns = now_ns};
    struct store_hold hold;
    uint32_t ends = 0;
    do {
        hold_one(&hold, store, index);
        bool due = shard->due_ns <= now_ns;
        if (due) {
            visit.budget = visit.looked + PIECE_SLOTS;
            shard_visit(shard, &visit);
        }
        store_hold_drop(&hold);
        if (!due || visit.wants) {
            break;
        }
        ends += visit.wrapped;
    } while (visit.freed == 0 && ends < 2);
    return visit.freed > 0;
}

/* From the shard where the counter is wanted on, so that threads do not all search one place. */
static bool free_idle(struct store_room *room)
{
    struct store *store = room->store;
    uint32_t first = room->decide->work[0].shard->index;
    for (uint32_t i = 0; i < store->shard_count; i++) {
        uint32_t index = (first + i) & (store->shard_count - 1);
        if (free_idle_in(store, index, room->decide->now_ns)) {
            return true;
        }
    }
    return false;
}

static uint32_t request_keys(const struct decide *decide, struct table_key *keys)
{
    for (uint32_t i = 0; i < decide->count; i++) {
        keys[i] = decide->work[i].key;
    }
    return decide->count;
}

static void sample_shard(struct store *store, uint32_t index, struct shard_sample *sample)
{
    struct store_hold hold;
    bool more = true;
    while (more && sample->candidates < SAMPLE_COUNTERS && sample->looked < SAMPLE_SLOTS) {
        hold_one(&hold, store, index);
        more = shard_sample(&store->shards[index].shard, sample, PIECE_SLOTS);
        store_hold_drop(&hold);
    }
}

/* Takes the victim out; its place in the store's sum stays taken where `keep_place`. */
static bool take_victim(struct store *store, const struct shard_sample *sample, bool keep_place)
{
    struct store_hold hold;
    struct shard *shard = &store->shards[sample->shard].shard;
    hold_one(&hold, store, sample->shard);
    bool taken = shard_evict(shard, sample->key, sample->now_ns);
    if (taken && keep_place) {
        shard->told--;
    }
    store_hold_drop(&hold);
    return taken;
}

/* A sample from the whole store, beginning beside the item that wants the room. */
static bool evict_anywhere(struct store_room *room, uint32_t *policy)
{
    struct store *store = room->store;
    struct table_key keys[LIMITS_ROUTE_LIMITS_MAX];
    const struct decide_work *work = &room->decide->work[0];
    for (uint32_t tries = 0; tries < VICTIM_TRIES; tries++) {
        struct shard_sample sample = {
            .except = keys, .now_ns = room->decide->now_ns, .wanted = SAMPLE_COUNTERS};
        sample.except_count = request_keys(room->decide, keys);
        sample.rest = table_rest(&work->shard->table, work->key.order);
        /* One more than there are shards: the first is looked at from the middle, then whole. */
        for (uint32_t i = 0; i <= store->shard_count; i++) {
            uint32_t index = (work->shard->index + i) & (store->shard_count - 1);
            sample_shard(store, index, &sample);
            sample.rest = 0;
        }
        if (!sample.found) {
            return false;
        }
        if (take_victim(store, &sample, true)) {
            *policy = sample.policy;
            return true;
        }
    }
    return false;
}

void store_room_for_counters(struct store_room *room)
{
    uint32_t policy;
    if (free_idle(room)) {
        return;
    }
    if (room->store->config.when_full == STORE_EVICT && decide_passes(room->decide) &&
        room->victims < LIMITS_ROUTE_LIMITS_MAX && evict_anywhere(room, &policy)) {
        room->victim[room->victims] = policy;
        room->victims++;
        room->promised++;
        return;
    }
    room->no_counters = true;
}

static uint64_t segment_start(struct store *store, const struct decide_work *work)
{
    struct store_hold hold;
    const struct table *table = &work->shard->table;
    hold_one(&hold, store, work->shard->index);
    uint64_t start = table_segment_start(table, table_rest(table, work->key.order));
    store_hold_drop(&hold);
    return start;
}

/* For memory only a place in the very segment helps: then it need not grow. */
static bool evict_beside(struct store_room *room, const struct decide_work *work)
{
    struct table_key keys[LIMITS_ROUTE_LIMITS_MAX];
    struct shard_sample sample = {.except = keys,
                                  .now_ns = room->decide->now_ns,
                                  .wanted = SAMPLE_COUNTERS,
                                  .one_segment = true};
    sample.except_count = request_keys(room->decide, keys);
    sample.rest = table_rest(&work->shard->table, work->key.order);
    sample_shard(room->store, work->shard->index, &sample);
    /* Close to the segment's end there may be too few behind the key. */
    sample.rest = segment_start(room->store, work);
    sample_shard(room->store, work->shard->index, &sample);
    if (!sample.found || !take_victim(room->store, &sample, false)) {
        return false;
    }
    if (room->victims < LIMITS_ROUTE_LIMITS_MAX) {
        room->victim[room->victims] = sample.policy;
        room->victims++;
    }
    return true;
}

void store_room_for_memory(struct store_room *room)
{
    struct decide_work *work = &room->decide->work[room->decide->wanting_item];
    if (!room->memory_freed) {
        room->memory_freed = true;
        while (free_idle(room)) {
        }
        return;
    }
    if (room->store->config.when_full == STORE_EVICT && work->creates &&
        room->evictions < 2 * LIMITS_ROUTE_LIMITS_MAX && evict_beside(room, work)) {
        room->evictions++;
        return;
    }
    work->no_memory = true;
}

void store_room_end(struct store_room *room)
{
    if (room->promised > 0) {
        store_sum_less(&room->store->counters, room->promised);
    }
    uint32_t named = 0;
    for (uint32_t i = 0; i < room->decide->count && named < room->victims; i++) {
        if (room->decide->work[i].creates) {
            room->decide->items[i].evicted = room->victim[named];
            named++;
        }
    }
}
