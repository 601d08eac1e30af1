#include "store/table.h"

#include <assert.h>

/* Odd constants (the golden ratio's and sqrt 3's fractions): a bijection that spreads ids which
 * are not quite random over the whole range of places. */
#define PLACE_FACTOR UINT64_C(0x9E3779B97F4A7C15)
#define TAG_FACTOR UINT64_C(0xBB67AE8584CAA73B)

#define ADDRESS_MASK (~(uint64_t)(PAGES_BYTES - 1))
#define DEPTH_SHIFT 7
/* table_expect: what a segment is to hold, and a margin for chance. */
#define EXPECTED_IN_SEGMENT 5000u
#define EXPECTED_MORE 16u
#define DEPTH_LIMIT 22u /* 10 bits of shard, these, and 32 for the home make up a place */

static_assert(SEGMENT_PAGES_MOST < (1u << DEPTH_SHIFT), "pages fit a directory word");
static_assert((sizeof(uint64_t) << DEPTH_LIMIT) <=
                  (uint64_t)PAGES_BYTES << (TABLE_DIRECTORY_RUNS - 1),
              "the directory's runs can be kept");
static_assert(DEPTH_LIMIT < (1u << (12 - DEPTH_SHIFT)), "depth fits a directory word");

/* The inverse of an odd number modulo 2^64, by Newton's iteration (each step doubles the bits). */
static uint64_t invert_odd(uint64_t value)
{
    uint64_t inverse = value;
    for (int i = 0; i < 5; i++) {
        inverse *= 2 - value * inverse;
    }
    return inverse;
}

struct table_key table_key_of(struct fingerprint id)
{
    uint32_t tag = (uint32_t)id.hi;
    uint64_t place = id.lo * PLACE_FACTOR + tag * TAG_FACTOR;
    return (struct table_key){.order = ~place, .tag = tag};
}

struct fingerprint table_id_of(struct table_key key)
{
    uint64_t mixed = ~key.order - key.tag * TAG_FACTOR;
    return (struct fingerprint){.lo = mixed * invert_odd(PLACE_FACTOR), .hi = key.tag};
}

uint32_t table_shard_of(struct table_key key, uint32_t shard_bits)
{
    return (uint32_t)((~key.order >> 1) >> (63 - shard_bits));
}

void table_init(struct table *table, uint32_t skip)
{
    *table = (struct table){.skip = skip, .capacity = TABLE_SMALL_WORDS};
    shared_number_set(&table->directory, (uint64_t)(uintptr_t)table->small);
}

#define DIRECTORY_DEPTH UINT64_C(31) /* the low bits of an address of directory words */

static struct shared_number *directory_words(uint64_t directory)
{
    return (struct shared_number *)(uintptr_t)(directory & ~DIRECTORY_DEPTH);
}

static uint32_t directory_depth(const struct table *table)
{
    return (uint32_t)(shared_number_get(&table->directory) & DIRECTORY_DEPTH);
}

static uint32_t word_index(uint64_t directory, uint64_t rest)
{
    return (uint32_t)((rest >> 1) >> (63 - (directory & DIRECTORY_DEPTH)));
}

static uint64_t word_at(const struct table *table, uint64_t rest)
{
    uint64_t directory = shared_number_get(&table->directory);
    return shared_number_get(&directory_words(directory)[word_index(directory, rest)]);
}

static struct table_segment *word_segment(uint64_t word)
{
    return (struct table_segment *)(uintptr_t)(word & ADDRESS_MASK);
}

static uint32_t word_depth(uint64_t word)
{
    return (uint32_t)(word >> DEPTH_SHIFT) & ((1u << (12 - DEPTH_SHIFT)) - 1);
}

/* Everything a search needs stands in the directory word, so the segment's head is not touched. */
static struct table_slot *home_slot(const struct table *table, uint64_t rest)
{
    uint64_t word = word_at(table, rest);
    struct table_segment *segment = word_segment(word);
    if (segment == NULL) {
        return NULL;
    }
    uint32_t pages = (uint32_t)word & ((1u << DEPTH_SHIFT) - 1);
    uint32_t range = segment_range_in(segment_slots_in(pages));
    return segment_slots(segment) + segment_home(rest, word_depth(word), range);
}

