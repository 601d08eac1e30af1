/* The engine's own data, shared by its files. Private to the engine.
 *
 * Which policy set is in force, and when an old one may be freed
 *
 *   control thread                            worker
 *   store_swap: the store takes the new set   enter: held = sequence, until it is seen unchanged;
 *   current  = new set                               then set = current
 *   sequence = its number                     decide … decide
 *   later: frees sets older than every held   leave: held = 0
 *
 * A worker first says that it holds sequence s and then looks whether s is still the latest. If it
 * is, every later reload comes after that word, and so does the control thread's look at `held`
 * before it frees anything: sets from s on stay. `current` is set before `sequence`, so what the
 * worker then reads there is s or newer. A worker that is told STATUS_STALE goes on with a newer
 * set than the one it holds by number; that one is protected as well, because sets are freed only
 * from the oldest on and only below the smallest number held.
 *
 * Besides, the set that the latest change converts from stays until the store says that no counter
 * refers to it any more.
 *
 * Between store_swap and `current` a worker can meet STATUS_STALE and not find the new set yet; it
 * waits: the control thread does nothing else in between. */
#ifndef ENGINE_ENGINE_STATE_H
#define ENGINE_ENGINE_STATE_H

#include "base/shared.h"
#include "engine/engine_plan.h"

#include <stdalign.h>

enum { ENGINE_LINE_BYTES = 64 };

/* What a worker tells the control thread; a cache line of its own. */
struct engine_slot {
    alignas(ENGINE_LINE_BYTES) struct shared_number held; /* sequence of a set; 0: none */
    struct shared_number taken;                           /* 1: belongs to a worker */
};

/* A reload that the store is still applying. */
struct engine_change {
    struct store_change store;
    uint32_t *map;
};

struct engine {
    struct store *store;
    struct metrics *metrics;
    struct shared_pointer current; /* struct engine_set *: in force */
    struct shared_number sequence; /* of the set in force */

    /* The control thread's own. */
    struct engine_set *oldest;    /* -> newer -> … -> newest */
    struct engine_set *newest;    /* the one in force */
    struct engine_change *change; /* from the set before newest; NULL: all is converted */

    struct engine_slot slots[LIMITS_WORKERS_MAX];
};

struct engine_worker {
    struct engine *engine;
    struct metrics_worker *metrics;
    struct engine_slot *slot;
    uint64_t held;                /* what slot->held says */
    const struct engine_set *set; /* NULL: not entered */
    struct engine_scratch scratch;
};

#endif
