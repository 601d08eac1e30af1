/* Which of the new file's numbers take over which counters of the old. Private to the engine. */
#ifndef ENGINE_ENGINE_MAP_H
#define ENGINE_ENGINE_MAP_H

#include "base/buf.h"
#include "engine/policy.h"

/* One entry a policy of `from`: the policy of `to` that holds its counters from now on, or
 * STORE_GONE. Free with free(). NULL: no memory. `log` (may be NULL) gets a line for each limit
 * that starts fresh. */
uint32_t *engine_map_create(const struct policy_set *from, const struct policy_set *to,
                            struct buf *log);

#endif
