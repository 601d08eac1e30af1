/* Names to small numbers: an open-addressing table in an arena, for limit names, plan values,
 * exact keys and routes, and the keys of a mapping. It grows by itself; nothing is removed.
 *
 * What is stored comes from the operator's file; peers only look up. So the hash is quick rather
 * than keyed, and every hit is confirmed by comparing bytes. */
#ifndef ENGINE_NAME_INDEX_H
#define ENGINE_NAME_INDEX_H

#include "base/arena.h"
#include "base/status.h"

#define NAME_INDEX_NONE UINT32_MAX /* no such name; never a stored value */

struct name_index_slot {
    uint64_t hash;
    const uint8_t *name; /* not owned: outlives the index */
    uint32_t size;
    uint32_t space;
    uint32_t value; /* NAME_INDEX_NONE: empty */
};

struct name_index {
    struct arena *arena; /* where the slots live */
    struct name_index_slot *slots;
    uint32_t mask; /* slots - 1 */
    uint32_t count;
};

/* Room for `expected` names without growing. */
STATUS_CHECKED enum status name_index_init(struct name_index *index, struct arena *arena,
                                           uint32_t expected);

/* The same name in two spaces is two names. */
uint32_t name_index_find(const struct name_index *index, uint32_t space, struct slice name);

/* Adds a name that is not there yet; otherwise *existing is what is stored and nothing changes.
 * *existing is NAME_INDEX_NONE when it was added. */
STATUS_CHECKED enum status name_index_add(struct name_index *index, uint32_t space,
                                          struct slice name, uint32_t value, uint32_t *existing);

/* Stores `value` whether or not the name was there; *before is what was stored, or
 * NAME_INDEX_NONE. */
STATUS_CHECKED enum status name_index_replace(struct name_index *index, uint32_t space,
                                              struct slice name, uint32_t value,
                                              uint32_t *before);

#endif
