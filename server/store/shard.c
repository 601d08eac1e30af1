#include "store/shard.h"

/* A segment where something is due is not visited more often than this, so that many counters
 * which end one by one do not have their segment searched for each. */
#define VISIT_PAUSE_NS INT64_C(250000000)

void shard_init(struct shard *shard, uint32_t index, uint32_t shard_bits)
{
    *shard = (struct shard){.index = index,
                            .latest_ns = INT64_MIN,
                            .due_ns = INT64_MAX,
                            .noted_ns = INT64_MAX,
                            .round_ns = INT64_MAX};
    table_init(&shard->table, shard_bits);
    counter_memory_init(&shard->memory);
}

/* Full chunks of a pool are known only to the units in them: so they are freed one by one. */
static void release_all(struct shard *shard)
{
    uint64_t rest = 0;
    do {
        struct table_segment *segment = table_segment_at(&shard->table, rest, &rest);
        struct table_slot *slot =
            segment == NULL ? NULL : table_slot_first(segment);
        for (; slot != NULL; slot = table_slot_after(segment, slot)) {
            counter_release(&shard->memory, slot);
        }
    } while (rest != 0);
    while (slog_pools_sweep(&shard->memory.logs, &shard->memory.pages, UINT32_MAX) > 0) {
    }
}

void shard_clear(struct shard *shard)
{
    struct counter_memory *memory = &shard->memory;
    if (memory->wide.chunks > 0 || memory->logs.units[0].chunks > 0) {
        release_all(shard);
        pool_trim(&memory->wide, &memory->pages);
        slog_pools_trim(&memory->logs, &memory->pages);
    }
    table_clear(&shard->table, &memory->pages);
}

void shard_swap(struct shard *shard, const struct store_change *change)
{
    shard->before = shard->policies;
    shard->policies = change->next;
    shard->change = change;
    shard->generation ^= COUNTER_GENERATION;
    shard->unconverted = shard->table.count;
    shard->epoch++;
}

const struct limiter_policy *shard_held(const struct shard *shard, const struct table_slot *slot)
{
    const struct store_policies *of =
        shard_is_current(shard, slot) ? shard->policies : shard->before;
    return &of->policies[counter_policy(slot)];
}

void shard_erase(struct shard *shard, struct table_slot *slot)
{
    if (!shard_is_current(shard, slot)) {
        shard->unconverted--;
    }
    counter_release(&shard->memory, slot);
    table_erase(&shard->table, slot);
    shard->loose = true;
}

/* Leaves a counter as if never used in its slot. */
static struct limiter_step emptying(const struct limiter_state *state)
{
    return (struct limiter_step){.next = {.time_ns = state->time_ns},
                                 .log_drop = state->log == NULL ? 0 : state->log->count};
}

void shard_forget(struct shard *shard, struct table_slot *slot)
{
    struct counter_view view;
    if (!shard->dirty.on) {
        shard_erase(shard, slot);
        return;
    }
    counter_read(slot, &view);
    bool is_log = view.state.log != NULL;
    struct table_key key = {.order = slot->order, .tag = slot->tag};
    struct limiter_step step = emptying(&view.state);
    counter_apply(&shard->memory, slot, is_log, &step, counter_policy(slot), shard->generation);
    shard_note_changed(shard, slot, true);
    shard_note_due(shard, key, view.state.time_ns);
}

/* What became of a counter of the generation before. */
enum converted { CONVERTED, FORGOTTEN, WANTS_MEMORY };

static enum converted convert(struct shard *shard, struct table_slot *slot)
{
    uint32_t old_id = counter_policy(slot);
    uint32_t id = shard->change->map[old_id];
    struct counter_view view;
    struct limiter_step step;
    if (id == STORE_GONE) {
        shard_erase(shard, slot);
        return FORGOTTEN;
    }
    const struct limiter_policy *to = &shard->policies->policies[id];
    counter_read(slot, &view);
    if (!limiter_convert(&shard->before->policies[old_id], to, &view.state,
                         shard->change->at_ns, &step)) {
        if ((slot->meta & COUNTER_PINNED) == 0) {
            shard_erase(shard, slot);
            return FORGOTTEN;
        }
        step = emptying(&view.state);
    }
    bool is_log = to->algorithm == LIMITER_SLIDING_LOG;
    if (!counter_reserve(&shard->memory, slot, is_log, &step, 1)) {
        return WANTS_MEMORY;
    }
    counter_apply(&shard->memory, slot, is_log, &step, id, shard->generation);
    shard->unconverted--;
    return CONVERTED;
}

bool shard_find(struct shard *shard, struct table_key key, struct table_slot **found)
{
    struct table_slot *slot = table_find(&shard->table, key);
    if (slot != NULL && !shard_is_current(shard, slot)) {
        enum converted converted = convert(shard, slot);
        if (converted == WANTS_MEMORY) {
            return false;
        }
        if (converted == FORGOTTEN) {
            slot = NULL;
        } else {
            struct counter_view view;
            counter_read(slot, &view);
            shard_note_due(shard, key, limiter_idle_at_ns(shard_held(shard, slot), &view.state));
        }
    }
    *found = slot;
    return true;
}

