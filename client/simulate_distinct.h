/* How many different things were seen, in bounded memory: exactly up to some tens of thousands,
 * then by HyperLogLog (P. Flajolet et al., "HyperLogLog: the analysis of a near-optimal
 * cardinality estimation algorithm", 2007) to about one percent. */
#ifndef SIMULATE_DISTINCT_H
#define SIMULATE_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct simulate_distinct {
    uint64_t *hashes;   /* open addressing; 0: free. NULL once estimating */
    size_t capacity;    /* a power of two */
    size_t count;
    uint8_t *registers; /* NULL while exact */
    bool failed;        /* out of memory: the count is too low */
};

void simulate_distinct_init(struct simulate_distinct *distinct);
void simulate_distinct_deinit(struct simulate_distinct *distinct);

/* `hash`: uniform, the same for the same thing. */
void simulate_distinct_add(struct simulate_distinct *distinct, uint64_t hash);
/* *exact: whether it is one. */
uint64_t simulate_distinct_count(const struct simulate_distinct *distinct, bool *exact);

#endif
