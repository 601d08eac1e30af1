/* The state directory in the daemon's life: whose it is, what was in it, and the threads that write
 * it. Ties persistence, which knows no limits, to the engine, which knows no files. */
#ifndef STATE_H
#define STATE_H

#include "config.h"
#include "engine/engine.h"
#include "persist/persist.h"

struct state {
    const struct config *config;
    struct state_dir dir;
    struct load load;
    struct persist *persist;
    bool open;    /* a directory is held, or waited for */
    bool waiting; /* another daemon holds it */
    bool read;    /* load is filled */
};

/* Takes the directory, or a place behind the daemon that holds it. Without a state (--no-state) all
 * of this does nothing. Failures are told on stderr. */
STATUS_CHECKED enum status state_open(struct state *state, const struct config *config);
/* Waits until the daemon before has written its state and left. False: told to stop meanwhile. */
bool state_wait(struct state *state);
/* Reads and tries the files. *key is that of the state, where there is one. */
STATUS_CHECKED enum status state_read(struct state *state, struct hash_key *key);
/* Puts what was read into the store, whose first policies are those of `set`, and starts to write
 * what changes. */
STATUS_CHECKED enum status state_start(struct state *state, struct store *store,
                                       const struct policy_set *set);

/* engine_reload, so that the state knows of it. */
STATUS_CHECKED enum status state_reload(struct state *state, struct engine *engine,
                                        struct policy_set **next, int64_t now_ns,
                                        struct buf *log);

/* Begins a write and a new base; does not wait. */
void state_snapshot(struct state *state);
/* Writes what changed and waits until it is on disk (admin thread). False: *why says why not. */
bool state_write_now(struct state *state, struct buf *why);
/* What metrics say of it; false: no state is kept. Any thread. */
bool state_stats(const struct state *state, struct persist_stats *out);
/* Does another daemon wait to take over? */
bool state_has_successor(const struct state *state);

/* Writes what is left and gives the directory free. False: something could not be written. */
bool state_stop(struct state *state);

#endif