void shard_note_due(struct shard *shard, struct table_key key, int64_t due_ns)
{
    struct table_segment *segment = table_segment_of(&shard->table, key);
    if (due_ns < segment->due_ns) {
        segment->due_ns = due_ns;
    }
    if (due_ns < shard->due_ns) {
        shard->due_ns = due_ns;
    }
    if (due_ns < shard->noted_ns) {
        shard->noted_ns = due_ns;
    }
}

/* ---- house-keeping ---- */

static int64_t before_ns(int64_t now_ns, int64_t grace_ns)
{
    int64_t since;
    return __builtin_sub_overflow(now_ns, grace_ns, &since) ? INT64_MIN : since;
}

static bool is_due(const struct shard *shard, const struct table_segment *segment,
                   const struct shard_visit *visit)
{
    if (shard->unconverted > 0) {
        return true;
    }
    if (segment->due_ns > before_ns(visit->now_ns, visit->grace_ns)) {
        return false;
    }
    return visit->grace_ns == 0 || segment->visit_ns <= visit->now_ns;
}

static void begin_visit(struct table *table, struct table_segment *segment)
{
    table->cursor.phase = TABLE_INSIDE;
    table->cursor.due_ns = INT64_MAX;
    /* Collects what requests write while the visit lasts. */
    segment->due_ns = INT64_MAX;
}

static void end_visit(struct shard *shard, struct table_segment *segment,
                      const struct shard_visit *visit)
{
    struct table_cursor *cursor = &shard->table.cursor;
    if (cursor->due_ns < segment->due_ns) {
        segment->due_ns = cursor->due_ns;
    }
    segment->visit_ns = arith_add_ns(visit->now_ns, VISIT_PAUSE_NS);
    cursor->phase = TABLE_DONE;
}

/* Is the disk in no need of an idle counter any more? Where room is wanted at once it goes all the
 * same, and the state has to be written anew. */
static bool may_go(struct shard *shard, const struct table_slot *slot,
                   const struct shard_visit *visit)
{
    if ((slot->meta & COUNTER_PINNED) == 0) {
        return true;
    }
    if (visit->grace_ns == 0) {
        shard->dirty.forgot = true;
        return true;
    }
    return false;
}

/* Looks at one counter. Returns the slot to go on with, NULL at the segment's end; *stop: wants
 * memory, go on with this one later. */
static struct table_slot *visit_slot(struct shard *shard, struct table_segment *segment,
                                     struct table_slot *slot, struct shard_visit *visit)
{
    struct counter_view view;
    bool erased = false;
    if (!shard_is_current(shard, slot)) {
        enum converted converted = convert(shard, slot);
        visit->found = true;
        if (converted == WANTS_MEMORY) {
            visit->wants = true;
            return slot;
        }
        erased = converted == FORGOTTEN;
    }
    if (!erased) {
        counter_read(slot, &view);
        int64_t idle_ns = limiter_idle_at_ns(shard_held(shard, slot), &view.state);
        if (idle_ns <= before_ns(visit->now_ns, visit->grace_ns) && may_go(shard, slot, visit)) {
            shard_erase(shard, slot);
            shard->swept++;
            erased = true;
        } else if (idle_ns < shard->table.cursor.due_ns) {
            shard->table.cursor.due_ns = idle_ns;
        }
    }
    visit->looked++;
    if (!erased) {
        return table_slot_after(segment, slot);
    }
    visit->freed++;
    visit->found = true;
    return slot->meta != 0 ? slot : table_slot_after(segment, slot);
}

/* Goes on inside a segment; false: the budget is used up or memory is wanted. */
static bool visit_segment(struct shard *shard, struct table_segment *segment,
                          struct shard_visit *visit)
{
    struct table *table = &shard->table;
    struct table_slot *slot = table_slot_from(table, segment, table->cursor.rest);
    while (slot != NULL && visit->looked < visit->budget && !visit->wants) {
        slot = visit_slot(shard, segment, slot, visit);
    }
    if (slot != NULL) {
        table->cursor.rest = table_rest(table, slot->order);
        return false;
    }
    end_visit(shard, segment, visit);
    return true;
}

/* Keeps the shard's own bound: after a whole round it is as good as the segments' bounds, but for
 * what was noted meanwhile. */
static void pass_segment(struct shard *shard, const struct table_segment *segment)
{
    if (segment != NULL && segment->due_ns < shard->round_ns) {
        shard->round_ns = segment->due_ns;
    }
}

