#include "store/slog.h"

#include "base/limits.h"

#include <assert.h>
#include <string.h>

/* Headers and blocks are the first; rings step through all of them. Doubling at most, and such
 * that whole units fill a chunk: an entry then pays for no more of the ring than slog.h says. */
static const uint32_t unit_bytes[SLOG_POOLS] = {64, 128, 256, 512, 1024, 1792, 2688};

#define BLOCK_BYTES 64u
/* More than one request can fill, so that the blocks of dropped entries run out. */
#define TRIM_BLOCKS 64u

static_assert(sizeof(struct slog) == BLOCK_BYTES, "a header is a unit");
static_assert(sizeof(struct slog_block) == BLOCK_BYTES, "a block is a unit");
static_assert(LIMITS_LOG_QUOTA_MAX < UINT32_MAX / 2, "counts and totals fit 32 bits");

void slog_pools_init(struct slog_pools *pools)
{
    for (uint32_t i = 0; i < SLOG_POOLS; i++) {
        pool_init(&pools->units[i], unit_bytes[i]);
    }
    pools->trash = NULL;
}

bool slog_pools_reserve(struct slog_pools *pools, struct pages *pages, uint32_t count)
{
    return pool_reserve(&pools->units[0], pages, count);
}

void slog_pools_trim(struct slog_pools *pools, struct pages *pages)
{
    for (uint32_t i = 0; i < SLOG_POOLS; i++) {
        pool_trim(&pools->units[i], pages);
    }
}

struct slog *slog_make(struct slog_pools *pools)
{
    struct slog *log = pool_borrow(&pools->units[0]);
    memset(log, 0, sizeof(*log));
    return log;
}

static struct slog_block **ring_of(struct slog *log)
{
    return log->ring <= SLOG_INLINE_BLOCKS ? log->few : log->many.blocks;
}

/* The block that is `index` blocks behind the first. */
static struct slog_block *block_at(const struct slog *log, uint32_t index)
{
    uint32_t place = log->head + index;
    place = place >= log->ring ? place - log->ring : place;
    return log->ring <= SLOG_INLINE_BLOCKS ? log->few[place] : log->many.blocks[place];
}

struct limiter_log_entry slog_entry(const struct slog *log, uint32_t index)
{
    if (log->ring == 0) {
        return (struct limiter_log_entry){.at_ns = log->entries.at_ns[index],
                                          .total = log->entries.total[index]};
    }
    uint32_t place = log->skip + index;
    const struct slog_block *block = block_at(log, place / SLOG_BLOCK_ENTRIES);
    uint32_t in_block = place % SLOG_BLOCK_ENTRIES;
    return (struct limiter_log_entry){.at_ns = block->at_ns[in_block],
                                      .total = block->total[in_block]};
}

static void set_entry(struct slog *log, uint32_t index, struct limiter_log_entry entry)
{
    if (log->ring == 0) {
        log->entries.at_ns[index] = entry.at_ns;
        log->entries.total[index] = entry.total;
        return;
    }
    uint32_t place = log->skip + index;
    struct slog_block *block = block_at(log, place / SLOG_BLOCK_ENTRIES);
    block->at_ns[place % SLOG_BLOCK_ENTRIES] = entry.at_ns;
    block->total[place % SLOG_BLOCK_ENTRIES] = entry.total;
}

static struct limiter_log_entry view_at(const struct limiter_log *view, uint32_t index)
{
    return slog_entry(((const struct slog_view *)view)->of, index);
}

struct slog_view slog_view(const struct slog *log)
{
    return (struct slog_view){.log = {.count = log->count, .base = log->base, .at = view_at},
                             .of = log};
}

/* ---- rings ---- */

static size_t ring_bytes(uint32_t ring)
{
    return (size_t)ring * sizeof(struct slog_block *);
}

/* The pool whose units hold so many bytes; SLOG_POOLS: none. */
static uint32_t unit_class(size_t bytes)
{
    uint32_t class = 0;
    while (class < SLOG_POOLS && unit_bytes[class] < bytes) {
        class++;
    }
    return class;
}

/* From the units of the pools to whole pages, then by a quarter. */
static uint32_t next_ring(uint32_t ring)
{
    size_t bytes = ring <= SLOG_INLINE_BLOCKS ? 0 : ring_bytes(ring);
    uint32_t class = unit_class(bytes + 1);
    if (class < SLOG_POOLS) {
        bytes = unit_bytes[class];
    } else {
        bytes = (bytes + bytes / 4 + PAGES_BYTES - 1) / PAGES_BYTES * PAGES_BYTES;
    }
    return (uint32_t)(bytes / sizeof(struct slog_block *));
}

