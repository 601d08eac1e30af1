#include "store/door_in.h"

#include "store/store_hold.h"

#define SAMPLE_SLOTS 256u
#define SAMPLE_COUNTERS 16u

/* A batch on its way in. */
struct entering {
    const struct door_batch *batch;
    const struct door_ways *ways;
    bool old;
    uint32_t record; /* the next of each */
    uint32_t upper;
    uint32_t log;
    uint32_t entry;
    uint32_t appended; /* entries of the log at hand that are in */
    bool begun;        /* the log at hand lost what it had to lose */
};

/* ---- room ---- */

enum status door_in_expect(struct store *store, uint64_t counters)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < store->shard_count && status == STATUS_OK; i++) {
        struct shard *shard = &store->shards[i].shard;
        struct store_hold hold;
        bool done = false;
        store_hold_begin(&hold, store);
        store_hold_add(&hold, i);
        while (!done && status == STATUS_OK) {
            store_hold_take(&hold);
            done = table_expect(&shard->table, &shard->memory.pages,
                                counters / store->shard_count);
            if (!done) {
                store_hold_note(&hold, shard);
            }
            store_hold_drop(&hold);
            if (!done) {
                status = store_hold_supply(&hold, false);
            }
        }
        store_hold_end(&hold);
    }
    return status;
}

/* ---- putting in ---- */

enum put { PUT_DONE, PUT_WANTS_MEMORY, PUT_INVALID };

static void set_meta(struct shard *shard, struct table_slot *slot, uint32_t id)
{
    slot->meta = id << COUNTER_POLICY_SHIFT | (slot->meta & COUNTER_KIND_MASK) | shard->generation;
}

/* The slot of the record at hand, of the right sort; NULL: wants memory. */
static struct table_slot *slot_for(struct shard *shard, struct table_key key, bool is_log,
                                   const struct limiter_step *step)
{
    struct table_slot *slot = table_find(&shard->table, key);
    if (slot != NULL && (counter_kind(slot) == COUNTER_LOG) != is_log) {
        shard_erase(shard, slot);
        slot = NULL;
    }
    if (slot == NULL) {
        if (!table_reserve(&shard->table, &shard->memory.pages, key, 1) ||
            !counter_reserve(&shard->memory, NULL, is_log, step, 1)) {
            return NULL;
        }
        return table_insert(&shard->table, key);
    }
    return is_log || counter_reserve(&shard->memory, slot, false, step, 1) ? slot : NULL;
}

static enum put put_value(struct entering *in, struct shard *shard,
                          const struct door_record *record)
{
    struct table_key key = {.order = record->order, .tag = record->tag};
    bool upper = (record->meta & DOOR_KIND_MASK) == DOOR_UPPER;
    struct limiter_step step = {.next = {.time_ns = record->time_ns,
                                         .lo = record->value,
                                         .hi = upper ? in->batch->uppers[in->upper] : 0}};
    struct table_slot *slot = slot_for(shard, key, false, &step);
    if (slot == NULL) {
        return PUT_WANTS_MEMORY;
    }
    counter_apply(&shard->memory, slot, false, &step, 0, shard->generation);
    set_meta(shard, slot, record->meta >> DOOR_POLICY_SHIFT);
    in->upper += upper;
    return PUT_DONE;
}