const struct table_slot *table_home(const struct table *table, struct table_key key)
{
    return home_slot(table, table_rest(table, key.order));
}

struct table_slot *table_find(const struct table *table, struct table_key key)
{
    struct table_slot *slot = home_slot(table, table_rest(table, key.order));
    if (slot == NULL) {
        return NULL;
    }
    while (slot->order > key.order) {
        slot++;
    }
    for (; slot->order == key.order && slot->meta != 0; slot++) {
        if (slot->tag == key.tag) {
            return slot;
        }
    }
    return NULL;
}

struct table_segment *table_segment_of(const struct table *table, struct table_key key)
{
    uint64_t rest = table_rest(table, key.order);
    return word_segment(word_at(table, rest));
}

struct table_segment *table_segment_at(const struct table *table, uint64_t rest, uint64_t *next)
{
    uint64_t word = word_at(table, rest);
    uint64_t last = UINT64_MAX >> word_depth(word);
    *next = (rest | last) + 1;
    return word_segment(word);
}

uint64_t table_segment_start(const struct table *table, uint64_t rest)
{
    return rest & ~(UINT64_MAX >> word_depth(word_at(table, rest)));
}

struct table_slot *table_slot_from(const struct table *table, struct table_segment *segment,
                                   uint64_t rest)
{
    struct table_slot *slots = segment_slots(segment);
    for (uint32_t i = segment_home(rest, segment->depth, segment->range); i < segment->slots; i++) {
        if (slots[i].meta != 0 && table_rest(table, slots[i].order) >= rest) {
            return &slots[i];
        }
    }
    return NULL;
}

struct table_slot *table_slot_first(const struct table_segment *segment)
{
    struct table_slot *slots = segment_slots(segment);
    return slots[0].meta != 0 ? slots : table_slot_after(segment, slots);
}

struct table_slot *table_slot_after(const struct table_segment *segment,
                                    const struct table_slot *slot)
{
    struct table_slot *slots = segment_slots(segment);
    for (uint32_t i = (uint32_t)(slot - slots) + 1; i < segment->slots; i++) {
        if (slots[i].meta != 0) {
            return &slots[i];
        }
    }
    return NULL;
}

/* ---- growing ---- */

/* Points all words of a place's first `depth` bits at a segment (or at none). */
static void set_words(struct table *table, uint64_t rest, uint32_t depth,
                      const struct table_segment *segment)
{
    uint64_t directory = shared_number_get(&table->directory);
    uint32_t span = 1u << (directory_depth(table) - depth);
    struct shared_number *words = directory_words(directory);
    words += word_index(directory, rest) & ~(span - 1);
    uint64_t word = (uint64_t)depth << DEPTH_SHIFT;
    if (segment != NULL) {
        word |= (uint64_t)(uintptr_t)segment | segment->pages;
    }
    for (uint32_t i = 0; i < span; i++) {
        shared_number_set(&words[i], word);
    }
}

/* Moves a segment into a run of another size. */
static bool resize(struct table *table, struct pages *pages, struct table_segment *segment,
                   uint64_t rest, uint32_t to_pages)
{
    struct segment_part part = segment_whole(segment, table->skip);
    void *run = pages_take(pages, (size_t)to_pages * PAGES_BYTES, PAGES_BYTES);
    if (run == NULL) {
        return false;
    }
    struct table_segment *moved = segment_make(run, to_pages, &part);
    moved->due_ns = segment->due_ns;
    moved->visit_ns = segment->visit_ns;
    set_words(table, rest, moved->depth, moved);
    pages_drop(pages, segment, (size_t)segment->pages * PAGES_BYTES);
    return true;
}

static bool double_directory(struct table *table, struct pages *pages)
{
    uint32_t depth = directory_depth(table);
    uint32_t words = 1u << depth;
    struct shared_number *old = directory_words(shared_number_get(&table->directory));
    struct shared_number *larger = old;
    if (words * 2 > table->capacity) {
        size_t bytes = (size_t)words * 2 * sizeof(*old);
        bytes = bytes < PAGES_BYTES ? PAGES_BYTES : bytes;
        larger = pages_take(pages, bytes, PAGES_BYTES);
        if (larger == NULL) {
            return false;
        }
        table->capacity = (uint32_t)(bytes / sizeof(*old));
        table->runs[table->run_count] = larger;
        table->run_count++;
    }
    /* From the back, for this may be done in place. */
    for (uint32_t i = words; i-- > 0;) {
        uint64_t word = shared_number_get(&old[i]);
        shared_number_set(&larger[2 * i + 1], word);
        shared_number_set(&larger[2 * i], word);
    }
    shared_number_set(&table->directory, (uint64_t)(uintptr_t)larger | (depth + 1));
    return true;
}

