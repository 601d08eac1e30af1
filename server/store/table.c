#include "store/table.h"

#include <assert.h>

/* Odd constants (the golden ratio's and sqrt 3's fractions): a bijection that spreads ids which
 * are not quite random over the whole range of places. */
#define PLACE_FACTOR UINT64_C(0x9E3779B97F4A7C15)
#define TAG_FACTOR UINT64_C(0xBB67AE8584CAA73B)

#define ADDRESS_MASK (~(uint64_t)(PAGES_BYTES - 1))
#define DEPTH_SHIFT 7
#define DEPTH_LIMIT 22u /* 10 bits of shard, these, and 32 for the home make up a place */

static_assert(sizeof(struct table_slot) == 32, "a counter's slot");
static_assert(sizeof(struct table_segment) == 64, "a segment's head takes two slots");
static_assert(TABLE_SEGMENT_PAGES < (1u << DEPTH_SHIFT), "pages fit a directory word");
static_assert((sizeof(uint64_t) << DEPTH_LIMIT) <= (uint64_t)PAGES_BYTES << (TABLE_DIRECTORY_RUNS - 1),
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

static struct table_slot *slots_of(const struct table_segment *segment)
{
    return (struct table_slot *)((uintptr_t)segment + sizeof(*segment));
}

static uint32_t slots_in(uint32_t pages)
{
    return pages * (PAGES_BYTES / (uint32_t)sizeof(struct table_slot)) - 2;
}

/* Homes end before the slots do, so that what is pushed on seldom reaches the end. */
static uint32_t range_in(uint32_t slots)
{
    return slots - (slots / 8 < 64 ? slots / 8 : 64);
}

static uint32_t home_of(uint64_t rest, uint32_t depth, uint32_t range)
{
    uint64_t fraction = (rest << depth) >> 32;
    return (uint32_t)((fraction * range) >> 32);
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
    return slots_of(segment) + home_of(rest, word_depth(word), range_in(slots_in(pages)));
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

struct table_slot *table_slot_from(const struct table *table, struct table_segment *segment,
                                   uint64_t rest)
{
    struct table_slot *slots = slots_of(segment);
    for (uint32_t i = home_of(rest, segment->depth, segment->range); i < segment->slots; i++) {
        if (slots[i].meta != 0 && table_rest(table, slots[i].order) >= rest) {
            return &slots[i];
        }
    }
    return NULL;
}

struct table_slot *table_slot_first(const struct table_segment *segment)
{
    struct table_slot *slots = slots_of(segment);
    return slots[0].meta != 0 ? slots : table_slot_after(segment, slots);
}

struct table_slot *table_slot_after(const struct table_segment *segment,
                                    const struct table_slot *slot)
{
    struct table_slot *slots = slots_of(segment);
    for (uint32_t i = (uint32_t)(slot - slots) + 1; i < segment->slots; i++) {
        if (slots[i].meta != 0) {
            return &slots[i];
        }
    }
    return NULL;
}

/* ---- growing ---- */

/* Pages in which `count` counters lie at a load of 0.73; they grow at 0.82. */
static uint32_t pages_for(uint32_t count)
{
    uint64_t slots = (uint64_t)count * 1372 / 1000 + 1;
    uint64_t bytes = slots * sizeof(struct table_slot) + sizeof(struct table_segment);
    return (uint32_t)((bytes + PAGES_BYTES - 1) / PAGES_BYTES);
}

/* Slots [first, last) of a segment, to be laid out at another depth. */
struct part {
    const struct table *table;
    const struct table_slot *first;
    const struct table_slot *last;
    uint32_t depth;
    uint32_t count;
};

/* Lays the part out in `slots` slots (only in thought where `into` is NULL); the last slot stays
 * empty, as every search relies on. False: the end is reached too early. */
static bool lay_out(const struct part *part, uint32_t slots, struct table_slot *into)
{
    uint32_t range = range_in(slots);
    uint32_t next = 0;
    for (const struct table_slot *slot = part->first; slot < part->last; slot++) {
        if (slot->meta == 0) {
            continue;
        }
        uint32_t home = home_of(table_rest(part->table, slot->order), part->depth, range);
        next = home > next ? home : next;
        if (next >= slots - 1) {
            return false;
        }
        if (into != NULL) {
            into[next] = *slot;
        }
        next++;
    }
    return true;
}

/* At least `pages`; 0: more than a segment may have. */
static uint32_t pages_that_fit(const struct part *part, uint32_t pages)
{
    for (; pages <= TABLE_SEGMENT_PAGES; pages++) {
        if (lay_out(part, slots_in(pages), NULL)) {
            return pages;
        }
    }
    return 0;
}

static struct table_segment *segment_make(void *run, uint32_t pages, const struct part *part)
{
    struct table_segment *segment = run;
    uint32_t slots = slots_in(pages);
    *segment = (struct table_segment){.count = part->count,
                                      .slots = slots,
                                      .range = range_in(slots),
                                      .limit = slots * 82 / 100,
                                      .pages = pages,
                                      .depth = part->depth,
                                      .due_ns = INT64_MAX,
                                      .visit_ns = INT64_MIN};
    (void)lay_out(part, slots, slots_of(segment));
    return segment;
}

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

static struct part whole_part(const struct table *table, const struct table_segment *segment)
{
    const struct table_slot *slots = slots_of(segment);
    return (struct part){.table = table,
                         .first = slots,
                         .last = slots + segment->slots,
                         .depth = segment->depth,
                         .count = segment->count};
}

/* Moves a segment into a run of another size. */
static bool resize(struct table *table, struct pages *pages, struct table_segment *segment,
                   uint64_t rest, uint32_t to_pages)
{
    struct part part = whole_part(table, segment);
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

static void cut_in_two(const struct table *table, const struct table_segment *segment,
                       struct part halves[2])
{
    struct part whole = whole_part(table, segment);
    const struct table_slot *cut = whole.first;
    uint32_t left = 0;
    for (const struct table_slot *slot = whole.first; slot < whole.last; slot++) {
        bool right_half = ((table_rest(table, slot->order) << whole.depth) >> 63) != 0;
        if (slot->meta != 0 && !right_half) {
            left++;
            cut = slot + 1;
        }
    }
    halves[0] = halves[1] = whole;
    halves[0].depth = halves[1].depth = whole.depth + 1;
    halves[0].last = halves[1].first = cut;
    halves[0].count = left;
    halves[1].count = whole.count - left;
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
    struct part halves[2];
    cut_in_two(table, segment, halves);
    uint32_t left = pages_that_fit(&halves[0], pages_for(halves[0].count));
    uint32_t right = pages_that_fit(&halves[1], pages_for(halves[1].count));
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
    struct part part = whole_part(table, segment);
    uint32_t wanted = pages_for(segment->count + more);
    wanted = wanted > segment->pages ? wanted : segment->pages + 1;
    if (wanted > TABLE_SEGMENT_PAGES && segment->pages < TABLE_SEGMENT_PAGES * 7 / 8) {
        wanted = TABLE_SEGMENT_PAGES;
    }
    uint32_t fitting = pages_that_fit(&part, wanted);
    if (fitting == 0) {
        return split(table, pages, segment, rest);
    }
    return resize(table, pages, segment, rest, fitting);
}

static bool begin_segment(struct table *table, struct pages *pages, uint64_t rest)
{
    struct part nothing = {.table = table,
                           .depth = word_depth(word_at(table, rest))};
    void *run = pages_take(pages, PAGES_BYTES, PAGES_BYTES);
    if (run == NULL) {
        return false;
    }
    set_words(table, rest, nothing.depth, segment_make(run, 1, &nothing));
    table->segments++;
    return true;
}

/* Are there `more` empty slots between home and the end, not counting the last one? */
static bool has_room(const struct table_segment *segment, uint64_t rest, uint32_t more)
{
    if (segment->count + more > segment->limit) {
        return false;
    }
    const struct table_slot *slots = slots_of(segment);
    uint32_t i = home_of(rest, segment->depth, segment->range);
    for (; i < segment->slots - 1 && more > 0; i++) {
        more -= slots[i].meta == 0;
    }
    return more == 0;
}

bool table_reserve(struct table *table, struct pages *pages, struct table_key key, uint32_t more)
{
    uint64_t rest = table_rest(table, key.order);
    for (;;) {
        struct table_segment *segment = word_segment(word_at(table, rest));
        if (segment != NULL && has_room(segment, rest, more)) {
            return true;
        }
        bool moved = segment == NULL ? begin_segment(table, pages, rest)
                                     : grow(table, pages, segment, rest, more);
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
    struct table_slot *slots = slots_of(segment);
    struct table_slot *end = slot + 1;
    while (end->meta != 0 && home_of(table_rest(table, end->order), segment->depth,
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
    struct part part = whole_part(table, segment);
    uint32_t fitting = pages_that_fit(&part, pages_for(segment->count));
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
