/* The counters and the engine over them, made from the configuration, the state directory and the
 * limits file. What goes wrong is said in one line on stderr. */
#ifndef CORE_H
#define CORE_H

#include "config.h"
#include "engine/engine.h"
#include "state.h"

/* The metrics and an empty store; its hash key is the state's, or a random one. What was made
 * before a failure is the caller's too. */
STATUS_CHECKED enum status core_make_store(const struct config *config, struct state *state,
                                           struct metrics **metrics, struct store **store);

/* The limits in force, and the counters of the state under them. */
STATUS_CHECKED enum status core_make_engine(struct config *config, struct state *state,
                                            struct metrics *metrics, struct store *store,
                                            struct engine **engine);

#endif
