/* A policy set written down for the state directory: as much of it as a later start needs to take
 * counters over as a reload does (engine_map.h).
 *
 *   u32 policies | u32 first builtin | u32 builtins
 *   each policy:   u8 algorithm | u64 L | u64 B | i64 W | u32 calendar + 1 (0: none)
 *   u32 calendars  each: u8 unit | u32 shifts | each: i64 from | i32 offset
 *   u32 limits     each: text name | u8 algorithm | u32 parts, each: u8 source | text attribute
 *                  u8 folds | u32 folded part | u8 v4 bits | u8 v6 bits
 *                  variant (own) | text plan attribute
 *                  u32 plans, each: variant | u32 overrides, each: variant
 *   variant        u8 kind | u32 policy | text label          text: u32 size | bytes
 *
 * Little-endian. Part of the state's format: see persist/format.h before changing it. */
#ifndef ENGINE_ENGINE_DESCRIBE_H
#define ENGINE_ENGINE_DESCRIBE_H

#include "base/buf.h"
#include "engine/policy.h"

void engine_describe_write(const struct policy_set *set, struct buf *out);

/* A policy set without routes, which decides nothing. STATUS_INVALID: not what
 * engine_describe_write writes. */
STATUS_CHECKED enum status engine_describe_read(struct slice description,
                                                struct policy_set **out);

#endif
