/* The same traffic under two limits files, request by request. */
#ifndef SIMULATE_COMPARE_H
#define SIMULATE_COMPARE_H

#include "simulate.h"
#include "simulate_top.h"

/* Requests that one file decides otherwise than the other. */
struct simulate_compare_side {
    uint64_t requests;
    struct simulate_top keys;
    struct simulate_top routes;
};

struct simulate_compare {
    const struct hash_key *key;
    uint64_t both_allow;
    uint64_t both_refuse;
    uint64_t only_one_decides; /* the other answers with an error */
    struct simulate_compare_side refused; /* newly: the first file allows */
    struct simulate_compare_side allowed; /* newly: the first file refuses */
    struct buf scratch;
};

void simulate_compare_init(struct simulate_compare *compare, const struct hash_key *key);
void simulate_compare_deinit(struct simulate_compare *compare);

/* `before` and `after`: the answers to one item under the first and under the second file. */
void simulate_compare_add(struct simulate_compare *compare, const struct traffic_item *item,
                          const struct simulate_answer *before,
                          const struct simulate_answer *after);

#endif