/* How many of the log's entries lie at or before the total `base`. */
static uint32_t entries_before(const struct slog *log, uint32_t base)
{
    uint32_t behind = base - log->base;
    uint32_t low = 0;
    uint32_t high = log->count;
    if (behind > UINT32_MAX / 2) {
        return 0;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (slog_entry(log, middle).total - log->base <= behind) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Takes off what left and what was taken back. False: the record does not follow from this log. */
static bool begin_log(struct slog *log, const struct door_log *change)
{
    uint32_t drop = entries_before(log, change->base);
    bool follows = drop <= log->count && log->count - drop >= change->kept;
    bool reaches = drop == 0 ? log->base == change->base
                             : slog_entry(log, drop - 1).total == change->base;
    if (change->kept > 0 && (!follows || !reaches)) {
        return false;
    }
    if (change->kept == 0) {
        slog_drop(log, log->count);
        log->base = change->base;
        return true;
    }
    slog_drop(log, drop);
    uint32_t newest = slog_entry(log, log->count - 1).total;
    slog_pop(log, newest - slog_entry(log, change->kept - 1).total);
    return true;
}

static enum put append_entries(struct entering *in, struct shard *shard, struct slog *log,
                               const struct door_log *change)
{
    struct counter_memory *memory = &shard->memory;
    uint32_t before = log->count == 0 ? log->base : slog_entry(log, log->count - 1).total;
    for (; in->appended < change->count; in->appended++) {
        struct limiter_log_entry entry = in->batch->entries[in->entry + in->appended];
        uint32_t units = entry.total - before;
        if (units == 0 || units > LIMITS_LOG_QUOTA_MAX) {
            return PUT_INVALID;
        }
        if (!slog_reserve(&memory->logs, &memory->pages, log, 1)) {
            return PUT_WANTS_MEMORY;
        }
        slog_append(log, entry.at_ns, units);
        before = entry.total;
    }
    slog_trim(&memory->logs, &memory->pages, log);
    return PUT_DONE;
}

static enum put put_log(struct entering *in, struct shard *shard, const struct door_record *record)
{
    static const struct limiter_step nothing = {.next = {.time_ns = 0}};
    const struct door_log *change = &in->batch->logs[in->log];
    struct table_key key = {.order = record->order, .tag = record->tag};
    struct table_slot *slot = slot_for(shard, key, true, &nothing);
    bool follows = true;
    if (slot == NULL) {
        return PUT_WANTS_MEMORY;
    }
    if (slot->meta == 0) {
        counter_apply(&shard->memory, slot, true, &nothing, 0, shard->generation);
        set_meta(shard, slot, record->meta >> DOOR_POLICY_SHIFT);
    }
    if (!in->begun) {
        follows = begin_log(counter_log(slot), change);
        in->begun = follows;
    }
    if (!follows && !in->old) {
        return PUT_INVALID;
    }
    if (follows) {
        enum put put = append_entries(in, shard, counter_log(slot), change);
        if (put != PUT_DONE) {
            return put;
        }
        slot->time_ns = record->time_ns;
        set_meta(shard, slot, record->meta >> DOOR_POLICY_SHIFT);
        counter_set_unwritten(slot, 0);
    }
    in->entry += change->count;
    in->log++;
    in->appended = 0;
    in->begun = false;
    return PUT_DONE;
}

static enum put put_record(struct entering *in, struct shard *shard)
{
    const struct door_record *record = &in->batch->records[in->record];
    uint32_t id = record->meta >> DOOR_POLICY_SHIFT;
    if (id >= in->ways->count) {
        return PUT_INVALID;
    }
    bool is_log = (record->meta & DOOR_KIND_MASK) == DOOR_LOG;
    if (is_log != (in->ways->ways[id].written->algorithm == LIMITER_SLIDING_LOG)) {
        return PUT_INVALID;
    }
    return is_log ? put_log(in, shard, record) : put_value(in, shard, record);
}

/* The records from the one at hand on that belong to one shard. */
static enum put put_run(struct entering *in, struct store *store, struct store_shard *shard)
{
    enum put put = PUT_DONE;
    while (put == PUT_DONE && in->record < in->batch->record_count) {
        const struct door_record *record = &in->batch->records[in->record];
        struct table_key key = {.order = record->order, .tag = record->tag};
        if (store_shard_of(store, key) != shard) {
            return PUT_DONE;
        }
        put = put_record(in, &shard->shard);
        in->record += put == PUT_DONE;
    }
    return put;
}

enum status door_in_put(struct store *store, const struct door_batch *batch,
                        const struct door_ways *ways, bool old)
{
    struct entering in = {.batch = batch, .ways = ways, .old = old};
    enum status status = STATUS_OK;
    struct store_hold hold;
    while (in.record < batch->record_count && status == STATUS_OK) {
        const struct door_record *record = &batch->records[in.record];
        struct table_key key = {.order = record->order, .tag = record->tag};
        struct store_shard *shard = store_shard_of(store, key);
        enum put put = PUT_WANTS_MEMORY;
        store_hold_begin(&hold, store);
        store_hold_add(&hold, shard->shard.index);
        while (put == PUT_WANTS_MEMORY && status == STATUS_OK) {
            store_hold_take(&hold);
            put = put_run(&in, store, shard);
            if (put == PUT_WANTS_MEMORY) {
                store_hold_note(&hold, &shard->shard);
            }
            store_hold_drop(&hold);
            if (put == PUT_WANTS_MEMORY) {
                status = store_hold_supply(&hold, false);
            }
        }
        store_hold_end(&hold);
        if (put == PUT_INVALID) {
            return STATUS_INVALID;
        }
    }
    return status;
}

/* ---- settling ---- */

struct settling {
    struct shard *shard;
    const struct door_ways *ways;
    int64_t now_ns;
    bool drop_idle; /* places are bounded */
    struct door_in_result *result;
};

/* What lies ahead of now becomes now. True: something did. */
static bool clamp(struct settling *settling, struct table_slot *slot)
{
    int64_t now_ns = settling->now_ns;
    struct slog *log = counter_kind(slot) == COUNTER_LOG ? counter_log(slot) : NULL;
    uint32_t newest = log == NULL || log->count == 0 ? 0 : slog_entry(log, log->count - 1).total;
    bool ahead = slot->time_ns > now_ns;
    if (ahead) {
        slot->time_ns = now_ns;
    }
    if (log == NULL || log->count == 0 || slog_entry(log, log->count - 1).at_ns <= now_ns) {
        return ahead;
    }
    uint32_t first = log->count;
    while (first > 0 && slog_entry(log, first - 1).at_ns > now_ns) {
        first--;
    }
    uint32_t units = newest - (first == 0 ? log->base : slog_entry(log, first - 1).total);
    slog_pop(log, units);
    slog_append(log, now_ns, units);
    counter_set_unwritten(slot, log->count);
    return true;
}

/* Takes a counter through its steps. False: nothing is left of it. *wants: wants memory. */
static bool walk(struct settling *settling, struct table_slot *slot, const struct door_way *way,
                 bool *wants)
{
    struct shard *shard = settling->shard;
    /* First, so that no step is taken twice. */
    if (way->steps > 0 && !pool_reserve(&shard->memory.wide, &shard->memory.pages, 1)) {
        *wants = true;
        return true;
    }
    for (uint32_t i = 0; i < way->steps; i++) {
        const struct door_step *by = &settling->ways->steps[way->first_step + i];
        bool is_log = by->to->algorithm == LIMITER_SLIDING_LOG;
        struct counter_view view;
        struct limiter_step step;
        counter_read(slot, &view);
        if (!limiter_convert(by->from, by->to, &view.state, by->at_ns, &step)) {
            return false;
        }
        counter_apply(&shard->memory, slot, is_log, &step, counter_policy(slot),
                      shard->generation);
    }
    return true;
}

/* One slot. False: it was erased, and another may stand in its place. */
static bool settle_slot(struct settling *settling, struct table_slot *slot, bool *wants)
{
    struct shard *shard = settling->shard;
    const struct door_way *way = &settling->ways->ways[counter_policy(slot)];
    bool stays = way->policy != STORE_GONE && walk(settling, slot, way, wants);
    if (*wants) {
        return true;
    }
    if (stays) {
        bool changed = clamp(settling, slot);
        set_meta(shard, slot, way->policy);
        if (settling->drop_idle) {
            struct counter_view view;
            counter_read(slot, &view);
            stays = limiter_idle_at_ns(shard_held(shard, slot), &view.state) > settling->now_ns;
        }
        if (stays && changed) {
            slot->meta |= COUNTER_CHANGED;
            dirty_mark(&shard->dirty, table_rest(&shard->table, slot->order));
        }
    }
    if (!stays) {
        shard_erase(shard, slot);
        settling->result->forgotten++;
        return false;
    }
    settling->result->counters++;
    return true;
}

/* From *rest on; false: wants memory. House-keeping is told to look at everything once. */
static bool settle_shard(struct settling *settling, uint64_t *rest)
{
    struct table *table = &settling->shard->table;
    do {
        uint64_t next;
        struct table_segment *segment = table_segment_at(table, *rest, &next);
        struct table_slot *slot = segment == NULL ? NULL : table_slot_from(table, segment, *rest);
        while (slot != NULL) {
            bool wants = false;
            bool stays = settle_slot(settling, slot, &wants);
            if (wants) {
                *rest = table_rest(table, slot->order);
                return false;
            }
            slot = stays || slot->meta == 0 ? table_slot_after(segment, slot) : slot;
        }
        if (segment != NULL) {
            segment->due_ns = INT64_MIN;
            settling->shard->due_ns = INT64_MIN;
        }
        *rest = next;
    } while (*rest != 0);
    table_expect_no_more(table);
    return true;
}

static enum status settle_one(struct store *store, struct settling *settling)
{
    struct store_hold hold;
    enum status status = STATUS_OK;
    uint64_t rest = 0;
    bool done = false;
    store_hold_begin(&hold, store);
    store_hold_add(&hold, settling->shard->index);
    while (!done && status == STATUS_OK) {
        store_hold_take(&hold);
        done = settle_shard(settling, &rest);
        if (!done) {
            store_hold_note(&hold, settling->shard);
        } else if (store->config.max_counters > 0) {
            settling->shard->told = settling->shard->table.count;
            (void)store_sum_more(&store->counters, settling->shard->told, 0, true);
        }
        store_hold_drop(&hold);
        if (!done) {
            status = store_hold_supply(&hold, false);
        }
    }
    store_hold_end(&hold);
    return status;
}

/* One counter of this shard goes: the nearest to its reset of a few, or, where all are exhausted,
 * the first. False: the shard is empty. */
static bool evict_one(struct store *store, uint32_t index, int64_t now_ns, uint64_t rest)
{
    struct shard *shard = &store->shards[index].shard;
    struct shard_sample sample = {.now_ns = now_ns, .wanted = SAMPLE_COUNTERS, .rest = rest};
    struct store_hold hold;
    store_hold_begin(&hold, store);
    store_hold_add(&hold, index);
    store_hold_take(&hold);
    bool some = shard->table.count > 0;
    (void)shard_sample(shard, &sample, SAMPLE_SLOTS);
    if (sample.found) {
        (void)shard_evict(shard, sample.key, now_ns);
    }
    store_hold_drop(&hold);
    return some && sample.found;
}

/* Evicted counters are still in the files: after a crash there may be more than there is room for.
 * What is exhausted stays, beyond the bound if need be. */
static uint64_t evict_excess(struct store *store, int64_t now_ns)
{
    uint64_t evicted = 0;
    uint32_t idle_rounds = 0;
    uint64_t rest = 0;
    while (idle_rounds < 2 && store_sum_get(&store->counters) > store->config.max_counters) {
        uint64_t before = evicted;
        for (uint32_t i = 0; i < store->shard_count; i++) {
            bool over = store_sum_get(&store->counters) > store->config.max_counters;
            evicted += over && evict_one(store, i, now_ns, rest);
        }
        idle_rounds = evicted == before ? idle_rounds + 1 : 0;
        rest = idle_rounds > 0 ? 0 : rest + (UINT64_MAX >> DIRTY_BITS);
    }
    return evicted;
}

uint32_t door_in_shards(const struct store *store)
{
    return store->shard_count;
}

enum status door_in_settle(struct store *store, uint32_t shard, const struct door_ways *ways,
                           int64_t now_ns, struct door_in_result *out)
{
    struct settling settling = {.shard = &store->shards[shard].shard,
                                .ways = ways,
                                .now_ns = now_ns,
                                .drop_idle = store->config.max_counters > 0,
                                .result = out};
    return settle_one(store, &settling);
}

void door_in_trim(struct store *store, int64_t now_ns, struct door_in_result *out)
{
    if (store->config.max_counters > 0) {
        out->evicted = evict_excess(store, now_ns);
        out->counters -= out->evicted;
    }
}

void door_in_clear(struct store *store)
{
    for (uint32_t i = 0; i < store->shard_count; i++) {
        struct shard *shard = &store->shards[i].shard;
        store_lock_take(&store->shards[i].lock);
        shard_clear(shard);
        struct pages_run *dropped = shard->memory.pages.dropped;
        shard->memory.pages.dropped = NULL;
        store_lock_drop(&store->shards[i].lock);
        store_hold_unmap(store, dropped);
    }
}
