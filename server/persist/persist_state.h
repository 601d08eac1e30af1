/* What persist.c, journal.c and snapshot.c share. Private to persistence. */
#ifndef PERSIST_PERSIST_STATE_H
#define PERSIST_PERSIST_STATE_H

#include "persist/persist.h"
#include "persist/state_out.h"
#include "store/door_out.h"

#include <pthread.h>

/* The policies of one epoch, described. */
struct persist_epoch {
    uint64_t number;
    int64_t since_ns;
    struct buf description;
};

/* The journal in use; the journal thread's own. */
struct journal {
    struct state_out out;
    struct format_codec *codec;
    struct door_batch *batch;
    uint64_t append;    /* number of the latest one */
    uint64_t described; /* epochs up to this one are in this file */
    uint64_t records;   /* of the append at hand */
    bool begun;         /* it is not finished */
    bool put;           /* there is something in it */
};

struct persist {
    struct persist_config config;
    struct hash_key key;
    uint64_t state_id;
    uint64_t first_epoch; /* on disk, of the store's epoch 0 */

    /* Guards the epochs; held over a reload. */
    pthread_mutex_t policies_lock;
    struct persist_epoch *epochs;
    uint32_t epoch_count;

    struct journal journal;
    pthread_t journal_thread;
    pthread_t image_thread;
    uint32_t threads; /* started */

    /* All below is guarded by `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct persist_stats stats;
    uint64_t asked;          /* tickets given */
    uint64_t answered;       /* tickets that a finished try covers */
    bool answered_good;
    bool stopping;
    bool abandon;            /* the image that is being written is not wanted any more */
    uint64_t turns;          /* of the journal thread, begun */
    uint64_t good_turn;      /* the latest that wrote everything */
    uint64_t good_append;    /* its append */
    bool elsewhere;          /* another directory stands where the state's was */
    bool image_asked;        /* a new base is wanted */
    bool image_running;
    int64_t image_after_ns;  /* not before; ticks */
    uint64_t base_number;
    uint64_t base_bytes;
    uint64_t old_bytes;      /* of journals since the base, without the one in use */
    uint64_t journal_bytes;  /* of the one in use */
    uint64_t rotated_bytes;  /* of journals that the base at hand will replace */
    bool failing;            /* the latest try failed, and that was said */
};

/* The description of an epoch as a payload. False: not known. */
bool persist_describe(struct persist *persist, uint64_t epoch, struct buf *payload);
uint64_t persist_newest_epoch(struct persist *persist);

#endif
