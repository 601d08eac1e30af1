/* What was met most often, in bounded memory. Exact while there are few; then the rarest are
 * forgotten (J. Misra and D. Gries, "Finding repeated elements", 1982, in batches): each count
 * shown may be too low by at most `missed`, never too high. */
#ifndef SIMULATE_TOP_H
#define SIMULATE_TOP_H

#include "base/buf.h"
#include "base/hash.h"

struct simulate_top_entry {
    struct fingerprint id;
    uint64_t count; /* 0: a free slot */
    char *label;    /* escaped, for people */
};

struct simulate_top {
    struct simulate_top_entry *slots; /* open addressing; NULL until used */
    size_t used;
    uint64_t missed;
    bool failed; /* out of memory: something is missing */
};

void simulate_top_init(struct simulate_top *top);
void simulate_top_deinit(struct simulate_top *top);

/* `label` is copied when the thing is new. */
void simulate_top_add(struct simulate_top *top, struct fingerprint id, struct slice label);

/* The `most` entries with the highest counts, highest first; returns how many. */
size_t simulate_top_best(const struct simulate_top *top, struct simulate_top_entry *out,
                         size_t most);

#endif
