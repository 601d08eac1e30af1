/* The journal: what changed, one append after another. Private to persistence. */
#ifndef PERSIST_JOURNAL_H
#define PERSIST_JOURNAL_H

#include "persist/persist_state.h"

bool journal_init(struct journal *journal);
void journal_deinit(struct journal *journal);

/* Begins file `number` in place of the one in use, behind its `previous_bytes` that count. False:
 * errno says why, and the one in use stays. */
bool journal_begin(struct persist *persist, uint64_t number, uint64_t previous,
                   uint64_t previous_bytes);

/* Appends what changed. After false (errno says why) the next try goes on with this append.
 * *unsafe: the disk may have lost something that was written before. */
bool journal_append(struct persist *persist, bool *unsafe);

#endif
