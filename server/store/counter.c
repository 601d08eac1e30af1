#include "store/counter.h"

#include "base/limits.h"

static_assert(sizeof(struct counter_wide) == 16, "a cell of the pool");
static_assert(LIMITS_LOG_QUOTA_MAX < 1u << (COUNTER_LOG_LOW_BITS + 64 - COUNTER_LOG_HIGH_SHIFT),
              "a log's entries can be counted in its address's spare bits");

void counter_memory_init(struct counter_memory *memory)
{
    pool_init(&memory->wide, sizeof(struct counter_wide));
    slog_pools_init(&memory->logs);
    memory->pages = (struct pages){0};
}

void counter_read_other(const struct table_slot *slot, struct counter_view *view)
{
    struct limiter_state *state = &view->state;
    *state = (struct limiter_state){.time_ns = slot->time_ns};
    switch (counter_kind(slot)) {
    case COUNTER_PLAIN:
        state->lo = slot->word;
        break;
    case COUNTER_PAIR:
        state->lo = (uint32_t)slot->word;
        state->hi = slot->word >> 32;
        break;
    case COUNTER_WIDE: {
        const struct counter_wide *wide = (const struct counter_wide *)(uintptr_t)slot->word;
        state->lo = wide->lo;
        state->hi = wide->hi;
        break;
    }
    case COUNTER_LOG:
        view->log = slog_view(counter_log(slot));
        state->log = &view->log.log;
        break;
    case COUNTER_EMPTY:
        break;
    }
}

static enum counter_kind kind_for(const struct limiter_state *state)
{
    if (state->hi == 0) {
        return COUNTER_PLAIN;
    }
    return state->hi <= UINT32_MAX && state->lo <= UINT32_MAX ? COUNTER_PAIR : COUNTER_WIDE;
}

bool counter_reserve_other(struct counter_memory *memory, const struct table_slot *slot,
                           bool is_log, const struct limiter_step *step, uint32_t count)
{
    if (is_log) {
        if (slot == NULL) {
            return slog_pools_reserve(&memory->logs, &memory->pages, count);
        }
        return step->log_append == 0 ||
               slog_reserve(&memory->logs, &memory->pages, counter_log(slot), 1);
    }
    if (kind_for(&step->next) != COUNTER_WIDE) {
        return true;
    }
    return pool_reserve(&memory->wide, &memory->pages, count);
}

static void apply_to_log(struct counter_memory *memory, struct table_slot *slot,
                         const struct limiter_step *step)
{
    if (counter_kind(slot) == COUNTER_EMPTY) {
        slot->word = (uint64_t)(uintptr_t)slog_make(&memory->logs);
    }
    struct slog *log = counter_log(slot);
    uint32_t written = log->count - counter_unwritten(slot);
    slog_drop(log, step->log_drop);
    written -= step->log_drop < written ? step->log_drop : written;
    if (step->log_append > 0) {
        slog_append(log, step->next.time_ns, step->log_append);
    }
    slog_pop(log, step->log_pop);
    /* Either may have changed the newest entry. */
    if ((step->log_append > 0 || step->log_pop > 0) && written >= log->count) {
        written = log->count == 0 ? 0 : log->count - 1;
    }
    counter_set_unwritten(slot, log->count - written);
    slog_trim(&memory->logs, &memory->pages, log);
}

static void release_wide(struct counter_memory *memory, const struct table_slot *slot)
{
    if (counter_kind(slot) == COUNTER_WIDE) {
        pool_give_back(&memory->wide, &memory->pages, (void *)(uintptr_t)slot->word);
    }
}

static void apply_value(struct counter_memory *memory, struct table_slot *slot,
                        const struct limiter_state *next, enum counter_kind kind)
{
    if (kind == COUNTER_WIDE) {
        struct counter_wide *wide = counter_kind(slot) == COUNTER_WIDE
                                        ? (struct counter_wide *)(uintptr_t)slot->word
                                        : pool_borrow(&memory->wide);
        *wide = (struct counter_wide){.lo = next->lo, .hi = next->hi};
        slot->word = (uint64_t)(uintptr_t)wide;
        return;
    }
    release_wide(memory, slot);
    slot->word = kind == COUNTER_PLAIN ? next->lo : next->hi << 32 | next->lo;
}

void counter_apply_other(struct counter_memory *memory, struct table_slot *slot, bool is_log,
                         const struct limiter_step *step, uint32_t policy, uint32_t generation)
{
    enum counter_kind kind = COUNTER_LOG;
    if (is_log) {
        apply_to_log(memory, slot, step);
    } else {
        kind = kind_for(&step->next);
        apply_value(memory, slot, &step->next, kind);
    }
    slot->time_ns = step->next.time_ns;
    slot->meta = policy << COUNTER_POLICY_SHIFT | (slot->meta & COUNTER_PINNED) |
                 COUNTER_CHANGED | generation | (uint32_t)kind;
}

void counter_release(struct counter_memory *memory, struct table_slot *slot)
{
    release_wide(memory, slot);
    if (counter_kind(slot) == COUNTER_LOG) {
        slog_forget(&memory->logs, &memory->pages, counter_log(slot));
    }
}
