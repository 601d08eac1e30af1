/* A segment of a shard's table (table.h): its slots in ascending place, each at or behind its home.
 * How large it is for so many counters, where homes lie, how counters are laid out anew. */
#ifndef STORE_SEGMENT_H
#define STORE_SEGMENT_H

#include "store/pages.h"

#define SEGMENT_PAGES_MOST 64u

/* 32 bytes. meta 0: empty. What meta, time_ns and word hold is counter.h's. */
struct table_slot {
    uint64_t order;
    uint32_t tag;
    uint32_t meta;
    int64_t time_ns;
    uint64_t word;
};

/* The first 64 bytes of a segment's run. */
struct table_segment {
    uint32_t count;    /* counters stored */
    uint32_t slots;
    uint32_t range;    /* homes are below it; the rest takes what is pushed beyond */
    uint32_t limit;    /* grow above this count */
    uint32_t pages;
    uint32_t depth;    /* bits of the place that all its counters share, after the shard's */
    int64_t due_ns;    /* no counter is as if never used before this instant */
    int64_t visit_ns;  /* not worth a visit before this instant */
    uint64_t wish_bytes; /* it is full, and lacked so much to grow into; 0: not known */
    uint64_t reserved[2];
};

/* Slots [first, last) of a segment, to be laid out at a depth. */
struct segment_part {
    const struct table_slot *first;
    const struct table_slot *last;
    uint32_t skip; /* bits of the place that chose the shard */
    uint32_t depth;
    uint32_t count;
};

static inline struct table_slot *segment_slots(const struct table_segment *segment)
{
    return (struct table_slot *)((uintptr_t)segment + sizeof(*segment));
}

static inline uint32_t segment_slots_in(uint32_t pages)
{
    return pages * (PAGES_BYTES / (uint32_t)sizeof(struct table_slot)) - 2;
}

/* Homes end before the slots do, so that what is pushed on seldom reaches the end. */
static inline uint32_t segment_range_in(uint32_t slots)
{
    return slots - (slots / 8 < 64 ? slots / 8 : 64);
}

/* `rest`: the place without the bits that chose the shard. */
static inline uint32_t segment_home(uint64_t rest, uint32_t depth, uint32_t range)
{
    uint64_t fraction = (rest << depth) >> 32;
    return (uint32_t)((fraction * range) >> 32);
}

/* Pages for `count` counters at a comfortable load. */
uint32_t segment_pages_for(uint32_t count);
struct segment_part segment_whole(const struct table_segment *segment, uint32_t skip);
/* The lower and the upper half by the next bit of the place. */
void segment_cut(const struct table_segment *segment, uint32_t skip,
                 struct segment_part halves[2]);
/* The least number of pages, at least `pages`, in which the part can be laid out; 0: more than a
 * segment may have. */
uint32_t segment_fit(const struct segment_part *part, uint32_t pages);
/* Lays the part out in a zeroed run, after segment_fit. */
struct table_segment *segment_make(void *run, uint32_t pages, const struct segment_part *part);
/* Are there `more` empty slots between the home of `rest` and the end? */
bool segment_has_room(const struct table_segment *segment, uint64_t rest, uint32_t more);

#endif
