/* A whole image of the counters: a base. Private to persistence. */
#ifndef PERSIST_SNAPSHOT_H
#define PERSIST_SNAPSHOT_H

#include "persist/persist_state.h"

/* Writes base `number` aside. `complete` is called when all counters are in it, and returns the
 * number of an append made since, or 0: give up. Then the base is renamed into place. False: errno
 * says why (ECANCELED: given up). */
bool snapshot_write(struct persist *persist, uint64_t number,
                    uint64_t (*complete)(struct persist *persist), uint64_t *bytes);

#endif
