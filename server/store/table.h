/* One shard's counters: an open-addressing table in small segments. No lock, no clock, no
 * allocation, no system call.
 *
 *   directory           segment (1 to 64 pages)
 *   +------+            +------+--------------------------------------------+
 *   | word | ---------> | head | slot | slot |      | slot |  ...    | empty |
 *   | word | --\        +------+--------------------------------------------+
 *   | ...  |    \-----> a segment may serve several words (extendible hashing)
 *
 * A fingerprint is turned into 64 bits of `order` and 32 bits of `tag`: all 96 are kept, and the
 * fingerprint can be had back from them. The complement of `order` is the counter's place: its top
 * bits choose the shard, the next ones the directory word, the next 32 the home slot. Slots of a
 * segment lie in ascending place (an empty slot is all zero, the last place of all), each at or
 * behind its home with no gap between: linear probing kept sorted. So a search ends at the first
 * slot that lies behind, growing is one pass over two arrays, and a place is a stable cursor.
 *
 * Segments grow by an eighth and split in two beyond 64 pages, so growth costs little memory and
 * never long: at most 8190 slots move at once. */
#ifndef STORE_TABLE_H
#define STORE_TABLE_H

#include "base/hash.h"
#include "base/shared.h"
#include "store/segment.h"

#define TABLE_SMALL_WORDS 8u
#define TABLE_DIRECTORY_RUNS 14u

struct table_key {
    uint64_t order;
    uint32_t tag;
};

/* How far house-keeping has come: before a segment, in the middle of it, behind its last slot. */
enum table_phase { TABLE_OUTSIDE, TABLE_INSIDE, TABLE_DONE };

struct table_cursor {
    uint64_t rest;  /* next place, the shard's bits cut off */
    int64_t due_ns; /* inside: earliest of those visited so far in this segment */
    enum table_phase phase;
};

struct table {
    /* The address of 2^depth words, or-ed with the depth. A word is segment address | depth << 7 |
     * pages; no address: no counters there. Both are read without the lock by a prefetch: so a
     * directory that was outgrown stays until the table goes (all of them together are smaller
     * than the latest). */
    struct shared_number directory;
    uint32_t skip;     /* bits of the place that chose the shard */
    uint32_t capacity; /* words there is memory for */
    uint64_t count;
    struct table_cursor cursor;
    uint32_t segments;
    uint32_t first_pages; /* of a new segment; 0: 1 */
    uint32_t run_count; /* of the directory's runs; run i has PAGES_BYTES << i bytes */
    _Alignas(32) struct shared_number small[TABLE_SMALL_WORDS]; /* a small table's directory */
    void *runs[TABLE_DIRECTORY_RUNS];
};

void table_init(struct table *table, uint32_t skip);

struct table_key table_key_of(struct fingerprint id);
struct fingerprint table_id_of(struct table_key key);
uint32_t table_shard_of(struct table_key key, uint32_t shard_bits);

/* Where a search begins, for a prefetch: may be called without the lock, the address is a hint and
 * not to be read then. NULL: no counters there. */
const struct table_slot *table_home(const struct table *table, struct table_key key);

struct table_slot *table_find(const struct table *table, struct table_key key);

/* Makes room for `more` counters near `key`, growing with memory from `pages`. False: it has none
 * (or says `impossible`). Moves slots. */
bool table_reserve(struct table *table, struct pages *pages, struct table_key key, uint32_t more);

/* An empty table is going to get `count` counters: segments begin at the size they will need, until
 * table_expect_no_more. False: wants memory. */
bool table_expect(struct table *table, struct pages *pages, uint64_t count);
void table_expect_no_more(struct table *table);

/* A new slot for a key that is not there, after table_reserve; order and tag are set, the rest is
 * zero. Moves slots. */
struct table_slot *table_insert(struct table *table, struct table_key key);

/* Moves slots at and behind `slot`. */
void table_erase(struct table *table, struct table_slot *slot);

/* The segment that serves a key, or NULL. */
struct table_segment *table_segment_of(const struct table *table, struct table_key key);

/* The segment at a place (shard's bits cut off) and *next the place behind it, 0: the last. NULL:
 * none there. */
struct table_segment *table_segment_at(const struct table *table, uint64_t rest, uint64_t *next);

/* The first place of the segment that serves a place. */
uint64_t table_segment_start(const struct table *table, uint64_t rest);

struct table_slot *table_slot_first(const struct table_segment *segment);
/* The first slot of `segment` at or behind a place, or NULL. */
struct table_slot *table_slot_from(const struct table *table, struct table_segment *segment,
                                   uint64_t rest);
/* The one after it, or NULL. */
struct table_slot *table_slot_after(const struct table_segment *segment,
                                    const struct table_slot *slot);
static inline uint64_t table_rest(const struct table *table, uint64_t order)
{
    return ~order << table->skip;
}

/* Gives memory back when the segment at this place is much too large for its counters. False:
 * wants memory to move into (see pages). */
bool table_shrink(struct table *table, struct pages *pages, uint64_t rest);

/* Drops all memory. */
void table_clear(struct table *table, struct pages *pages);

#endif
