#include "store/door_out.h"

#include "store/store_hold.h"

#define PIECE_SLOTS 256u
#define ENTRIES_A_SLOT 16u /* that take as long to copy as a slot to look at */

/* One hold of a shard's lock. */
struct leaving {
    struct shard *shard;
    struct door_out_cursor *cursor;
    enum door_what what;
    struct door_batch *batch;
    uint32_t looked;
};

/* How a hold ended. */
enum hold_end { HOLD_GO_ON, HOLD_FULL, HOLD_PIECE, HOLD_WANTS_MEMORY };

void door_out_track(struct store *store)
{
    for (uint32_t i = 0; i < store->shard_count; i++) {
        store_lock_take(&store->shards[i].lock);
        store->shards[i].shard.dirty.on = true;
        store_lock_drop(&store->shards[i].lock);
    }
}

bool door_out_forgot(struct store *store)
{
    bool forgot = false;
    for (uint32_t i = 0; i < store->shard_count; i++) {
        store_lock_take(&store->shards[i].lock);
        forgot = forgot || store->shards[i].shard.dirty.forgot;
        store->shards[i].shard.dirty.forgot = false;
        store_lock_drop(&store->shards[i].lock);
    }
    return forgot;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool is_full(const struct door_batch *batch)
{
    return batch->record_count == DOOR_BATCH_RECORDS ||
           batch->entry_count + DOOR_LOG_PIECE > DOOR_BATCH_ENTRIES;
}

static struct door_record *add_record(struct door_batch *batch, const struct table_slot *slot,
                                      enum door_kind kind)
{
    struct door_record *record = &batch->records[batch->record_count];
    *record = (struct door_record){
        .order = slot->order,
        .tag = slot->tag,
        .meta = counter_policy(slot) << DOOR_POLICY_SHIFT | (uint32_t)kind,
        .time_ns = slot->time_ns};
    batch->record_count++;
    return record;
}

static void copy_value(struct door_batch *batch, const struct table_slot *slot)
{
    struct counter_view view;
    counter_read(slot, &view);
    bool upper = view.state.hi != 0;
    add_record(batch, slot, upper ? DOOR_UPPER : DOOR_VALUE)->value = view.state.lo;
    if (upper) {
        batch->uppers[batch->upper_count] = view.state.hi;
        batch->upper_count++;
    }
}

static void copy_log(struct door_batch *batch, const struct table_slot *slot, uint32_t kept,
                     uint32_t count)
{
    const struct slog *log = counter_log(slot);
    add_record(batch, slot, DOOR_LOG);
    batch->logs[batch->log_count] =
        (struct door_log){.base = log->base, .kept = kept, .count = count};
    batch->log_count++;
    for (uint32_t i = 0; i < count; i++) {
        batch->entries[batch->entry_count] = slog_entry(log, kept + i);
        batch->entry_count++;
    }
}

/* A counter of an image. */
static void copy_whole(struct leaving *leaving, struct table_slot *slot)
{
    if (counter_kind(slot) != COUNTER_LOG) {
        copy_value(leaving->batch, slot);
        return;
    }
    uint32_t count = counter_log(slot)->count;
    if (count <= DOOR_LOG_PIECE) {
        copy_log(leaving->batch, slot, 0, count);
        return;
    }
    counter_set_unwritten(slot, count);
    slot->meta |= COUNTER_CHANGED;
    dirty_mark(&leaving->shard->dirty, table_rest(&leaving->shard->table, slot->order));
}

/* A counter that changed; false: more of it is left. */
static bool copy_changed(struct leaving *leaving, struct table_slot *slot)
{
    uint32_t left = 0;
    if (counter_kind(slot) == COUNTER_LOG) {
        uint32_t unwritten = counter_unwritten(slot);
        uint32_t count = least(unwritten, DOOR_LOG_PIECE);
        copy_log(leaving->batch, slot, counter_log(slot)->count - unwritten, count);
        left = unwritten - count;
        leaving->looked += count / ENTRIES_A_SLOT;
        counter_set_unwritten(slot, left);
    } else {
        copy_value(leaving->batch, slot);
    }
    if (left == 0) {
        slot->meta &= ~(COUNTER_CHANGED | COUNTER_PINNED);
    }
    return left == 0;
}

/* The slots of [cursor->rest, last] in one segment. */
static enum hold_end leave_segment(struct leaving *leaving, struct table_segment *segment,
                                   uint64_t last)
{
    struct table *table = &leaving->shard->table;
    struct door_out_cursor *cursor = leaving->cursor;
    struct table_slot *slot = table_slot_from(table, segment, cursor->rest);
    while (slot != NULL && table_rest(table, slot->order) <= last) {
        cursor->rest = table_rest(table, slot->order);
        if (is_full(leaving->batch)) {
            return HOLD_FULL;
        }
        if (leaving->looked++ >= PIECE_SLOTS) {
            return HOLD_PIECE;
        }
        if (!shard_is_current(leaving->shard, slot)) {
            /* May erase it: so it is looked for again. */
            struct table_key key = {.order = slot->order, .tag = slot->tag};
            if (!shard_find(leaving->shard, key, &slot)) {
                return HOLD_WANTS_MEMORY;
            }
            slot = table_slot_from(table, segment, cursor->rest);
            continue;
        }
        if (leaving->what == DOOR_ALL) {
            copy_whole(leaving, slot);
        } else if ((slot->meta & COUNTER_CHANGED) != 0 && !copy_changed(leaving, slot)) {
            continue;
        }
        slot = table_slot_after(segment, slot);
    }
    return HOLD_GO_ON;
}

/* From cursor->rest to `last`. Slots that share one place leave in one hold or may leave twice,
 * which does no harm. */
static enum hold_end leave_range(struct leaving *leaving, uint64_t last)
{
    struct door_out_cursor *cursor = leaving->cursor;
    for (;;) {
        uint64_t next;
        struct table_segment *segment =
            table_segment_at(&leaving->shard->table, cursor->rest, &next);
        enum hold_end end =
            segment == NULL ? HOLD_GO_ON : leave_segment(leaving, segment, last);
        if (end != HOLD_GO_ON) {
            return end;
        }
        if (next == 0 || next > last) {
            return HOLD_GO_ON;
        }
        cursor->rest = next;
    }
}

static void next_shard(struct door_out_cursor *cursor)
{
    *cursor = (struct door_out_cursor){.shard = cursor->shard + 1};
}

/* A stretch left half-way is the cursor's: its mark stays free to say what changes meanwhile. */
static enum hold_end leave_changed(struct leaving *leaving)
{
    struct door_out_cursor *cursor = leaving->cursor;
    while (cursor->inside || dirty_take(&leaving->shard->dirty, &cursor->stretch)) {
        if (!cursor->inside) {
            cursor->rest = dirty_start(cursor->stretch);
            cursor->inside = true;
        }
        uint64_t last = dirty_start(cursor->stretch) | (UINT64_MAX >> DIRTY_BITS);
        enum hold_end end = leave_range(leaving, last);
        if (end != HOLD_GO_ON) {
            return end;
        }
        cursor->inside = false;
        cursor->stretch++;
    }
    next_shard(cursor);
    return HOLD_GO_ON;
}

static enum hold_end leave_all(struct leaving *leaving)
{
    enum hold_end end = leave_range(leaving, UINT64_MAX);
    if (end == HOLD_GO_ON) {
        next_shard(leaving->cursor);
    }
    return end;
}

/* One hold. False: policies were swapped since the batch was begun; it must leave first. */
static bool leave(struct store *store, struct store_hold *hold, struct leaving *leaving,
                  enum hold_end *end)
{
    struct door_batch *batch = leaving->batch;
    store_hold_begin(hold, store);
    store_hold_add(hold, leaving->cursor->shard);
    store_hold_take(hold);
    bool same = batch->record_count == 0 || batch->epoch == leaving->shard->epoch;
    if (same) {
        batch->epoch = leaving->shard->epoch;
        leaving->looked = 0;
        *end = leaving->what == DOOR_ALL ? leave_all(leaving) : leave_changed(leaving);
        if (*end == HOLD_WANTS_MEMORY) {
            store_hold_note(hold, leaving->shard);
        }
    }
    store_hold_drop(hold);
    return same;
}

void door_out_stop(struct store *store, const struct door_out_cursor *cursor)
{
    if (cursor->inside) {
        struct store_shard *shard = &store->shards[cursor->shard];
        store_lock_take(&shard->lock);
        dirty_mark(&shard->shard.dirty, dirty_start(cursor->stretch));
        store_lock_drop(&shard->lock);
    }
}

/* Memory that a conversion wants is handed to the shard in a hold of its own, which converts. */
static enum status convert_one(struct store_hold *hold, struct leaving *leaving)
{
    enum status status = store_hold_supply(hold, false);
    if (status == STATUS_OK) {
        struct table *table = &leaving->shard->table;
        uint64_t next;
        store_hold_take(hold);
        struct table_segment *segment = table_segment_at(table, leaving->cursor->rest, &next);
        struct table_slot *slot =
            segment == NULL ? NULL : table_slot_from(table, segment, leaving->cursor->rest);
        if (slot != NULL) {
            struct table_key key = {.order = slot->order, .tag = slot->tag};
            (void)shard_find(leaving->shard, key, &slot);
        }
        store_hold_drop(hold);
    }
    store_hold_end(hold);
    return status;
}

bool door_out_next(struct store *store, struct door_out_cursor *cursor, enum door_what what,
                   struct door_batch *batch, enum status *status)
{
    enum hold_end end = HOLD_GO_ON;
    struct store_hold hold;
    *status = STATUS_OK;
    door_batch_clear(batch);
    while (cursor->shard < store->shard_count && end != HOLD_FULL) {
        struct leaving leaving = {.shard = &store->shards[cursor->shard].shard,
                                  .cursor = cursor,
                                  .what = what,
                                  .batch = batch};
        if (!leave(store, &hold, &leaving, &end)) {
            return true;
        }
        if (end == HOLD_WANTS_MEMORY) {
            *status = convert_one(&hold, &leaving);
            if (*status != STATUS_OK) {
                return false;
            }
        }
    }
    return cursor->shard < store->shard_count;
}
