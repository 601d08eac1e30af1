/* Putting a new policy set in force, and freeing old ones (the reasoning: engine_state.h). */
#include "engine/engine_reload.h"

#include "engine/engine_map.h"
#include "engine/engine_set.h"

#include <stdlib.h>

static void destroy_change(struct engine_change **change)
{
    if (*change != NULL) {
        free((*change)->map);
        free(*change);
        *change = NULL;
    }
}

static struct engine_change *create_change(const struct policy_set *from,
                                           const struct policy_set *to, int64_t at_ns,
                                           struct buf *log)
{
    struct engine_change *change = calloc(1, sizeof(*change));
    if (change == NULL) {
        return NULL;
    }
    change->map = engine_map_create(from, to, log);
    if (change->map == NULL) {
        free(change);
        return NULL;
    }
    change->store.next = &to->policies;
    change->store.map = change->map;
    change->store.at_ns = at_ns;
    return change;
}

/* The smallest sequence that a worker holds. */
static uint64_t oldest_held(const struct engine *engine)
{
    uint64_t oldest = UINT64_MAX;
    for (uint32_t i = 0; i < LIMITS_WORKERS_MAX; i++) {
        uint64_t held = shared_number_get(&engine->slots[i].held);
        oldest = held != 0 && held < oldest ? held : oldest;
    }
    return oldest;
}

static void drop_oldest(struct engine *engine)
{
    struct engine_set *oldest = engine->oldest;
    engine->oldest = oldest->newer;
    engine_set_destroy(&oldest);
}

void engine_reload_reclaim(struct engine *engine)
{
    if (engine->oldest == engine->newest) {
        return;
    }
    if (engine->change != NULL && store_is_converted(engine->store)) {
        destroy_change(&engine->change);
    }
    uint64_t held = oldest_held(engine);
    while (engine->oldest != engine->newest && engine->oldest->sequence < held) {
        if (engine->change != NULL && engine->oldest->newer == engine->newest) {
            return;
        }
        drop_oldest(engine);
    }
}

void engine_reload_finish(struct engine *engine)
{
    destroy_change(&engine->change);
    while (engine->oldest != engine->newest) {
        drop_oldest(engine);
    }
}

enum status engine_reload(struct engine *engine, struct policy_set **next, int64_t now_ns,
                          struct buf *log)
{
    engine_reload_reclaim(engine);
    if (engine->change != NULL) {
        return STATUS_UNAVAILABLE;
    }
    struct engine_set *set = engine_set_create(*next, engine->newest->sequence + 1);
    if (set == NULL) {
        return STATUS_NO_MEMORY;
    }
    enum status status = STATUS_NO_MEMORY;
    struct engine_change *change =
        create_change(engine->newest->policies, *next, now_ns, log);
    if (change != NULL) {
        status = store_swap(engine->store, &change->store);
    }
    if (status != STATUS_OK) {
        destroy_change(&change);
        set->policies = NULL; /* stays the caller's */
        engine_set_destroy(&set);
        return status;
    }
    shared_pointer_set(&engine->current, set);
    shared_number_set(&engine->sequence, set->sequence);
    engine->newest->newer = set;
    engine->newest = set;
    engine->change = change;
    *next = NULL;
    return STATUS_OK;
}
