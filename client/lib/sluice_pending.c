#include "sluice_pending.h"

#include <stdlib.h>

#define FIRST_COUNT 64u

void sluice_pending_init(struct sluice_pending *pending)
{
    *pending = (struct sluice_pending){.first = 1, .next = 1};
}

void sluice_pending_deinit(struct sluice_pending *pending)
{
    free(pending->items);
    pending->items = NULL;
}

/* Twice as many places; each item moves to where its id says. */
static bool grow(struct sluice_pending *pending)
{
    uint64_t count = pending->items == NULL ? FIRST_COUNT : (pending->mask + 1) * 2;
    struct sluice_pending_item *items = calloc(count, sizeof *items);
    if (items == NULL) {
        return false;
    }
    for (uint64_t id = pending->first; id < pending->next; id++) {
        items[id & (count - 1)] = pending->items[id & pending->mask];
    }
    free(pending->items);
    pending->items = items;
    pending->mask = count - 1;
    return true;
}

enum sluice_status sluice_pending_add(struct sluice_pending *pending,
                                      const struct sluice_pending_item *item, uint64_t max)
{
    uint64_t used = pending->next - pending->first;
    if (used >= max) {
        return SLUICE_BUSY;
    }
    if ((pending->items == NULL || used == pending->mask + 1) && !grow(pending)) {
        return SLUICE_NO_MEMORY;
    }
    pending->items[pending->next & pending->mask] = *item;
    pending->items[pending->next & pending->mask].live = true;
    pending->next++;
    pending->live++;
    return SLUICE_OK;
}

bool sluice_pending_take(struct sluice_pending *pending, uint64_t id,
                         struct sluice_pending_item *item)
{
    if (id < pending->first || id >= pending->next ||
        !pending->items[id & pending->mask].live) {
        return false;
    }
    *item = pending->items[id & pending->mask];
    pending->items[id & pending->mask].live = false;
    pending->live--;
    while (pending->first < pending->next &&
           !pending->items[pending->first & pending->mask].live) {
        pending->first++;
    }
    return true;
}

const struct sluice_pending_item *sluice_pending_oldest(const struct sluice_pending *pending)
{
    return pending->live == 0 ? NULL : &pending->items[pending->first & pending->mask];
}
