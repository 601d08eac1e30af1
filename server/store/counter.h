/* A counter in its slot: what the limiters see as a state, the table keeps in 32 bytes.
 *
 *   meta   31 ........ 6 |   5    |    4    |     3      | 2..0
 *           policy id    | pinned | changed | generation | kind
 *
 *   PLAIN  time, lo                       (hi is 0: nearly all buckets, all fixed windows)
 *   PAIR   time, hi and lo of 32 bits     (sliding counters)
 *   WIDE   time, address of (lo, hi)      (anything larger)
 *   LOG    time, address of a struct slog; in the address's spare bits (48 to 63, 0 to 5) how many
 *          of its newest entries were not written down yet
 *
 * The kind is chosen anew at each write, by the values. */
#ifndef STORE_COUNTER_H
#define STORE_COUNTER_H

#include "store/slog.h"
#include "store/table.h"

/* Policies are told apart by this many bits. */
#define COUNTER_POLICY_BITS 26

enum counter_kind { COUNTER_EMPTY, COUNTER_PLAIN, COUNTER_PAIR, COUNTER_WIDE, COUNTER_LOG };

#define COUNTER_KIND_MASK 7u
#define COUNTER_GENERATION 8u
#define COUNTER_CHANGED 16u /* written since the last export that asked for changes */
/* What was last written down of it would outlive it: it stays, idle or not, until it is written
 * down again (a reset, a refund, other numbers; only where a state is kept). */
#define COUNTER_PINNED 32u
#define COUNTER_POLICY_SHIFT 6

#define COUNTER_LOG_ADDRESS UINT64_C(0x0000FFFFFFFFFFC0)
#define COUNTER_LOG_LOW_BITS 6
#define COUNTER_LOG_HIGH_SHIFT 48

/* Values of counters too wide for their slot. */
struct counter_wide {
    uint64_t lo;
    uint64_t hi;
};

/* Where a shard's counters keep what is not in the slot. */
struct counter_memory {
    struct pool wide;
    struct slog_pools logs;
    struct pages pages;
};

/* A state with the log it points to. Not to be copied: state.log points into it. */
struct counter_view {
    struct limiter_state state;
    struct slog_view log;
};

static inline enum counter_kind counter_kind(const struct table_slot *slot)
{
    return (enum counter_kind)(slot->meta & COUNTER_KIND_MASK);
}

static inline uint32_t counter_policy(const struct table_slot *slot)
{
    return slot->meta >> COUNTER_POLICY_SHIFT;
}

static inline struct slog *counter_log(const struct table_slot *slot)
{
    return (struct slog *)(uintptr_t)(slot->word & COUNTER_LOG_ADDRESS);
}

/* Entries of the log that were not written down yet: its newest ones. */
static inline uint32_t counter_unwritten(const struct table_slot *slot)
{
    uint64_t low = slot->word & ~COUNTER_LOG_ADDRESS & UINT32_MAX;
    return (uint32_t)(low | slot->word >> COUNTER_LOG_HIGH_SHIFT << COUNTER_LOG_LOW_BITS);
}

static inline void counter_set_unwritten(struct table_slot *slot, uint32_t entries)
{
    uint64_t low = entries & ((1u << COUNTER_LOG_LOW_BITS) - 1);
    uint64_t high = entries >> COUNTER_LOG_LOW_BITS;
    slot->word =
        (slot->word & COUNTER_LOG_ADDRESS) | low | high << COUNTER_LOG_HIGH_SHIFT;
}

void counter_read_other(const struct table_slot *slot, struct counter_view *view);

static inline void counter_read(const struct table_slot *slot, struct counter_view *view)
{
    view->state = (struct limiter_state){.time_ns = slot->time_ns, .lo = slot->word};
    if (counter_kind(slot) != COUNTER_PLAIN) {
        counter_read_other(slot, view);
    }
}

void counter_memory_init(struct counter_memory *memory);

bool counter_reserve_other(struct counter_memory *memory, const struct table_slot *slot,
                           bool is_log, const struct limiter_step *step, uint32_t count);

/* Whatever applying `step` to this slot can need beyond the table, for `count` such slots. NULL: a
 * counter that is not there yet. False: wants memory. */
static inline bool counter_reserve(struct counter_memory *memory, const struct table_slot *slot,
                                   bool is_log, const struct limiter_step *step, uint32_t count)
{
    return (!is_log && step->next.hi == 0) ||
           counter_reserve_other(memory, slot, is_log, step, count);
}

void counter_apply_other(struct counter_memory *memory, struct table_slot *slot, bool is_log,
                         const struct limiter_step *step, uint32_t policy, uint32_t generation);

/* Applies a step, after counter_reserve; sets all but order and tag. */
static inline void counter_apply(struct counter_memory *memory, struct table_slot *slot,
                                 bool is_log, const struct limiter_step *step, uint32_t policy,
                                 uint32_t generation)
{
    if (is_log || step->next.hi != 0 || counter_kind(slot) == COUNTER_WIDE) {
        counter_apply_other(memory, slot, is_log, step, policy, generation);
        return;
    }
    slot->time_ns = step->next.time_ns;
    slot->word = step->next.lo;
    slot->meta = policy << COUNTER_POLICY_SHIFT | (slot->meta & COUNTER_PINNED) |
                 COUNTER_CHANGED | generation | (uint32_t)COUNTER_PLAIN;
}

/* Gives back what the slot refers to; the slot is to be erased next. */
void counter_release(struct counter_memory *memory, struct table_slot *slot);

#endif
