/* A whole access log in memory, handed out by time. Lines of one instant keep their order. */
#ifndef TRAFFIC_SORTED_H
#define TRAFFIC_SORTED_H

#include "base/arena.h"
#include "traffic.h"

struct traffic_sorted_entry;

struct traffic_sorted {
    struct arena arena; /* the bytes of all items */
    struct traffic_sorted_entry *entries;
    size_t count;
    size_t capacity;
    size_t next; /* to be handed out */
};

void traffic_sorted_init(struct traffic_sorted *sorted);
void traffic_sorted_deinit(struct traffic_sorted *sorted);

/* Keeps a copy. False: out of memory. */
bool traffic_sorted_add(struct traffic_sorted *sorted, const struct traffic_item *item);
/* After the last one. */
void traffic_sorted_arrange(struct traffic_sorted *sorted);
/* False: that was all. */
bool traffic_sorted_next(struct traffic_sorted *sorted, struct traffic_item *item);

#endif
