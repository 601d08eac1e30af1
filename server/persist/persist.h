/* Keeps the counters on disk while the daemon runs.
 *
 *   journal thread   every interval: what changed since the last time goes behind the journal
 *   image thread     when the journals have outgrown the base: a new base, in the background
 *
 *      base 4   journal 4 | journal 5 ...            base 5 is being written; journal 5 was begun
 *      `--------- loaded -------------'              first, and gets what changes meanwhile
 *               base 5      journal 5 ...            once base 5 is safe: 4 goes
 *
 * Neither holds up a request: they read the store through its door (store/door_out.h). A write that
 * fails is counted, told once, and tried again each interval; counters that changed meanwhile are
 * still marked.
 *
 * After a crash at most what changed within the interval and the time of the latest write is lost;
 * after persist_destroy nothing. */
#ifndef PERSIST_PERSIST_H
#define PERSIST_PERSIST_H

#include "persist/load.h"

struct persist;

struct persist_config {
    struct store *store;
    struct state_dir *dir;   /* held; borrowed */
    const struct load *load; /* what was there; only read during persist_create */
    int64_t interval_ns;
    int64_t now_ns;          /* since when the policies are in force: load_into's now */
    struct slice policies;   /* their description */
    /* Called from a thread of its own after every try to write; may be NULL. */
    void (*tried)(void *context);
    void *context;
};

/* Begins a new journal behind what was loaded (and a first base where nothing was), so that a
 * directory which cannot be written is known now, and starts the threads. On failure *why holds one
 * sentence. */
STATUS_CHECKED enum status persist_create(const struct persist_config *config,
                                          struct persist **out, struct buf *why);

/* Writes what is left, seals the state, ends the threads. False: it could not be written (*why says
 * so). */
bool persist_destroy(struct persist **persist, struct buf *why);

/* Around a reload: between the two no counter is written down. */
void persist_reload_begin(struct persist *persist);
void persist_reload_end(struct persist *persist, bool applied, struct slice policies,
                        int64_t now_ns);

/* Asks for a write now (`image`: and for a new base behind it). Returns a ticket. */
uint64_t persist_request(struct persist *persist, bool image);
/* Was there a try that began after the ticket was given? *good: it wrote. */
bool persist_answer(struct persist *persist, uint64_t ticket, bool *good);

/* The same, waiting for the outcome; true: what was counted before the call is on disk. */
bool persist_write_now(struct persist *persist);

struct persist_stats {
    uint64_t written; /* tries */
    uint64_t failed;
    int64_t last_success_ns; /* 0: none yet */
    int64_t duration_ns;     /* of the latest write */
    uint64_t bytes;          /* of the state: base and journals */
};
void persist_stats(struct persist *persist, struct persist_stats *out);

#endif
