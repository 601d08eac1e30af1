#include "simulate_top.h"

#include <stdlib.h>

#define SLOTS ((size_t)8192)
#define USED_MOST (SLOTS / 2)

void simulate_top_init(struct simulate_top *top)
{
    *top = (struct simulate_top){.slots = NULL};
}

static void free_slots(struct simulate_top_entry *slots)
{
    for (size_t i = 0; slots != NULL && i < SLOTS; i++) {
        free(slots[i].label);
    }
    free(slots);
}

void simulate_top_deinit(struct simulate_top *top)
{
    free_slots(top->slots);
    *top = (struct simulate_top){.slots = NULL};
}

/* The slot of `id`, or the free one where it belongs. */
static struct simulate_top_entry *find(struct simulate_top_entry *slots, struct fingerprint id)
{
    size_t at = (size_t)id.lo & (SLOTS - 1);
    while (slots[at].count != 0 && (slots[at].id.lo != id.lo || slots[at].id.hi != id.hi)) {
        at = (at + 1) & (SLOTS - 1);
    }
    return &slots[at];
}

static int by_count(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* A count that half of the entries do not exceed; 0 without memory. */
static uint64_t median(const struct simulate_top *top)
{
    uint64_t *counts = malloc(USED_MOST * sizeof(*counts));
    size_t count = 0;
    if (counts == NULL) {
        return 0;
    }
    for (size_t i = 0; i < SLOTS && count < USED_MOST; i++) {
        if (top->slots[i].count != 0) {
            counts[count++] = top->slots[i].count;
        }
    }
    qsort(counts, count, sizeof(*counts), by_count);
    uint64_t middle = counts[count / 2];
    free(counts);
    return middle;
}

/* Takes the median off every count and forgets what is left with nothing. */
static bool forget_rare(struct simulate_top *top)
{
    uint64_t off = median(top);
    struct simulate_top_entry *slots = off == 0 ? NULL : calloc(SLOTS, sizeof(*slots));
    if (slots == NULL) {
        return false;
    }
    top->used = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        struct simulate_top_entry *entry = &top->slots[i];
        if (entry->count > off) {
            struct simulate_top_entry *to = find(slots, entry->id);
            *to = *entry;
            to->count -= off;
            entry->label = NULL;
            top->used++;
        }
    }
    free_slots(top->slots);
    top->slots = slots;
    top->missed += off;
    return true;
}

static bool make_room(struct simulate_top *top)
{
    if (top->slots == NULL) {
        top->slots = calloc(SLOTS, sizeof(*top->slots));
        return top->slots != NULL;
    }
    return top->used < USED_MOST || forget_rare(top);
}

void simulate_top_add(struct simulate_top *top, struct fingerprint id, struct slice label)
{
    struct simulate_top_entry *entry = top->slots == NULL ? NULL : find(top->slots, id);
    if (entry != NULL && entry->count != 0) {
        entry->count++;
        return;
    }
    char *copy = make_room(top) ? strndup((const char *)label.data, label.size) : NULL;
    if (copy == NULL) {
        top->failed = true;
        return;
    }
    *find(top->slots, id) = (struct simulate_top_entry){.id = id, .count = 1, .label = copy};
    top->used++;
}

/* Does a come before b? The label decides between equals, so that every run says the same. */
static bool is_before(const struct simulate_top_entry *a, const struct simulate_top_entry *b)
{
    return a->count != b->count ? a->count > b->count : strcmp(a->label, b->label) < 0;
}

size_t simulate_top_best(const struct simulate_top *top, struct simulate_top_entry *out,
                         size_t most)
{
    size_t count = 0;
    for (size_t i = 0; top->slots != NULL && i < SLOTS; i++) {
        const struct simulate_top_entry *entry = &top->slots[i];
        if (entry->count == 0 || (count == most && !is_before(entry, &out[count - 1]))) {
            continue;
        }
        size_t at = count < most ? count++ : count - 1;
        while (at > 0 && is_before(entry, &out[at - 1])) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = *entry;
    }
    return count;
}
