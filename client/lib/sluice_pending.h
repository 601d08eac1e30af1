/* Questions on their way, found by id. Ids are given out in order and all questions wait equally
 * long, so the oldest is always the first to be late: a ring serves both. */
#ifndef SLUICE_PENDING_H
#define SLUICE_PENDING_H

#include "sluice.h"

struct sluice_pending_item {
    bool live;
    unsigned kind; /* enum sluice_encode_kind */
    size_t count;  /* questions */
    struct sluice_answer *answers; /* a batch's, for its callback; malloc'ed */
    int64_t asked_ns;
    void *context;
    union {
        void (*one)(void *context, const struct sluice_answer *answer);
        void (*many)(void *context, const struct sluice_answer *answers, size_t count);
        void (*reset)(void *context, const struct sluice_reset_answer *answer);
    } answered;
};

struct sluice_pending {
    struct sluice_pending_item *items; /* a power of two of them; id & mask */
    uint64_t mask;
    uint64_t first; /* id of the oldest that may be live */
    uint64_t next;  /* id of the next one; ids begin at 1 */
    uint64_t live;
};

void sluice_pending_init(struct sluice_pending *pending);
void sluice_pending_deinit(struct sluice_pending *pending);

/* Takes an item and gives it `next` as its id. SLUICE_BUSY at `max` ids between the oldest and
 * it. */
enum sluice_status sluice_pending_add(struct sluice_pending *pending,
                                      const struct sluice_pending_item *item, uint64_t max);

/* Takes a question out; false: nobody waits under this id. */
bool sluice_pending_take(struct sluice_pending *pending, uint64_t id,
                         struct sluice_pending_item *item);

/* The oldest one, which stays; NULL: none. */
const struct sluice_pending_item *sluice_pending_oldest(const struct sluice_pending *pending);

#endif
