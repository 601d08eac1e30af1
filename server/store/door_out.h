/* The door through which counters leave: for the files of a state directory. A few hundred slots of
 * one shard under one hold of its lock, so that requests are never kept waiting.
 *
 *   DOOR_CHANGED   what changed since it last left this way, found by the shards' marks (dirty.h);
 *                  of a log only the entries that are new. One at a time.
 *   DOOR_ALL       every counter, in the table's order. A log longer than DOOR_LOG_PIECE is not
 *                  copied but marked as changed in the whole, so that it leaves in pieces with the
 *                  next DOOR_CHANGED.
 *
 * Each counter leaves as it stood at one instant during the export, under the policies in force
 * then. Counters of one request may leave in different exports. Any thread may call. */
#ifndef STORE_DOOR_OUT_H
#define STORE_DOOR_OUT_H

#include "store/door_batch.h"
#include "store/store.h"

enum door_what { DOOR_ALL, DOOR_CHANGED };

/* All zero: the beginning. */
struct door_out_cursor {
    uint32_t shard;
    uint32_t stretch; /* DOOR_CHANGED: of the shard's marks */
    bool inside;      /* in the middle of it */
    uint64_t rest;    /* next place in the shard */
};

/* From now on the store marks what changes. Before any request. */
void door_out_track(struct store *store);

/* Empties the batch and fills it from the cursor on; it may stay empty. False: that was the end,
 * or *status is not STATUS_OK (no memory to bring a counter over to new policies). */
bool door_out_next(struct store *store, struct door_out_cursor *cursor, enum door_what what,
                   struct door_batch *batch, enum status *status);

/* Gives an export of DOOR_CHANGED up: the next one finds what this one did not come to. */
void door_out_stop(struct store *store, const struct door_out_cursor *cursor);

/* Did a counter go whose last change never left? Then only a whole image helps. Asks once. */
bool door_out_forgot(struct store *store);

#endif
