/* Room where the store is bounded and full: first what is as if never used goes, which loses
 * nothing; then, if so configured, what is nearest to its reset. Locks one shard at a time, for a
 * few hundred slots. */
#ifndef STORE_STORE_ROOM_H
#define STORE_STORE_ROOM_H

#include "store/decide.h"
#include "store/store_state.h"

struct store_room {
    struct store *store;
    struct decide *decide;
    uint32_t promised;  /* counters that this request may make, already in store->counters */
    bool no_counters;   /* no more can be had: those without refuse */
    bool memory_freed;  /* idle counters were already freed for memory's sake */
    uint32_t evictions; /* for memory's sake */
    uint32_t victims;
    uint32_t victim[LIMITS_ROUTE_LIMITS_MAX]; /* policy ids of evicted counters */
};

void store_room_begin(struct store_room *room, struct store *store, struct decide *decide);
/* After store_hold_drop, when counters (memory) were wanted and forbidden: makes room or notes
 * that there is none. */
void store_room_for_counters(struct store_room *room);
void store_room_for_memory(struct store_room *room);
/* Gives back promises that were not needed; names the victims in the items. */
void store_room_end(struct store_room *room);

#endif