static struct slog_block **take_ring(struct slog_pools *pools, struct pages *pages, uint32_t ring)
{
    size_t bytes = ring_bytes(ring);
    uint32_t class = unit_class(bytes);
    if (class == SLOG_POOLS) {
        return pages_take(pages, bytes, PAGES_BYTES);
    }
    struct pool *pool = &pools->units[class];
    return pool_reserve(pool, pages, 1) ? pool_borrow(pool) : NULL;
}

static void give_ring_back(struct slog_pools *pools, struct pages *pages,
                           struct slog_block **blocks, uint32_t ring)
{
    size_t bytes = ring_bytes(ring);
    uint32_t class = unit_class(bytes);
    if (class == SLOG_POOLS) {
        pages_drop(pages, blocks, bytes);
    } else {
        pool_give_back(&pools->units[class], pages, blocks);
    }
}

/* Moves the blocks into another ring, head first. */
static bool change_ring(struct slog_pools *pools, struct pages *pages, struct slog *log,
                        uint32_t ring)
{
    struct slog_block **into = take_ring(pools, pages, ring);
    if (into == NULL) {
        return false;
    }
    struct slog_block **from = ring_of(log);
    uint32_t front = log->ring - log->head;
    front = front < log->blocks ? front : log->blocks;
    memcpy(into, from + log->head, front * sizeof(*into));
    memcpy(into + front, from, (log->blocks - front) * sizeof(*into));
    if (log->ring > SLOG_INLINE_BLOCKS) {
        give_ring_back(pools, pages, from, log->ring);
    }
    log->many = (struct slog_ring){.blocks = into};
    log->ring = ring;
    log->head = 0;
    return true;
}

/* The first block: what was inline moves into it. */
static bool leave_header(struct slog_pools *pools, struct pages *pages, struct slog *log)
{
    if (!pool_reserve(&pools->units[0], pages, 1)) {
        return false;
    }
    struct slog_block *block = pool_borrow(&pools->units[0]);
    struct slog_inline entries = log->entries;
    memcpy(block->at_ns, entries.at_ns, sizeof(entries.at_ns));
    memcpy(block->total, entries.total, sizeof(entries.total));
    log->few[0] = block;
    log->ring = SLOG_INLINE_BLOCKS;
    log->head = 0;
    log->skip = 0;
    log->blocks = 1;
    return true;
}

static uint32_t places_left(const struct slog *log)
{
    if (log->ring == 0) {
        return SLOG_INLINE_ENTRIES - log->count;
    }
    return log->blocks * SLOG_BLOCK_ENTRIES - log->skip - log->count;
}

static bool add_block(struct slog_pools *pools, struct pages *pages, struct slog *log)
{
    if (log->ring == 0) {
        return leave_header(pools, pages, log);
    }
    if (log->blocks == log->ring && !change_ring(pools, pages, log, next_ring(log->ring))) {
        return false;
    }
    if (!pool_reserve(&pools->units[0], pages, 1)) {
        return false;
    }
    uint32_t place = log->head + log->blocks;
    place = place >= log->ring ? place - log->ring : place;
    ring_of(log)[place] = pool_borrow(&pools->units[0]);
    log->blocks++;
    return true;
}

bool slog_reserve(struct slog_pools *pools, struct pages *pages, struct slog *log, uint32_t more)
{
    while (places_left(log) < more) {
        if (!add_block(pools, pages, log)) {
            return false;
        }
    }
    return true;
}

/* ---- changes ---- */

void slog_append(struct slog *log, int64_t at_ns, uint32_t units)
{
    uint32_t total = log->base;
    if (log->count > 0) {
        struct limiter_log_entry newest = slog_entry(log, log->count - 1);
        total = newest.total;
        if (newest.at_ns == at_ns) {
            newest.total += units;
            set_entry(log, log->count - 1, newest);
            return;
        }
    }
    assert(places_left(log) > 0);
    set_entry(log, log->count, (struct limiter_log_entry){.at_ns = at_ns, .total = total + units});
    log->count++;
}

void slog_drop(struct slog *log, uint32_t entries)
{
    if (entries == 0) {
        return;
    }
    assert(entries <= log->count);
    log->base = slog_entry(log, entries - 1).total;
    log->count -= entries;
    if (log->ring != 0) {
        log->skip += entries;
        return;
    }
    struct slog_inline *kept = &log->entries;
    memmove(kept->at_ns, kept->at_ns + entries, log->count * sizeof(kept->at_ns[0]));
    memmove(kept->total, kept->total + entries, log->count * sizeof(kept->total[0]));
}

void slog_pop(struct slog *log, uint32_t units)
{
    if (log->count == 0 || units == 0) {
        return;
    }
    uint32_t sum = slog_entry(log, log->count - 1).total - log->base;
    uint32_t left = units < sum ? sum - units : 0;
    /* The first entry up to which at least `left` units were admitted is the last that stays. */
    uint32_t low = 0;
    uint32_t high = left == 0 ? 0 : log->count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (slog_entry(log, middle).total - log->base >= left) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    log->count = left == 0 ? 0 : low + 1;
    if (left > 0) {
        struct limiter_log_entry last = slog_entry(log, low);
        last.total = log->base + left;
        set_entry(log, low, last);
    }
}

