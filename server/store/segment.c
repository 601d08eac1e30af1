#include "store/segment.h"

#include <assert.h>

static_assert(sizeof(struct table_slot) == 32, "a counter's slot");
static_assert(sizeof(struct table_segment) == 64, "a segment's head takes two slots");

/* Pages in which `count` counters lie at a load of 0.73; they grow at 0.82. */
uint32_t segment_pages_for(uint32_t count)
{
    uint64_t slots = (uint64_t)count * 1372 / 1000 + 1;
    uint64_t bytes = slots * sizeof(struct table_slot) + sizeof(struct table_segment);
    return (uint32_t)((bytes + PAGES_BYTES - 1) / PAGES_BYTES);
}

/* Lays the part out in `slots` slots (only in thought where `into` is NULL); the last slot stays
 * empty, as every search relies on. False: the end is reached too early. */
static bool lay_out(const struct segment_part *part, uint32_t slots, struct table_slot *into)
{
    uint32_t range = segment_range_in(slots);
    uint32_t next = 0;
    for (const struct table_slot *slot = part->first; slot < part->last; slot++) {
        if (slot->meta == 0) {
            continue;
        }
        uint32_t home = segment_home(~slot->order << part->skip, part->depth, range);
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

uint32_t segment_fit(const struct segment_part *part, uint32_t pages)
{
    for (; pages <= SEGMENT_PAGES_MOST; pages++) {
        if (lay_out(part, segment_slots_in(pages), NULL)) {
            return pages;
        }
    }
    return 0;
}

struct table_segment *segment_make(void *run, uint32_t pages, const struct segment_part *part)
{
    struct table_segment *segment = run;
    uint32_t slots = segment_slots_in(pages);
    *segment = (struct table_segment){.count = part->count,
                                      .slots = slots,
                                      .range = segment_range_in(slots),
                                      .limit = slots * 82 / 100,
                                      .pages = pages,
                                      .depth = part->depth,
                                      .due_ns = INT64_MAX,
                                      .visit_ns = INT64_MIN};
    (void)lay_out(part, slots, segment_slots(segment));
    return segment;
}

struct segment_part segment_whole(const struct table_segment *segment, uint32_t skip)
{
    const struct table_slot *slots = segment_slots(segment);
    return (struct segment_part){.first = slots,
                                 .last = slots + segment->slots,
                                 .skip = skip,
                                 .depth = segment->depth,
                                 .count = segment->count};
}

void segment_cut(const struct table_segment *segment, uint32_t skip,
                 struct segment_part halves[2])
{
    struct segment_part whole = segment_whole(segment, skip);
    const struct table_slot *cut = whole.first;
    uint32_t left = 0;
    for (const struct table_slot *slot = whole.first; slot < whole.last; slot++) {
        bool right_half = (((~slot->order << skip) << whole.depth) >> 63) != 0;
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

/* The last slot does not count: it stays empty. */
bool segment_has_room(const struct table_segment *segment, uint64_t rest, uint32_t more)
{
    if (segment->count + more > segment->limit) {
        return false;
    }
    const struct table_slot *slots = segment_slots(segment);
    uint32_t i = segment_home(rest, segment->depth, segment->range);
    for (; i < segment->slots - 1 && more > 0; i++) {
        more -= slots[i].meta == 0;
    }
    return more == 0;
}