/* A split in the middle of a visit begins that segment's visit again. */
static void restart_visit(struct table *table, uint64_t rest, uint32_t depth,
                          struct table_segment *segment)
{
    uint64_t mask = ~(UINT64_MAX >> depth);
    struct table_cursor *cursor = &table->cursor;
    if (cursor->phase != TABLE_OUTSIDE && ((cursor->rest ^ rest) & mask) == 0) {
        *cursor = (struct table_cursor){.rest = rest & mask};
        segment->due_ns = INT64_MIN;
    }
}

static bool split(struct table *table, struct pages *pages, struct table_segment *segment,
                  uint64_t rest)
{
    uint32_t depth = segment->depth;
    if (depth >= DEPTH_LIMIT) {
        pages->impossible = true;
        return false;
    }
    if (depth == directory_depth(table)) {
        return double_directory(table, pages);
    }
    struct segment_part halves[2];
    segment_cut(segment, table->skip, halves);
    uint32_t left = segment_fit(&halves[0], segment_pages_for(halves[0].count));
    uint32_t right = segment_fit(&halves[1], segment_pages_for(halves[1].count));
    if (left == 0 || right == 0) {
        pages->impossible = true;
        return false;
    }
    uint8_t *run = pages_take(pages, (size_t)(left + right) * PAGES_BYTES, PAGES_BYTES);
    if (run == NULL) {
        return false;
    }
    restart_visit(table, rest, depth, segment);
    struct table_segment *a = segment_make(run, left, &halves[0]);
    struct table_segment *b = segment_make(run + (size_t)left * PAGES_BYTES, right, &halves[1]);
    a->due_ns = b->due_ns = segment->due_ns;
    a->visit_ns = b->visit_ns = segment->visit_ns;
    uint64_t bit = (UINT64_C(1) << 63) >> depth;
    set_words(table, rest & ~bit, depth + 1, a);
    set_words(table, rest | bit, depth + 1, b);
    table->segments++;
    pages_drop(pages, segment, (size_t)segment->pages * PAGES_BYTES);
    return true;
}

static bool grow(struct table *table, struct pages *pages, struct table_segment *segment,
                 uint64_t rest, uint32_t more)
{
    struct segment_part part = segment_whole(segment, table->skip);
    uint32_t wanted = segment_pages_for(segment->count + more);
    wanted = wanted > segment->pages ? wanted : segment->pages + 1;
    if (wanted > SEGMENT_PAGES_MOST && segment->pages < SEGMENT_PAGES_MOST * 7 / 8) {
        wanted = SEGMENT_PAGES_MOST;
    }
    uint32_t fitting = segment_fit(&part, wanted);
    if (fitting == 0) {
        return split(table, pages, segment, rest);
    }
    return resize(table, pages, segment, rest, fitting);
}

/* Where there is nothing to grow into, the wish is that of the last time: at a bound every new
 * counter of a full segment comes here, and laying thousands out in thought for each would cost
 * far more than the request. What is offered is looked at anew. */
static bool grow_or_wish(struct table *table, struct pages *pages, struct table_segment *segment,
                         uint64_t rest, uint32_t more)
{
    if (pages->given == NULL && segment->wish_bytes > 0) {
        return pages_take(pages, segment->wish_bytes, PAGES_BYTES) != NULL;
    }
    segment->wish_bytes = 0;
    if (grow(table, pages, segment, rest, more)) {
        return true;
    }
    segment->wish_bytes = pages->impossible ? 0 : pages->wish_bytes;
    return false;
}

static bool begin_segment(struct table *table, struct pages *pages, uint64_t rest)
{
    struct segment_part nothing = {.skip = table->skip,
                                   .depth = word_depth(word_at(table, rest))};
    uint32_t first = table->first_pages > 0 ? table->first_pages : 1;
    void *run = pages_take(pages, (size_t)first * PAGES_BYTES, PAGES_BYTES);
    if (run == NULL) {
        return false;
    }
    set_words(table, rest, nothing.depth, segment_make(run, first, &nothing));
    table->segments++;
    return true;
}

