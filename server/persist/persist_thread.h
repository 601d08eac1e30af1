/* The threads that write. Private to persistence. */
#ifndef PERSIST_PERSIST_THREAD_H
#define PERSIST_PERSIST_THREAD_H

#include "persist/persist_state.h"

STATUS_CHECKED enum status persist_thread_start(struct persist *persist);
/* Ends them; an image that is being written is given up. */
void persist_thread_stop(struct persist *persist);
/* After that: the last append, and the seal. */
bool persist_thread_finish(struct persist *persist, struct buf *why);

#endif