static void end_round(struct shard *shard)
{
    shard->due_ns = shard->round_ns < shard->noted_ns ? shard->round_ns : shard->noted_ns;
    shard->round_ns = INT64_MAX;
    shard->noted_ns = INT64_MAX;
    shard->loose = false;
}

static void visit_next(struct shard *shard, struct shard_visit *visit)
{
    struct table *table = &shard->table;
    uint64_t next;
    struct table_segment *segment = table_segment_at(table, table->cursor.rest, &next);
    visit->looked++;
    if (segment != NULL && table->cursor.phase == TABLE_OUTSIDE &&
        is_due(shard, segment, visit)) {
        begin_visit(table, segment);
    }
    if (table->cursor.phase == TABLE_INSIDE && segment != NULL &&
        !visit_segment(shard, segment, visit)) {
        return;
    }
    if (segment != NULL && !table_shrink(table, &shard->memory.pages, table->cursor.rest) &&
        visit->may_wish) {
        visit->wants = true;
        return;
    }
    pass_segment(shard, table_segment_at(table, table->cursor.rest, &next));
    table->cursor = (struct table_cursor){.rest = next};
    visit->wrapped = next == 0;
}

void shard_visit(struct shard *shard, struct shard_visit *visit)
{
    struct counter_memory *memory = &shard->memory;
    visit->wants = false;
    visit->wrapped = false;
    uint32_t trash =
        slog_pools_sweep(&memory->logs, &memory->pages, visit->budget - visit->looked);
    visit->looked += trash;
    visit->found = visit->found || trash > 0;
    while (visit->looked < visit->budget && !visit->wants && !visit->wrapped) {
        visit_next(shard, visit);
    }
    if (visit->wrapped) {
        end_round(shard);
        pool_trim(&memory->wide, &memory->pages);
        slog_pools_trim(&memory->logs, &memory->pages);
    }
}

bool shard_is_due(const struct shard *shard, int64_t now_ns, int64_t grace_ns)
{
    const struct table_cursor *cursor = &shard->table.cursor;
    return shard->unconverted > 0 || shard->loose || shard->memory.logs.trash != NULL ||
           cursor->rest != 0 || cursor->phase != TABLE_OUTSIDE ||
           shard->due_ns <= before_ns(now_ns, grace_ns);
}

/* ---- eviction ---- */

static bool is_exhausted(const struct shard *shard, const struct table_slot *slot, int64_t now_ns,
                         int64_t *idle_ns)
{
    struct counter_view view;
    struct limiter_report report;
    const struct limiter_policy *held = shard_held(shard, slot);
    counter_read(slot, &view);
    limiter_report(held, held, &view.state, 0, LIMITER_ADMIT, now_ns, &report);
    *idle_ns = limiter_idle_at_ns(held, &view.state);
    return report.remaining == 0;
}

static bool is_excepted(const struct shard_sample *sample, const struct table_slot *slot)
{
    for (uint32_t i = 0; i < sample->except_count; i++) {
        if (sample->except[i].order == slot->order && sample->except[i].tag == slot->tag) {
            return true;
        }
    }
    return false;
}

static void sample_slot(const struct shard *shard, const struct table_slot *slot,
                        struct shard_sample *sample)
{
    int64_t idle_ns;
    sample->looked++;
    if (is_excepted(sample, slot) || is_exhausted(shard, slot, sample->now_ns, &idle_ns)) {
        return;
    }
    sample->candidates++;
    if (!sample->found || idle_ns < sample->idle_ns) {
        sample->found = true;
        sample->idle_ns = idle_ns;
        sample->key = (struct table_key){.order = slot->order, .tag = slot->tag};
        sample->policy = counter_policy(slot);
        if (!shard_is_current(shard, slot)) {
            sample->policy = shard->change->map[sample->policy];
        }
        sample->shard = shard->index;
    }
}

bool shard_sample(const struct shard *shard, struct shard_sample *sample, uint32_t budget)
{
    const struct table *table = &shard->table;
    uint32_t end = sample->looked + budget;
    do {
        uint64_t next;
        struct table_segment *segment = table_segment_at(table, sample->rest, &next);
        struct table_slot *slot =
            segment == NULL ? NULL : table_slot_from(table, segment, sample->rest);
        while (slot != NULL) {
            if (sample->looked >= end || sample->candidates >= sample->wanted) {
                sample->rest = table_rest(table, slot->order);
                return true;
            }
            sample_slot(shard, slot, sample);
            slot = table_slot_after(segment, slot);
        }
        sample->rest = next;
    } while (sample->rest != 0 && !sample->one_segment);
    return false;
}

bool shard_evict(struct shard *shard, struct table_key key, int64_t now_ns)
{
    int64_t idle_ns;
    struct table_slot *slot = table_find(&shard->table, key);
    if (slot == NULL || is_exhausted(shard, slot, now_ns, &idle_ns)) {
        return false;
    }
    shard_erase(shard, slot);
    shard->evicted++;
    return true;
}