/* Places are spread evenly, so all segments of one depth will hold about as many. */
bool table_expect(struct table *table, struct pages *pages, uint64_t count)
{
    uint32_t depth = 0;
    while (depth < DEPTH_LIMIT && count >> depth > EXPECTED_IN_SEGMENT) {
        depth++;
    }
    while (directory_depth(table) < depth) {
        if (!double_directory(table, pages)) {
            return false;
        }
    }
    uint64_t directory = shared_number_get(&table->directory);
    for (uint32_t i = 0; i < 1u << depth; i++) {
        shared_number_set(&directory_words(directory)[i], (uint64_t)depth << DEPTH_SHIFT);
    }
    uint32_t each = (uint32_t)(count >> depth);
    table->first_pages = segment_pages_for(each + each / 32 + EXPECTED_MORE);
    return true;
}

void table_expect_no_more(struct table *table)
{
    table->first_pages = 0;
}

bool table_reserve(struct table *table, struct pages *pages, struct table_key key, uint32_t more)
{
    uint64_t rest = table_rest(table, key.order);
    for (;;) {
        struct table_segment *segment = word_segment(word_at(table, rest));
        if (segment != NULL && segment_has_room(segment, rest, more)) {
            return true;
        }
        bool moved = segment == NULL ? begin_segment(table, pages, rest)
                                     : grow_or_wish(table, pages, segment, rest, more);
        if (!moved) {
            return false;
        }
    }
}

struct table_slot *table_insert(struct table *table, struct table_key key)
{
    uint64_t rest = table_rest(table, key.order);
    struct table_slot *slot = home_slot(table, rest);
    while (slot->order > key.order) {
        slot++;
    }
    struct table_slot *empty = slot;
    while (empty->meta != 0) {
        empty++;
    }
    memmove(slot + 1, slot, (size_t)(empty - slot) * sizeof(*slot));
    *slot = (struct table_slot){.order = key.order, .tag = key.tag};
    table_segment_of(table, key)->count++;
    table->count++;
    return slot;
}

void table_erase(struct table *table, struct table_slot *slot)
{
    uint64_t rest = table_rest(table, slot->order);
    struct table_segment *segment = word_segment(word_at(table, rest));
    struct table_slot *slots = segment_slots(segment);
    struct table_slot *end = slot + 1;
    while (end->meta != 0 && segment_home(table_rest(table, end->order), segment->depth,
                                     segment->range) < (uint32_t)(end - slots)) {
        end++;
    }
    memmove(slot, slot + 1, (size_t)(end - slot - 1) * sizeof(*slot));
    end[-1] = (struct table_slot){0};
    segment->count--;
    table->count--;
}

bool table_shrink(struct table *table, struct pages *pages, uint64_t rest)
{
    struct table_segment *segment = word_segment(word_at(table, rest));
    if (segment == NULL) {
        return true;
    }
    if (segment->count == 0) {
        set_words(table, rest, segment->depth, NULL);
        table->segments--;
        pages_drop(pages, segment, (size_t)segment->pages * PAGES_BYTES);
        return true;
    }
    if (segment->pages == 1 || segment->count >= segment->slots * 55u / 100) {
        return true;
    }
    struct segment_part part = segment_whole(segment, table->skip);
    uint32_t fitting = segment_fit(&part, segment_pages_for(segment->count));
    if (fitting == 0 || fitting >= segment->pages) {
        return true;
    }
    return resize(table, pages, segment, rest, fitting);
}

void table_clear(struct table *table, struct pages *pages)
{
    uint64_t rest = 0;
    do {
        uint64_t at = rest;
        struct table_segment *segment = table_segment_at(table, rest, &rest);
        if (segment != NULL) {
            set_words(table, at, segment->depth, NULL);
            pages_drop(pages, segment, (size_t)segment->pages * PAGES_BYTES);
        }
    } while (rest != 0);
    for (uint32_t i = 0; i < table->run_count; i++) {
        pages_drop(pages, table->runs[i], (size_t)PAGES_BYTES << i);
    }
    table_init(table, table->skip);
}