static void free_first_block(struct slog_pools *pools, struct pages *pages, struct slog *log)
{
    pool_give_back(&pools->units[0], pages, block_at(log, 0));
    log->head = log->head + 1 == log->ring ? 0 : log->head + 1;
    log->blocks--;
}

static void free_last_block(struct slog_pools *pools, struct pages *pages, struct slog *log)
{
    pool_give_back(&pools->units[0], pages, block_at(log, log->blocks - 1));
    log->blocks--;
}

/* A log that has become short goes back into its header. */
static void return_to_header(struct slog_pools *pools, struct pages *pages, struct slog *log)
{
    struct slog_inline entries = {0};
    for (uint32_t i = 0; i < log->count; i++) {
        struct limiter_log_entry entry = slog_entry(log, i);
        entries.at_ns[i] = entry.at_ns;
        entries.total[i] = entry.total;
    }
    while (log->blocks > 0) {
        free_first_block(pools, pages, log);
    }
    if (log->ring > SLOG_INLINE_BLOCKS) {
        give_ring_back(pools, pages, log->many.blocks, log->ring);
    }
    log->ring = 0;
    log->head = 0;
    log->skip = 0;
    log->entries = entries;
}

/* Moves the blocks, less than a quarter of a ring of pages, to its front and drops the pages behind
 * twice as many. What lies before the head wraps behind the rest first. */
static void cut_ring(struct pages *pages, struct slog *log)
{
    struct slog_block **ring = log->many.blocks;
    uint32_t front = log->ring - log->head;
    front = front < log->blocks ? front : log->blocks;
    memmove(ring + front, ring, (log->blocks - front) * sizeof(*ring));
    memmove(ring, ring + log->head, front * sizeof(*ring));
    size_t keep = (ring_bytes(log->blocks * 2) / PAGES_BYTES + 1) * PAGES_BYTES;
    pages_drop(pages, (uint8_t *)ring + keep, ring_bytes(log->ring) - keep);
    log->ring = (uint32_t)(keep / sizeof(*ring));
    log->head = 0;
}

/* A small ring moves into a smaller one where that needs no memory. */
static void shrink_ring(struct slog_pools *pools, struct pages *pages, struct slog *log)
{
    if (ring_bytes(log->ring) > PAGES_BYTES) {
        cut_ring(pages, log);
        return;
    }
    uint32_t ring = next_ring(0);
    while (ring < log->blocks * 2) {
        ring = next_ring(ring);
    }
    size_t wish_bytes = pages->wish_bytes;
    if (ring < log->ring) {
        (void)change_ring(pools, pages, log, ring);
    }
    pages->wish_bytes = wish_bytes;
}

void slog_trim(struct slog_pools *pools, struct pages *pages, struct slog *log)
{
    uint32_t budget = TRIM_BLOCKS;
    for (; budget > 0 && log->skip >= SLOG_BLOCK_ENTRIES; budget--) {
        log->skip -= SLOG_BLOCK_ENTRIES;
        free_first_block(pools, pages, log);
    }
    for (; budget > 0 && log->ring != 0 && places_left(log) >= 2 * SLOG_BLOCK_ENTRIES; budget--) {
        free_last_block(pools, pages, log);
    }
    if (log->ring != 0 && log->count < SLOG_INLINE_ENTRIES && log->blocks <= 2) {
        return_to_header(pools, pages, log);
        return;
    }
    if (log->blocks < log->ring / 4) {
        shrink_ring(pools, pages, log);
    }
}

void slog_forget(struct slog_pools *pools, struct pages *pages, struct slog *log)
{
    if (log->blocks > TRIM_BLOCKS) {
        log->many.next_trash = pools->trash;
        pools->trash = log;
        return;
    }
    while (log->blocks > 0) {
        free_first_block(pools, pages, log);
    }
    if (log->ring > SLOG_INLINE_BLOCKS) {
        give_ring_back(pools, pages, log->many.blocks, log->ring);
    }
    pool_give_back(&pools->units[0], pages, log);
}

uint32_t slog_pools_sweep(struct slog_pools *pools, struct pages *pages, uint32_t budget)
{
    uint32_t freed = 0;
    while (pools->trash != NULL && freed < budget) {
        struct slog *log = pools->trash;
        if (log->blocks > TRIM_BLOCKS) {
            free_first_block(pools, pages, log);
            freed++;
        } else {
            pools->trash = log->many.next_trash;
            slog_forget(pools, pages, log);
            freed += TRIM_BLOCKS;
        }
    }
    return freed;
}
