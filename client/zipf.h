/* Chooses 0 … count - 1 as keys are chosen in real life: the n-th most popular one with a weight
 * of 1 / n^0.99. One choice costs the same however many there are (alias tables: A. J. Walker,
 * 1977). */
#ifndef ZIPF_H
#define ZIPF_H

#include "random.h"

#include <stdbool.h>

struct zipf {
    uint32_t count;
    struct zipf_column {
        uint32_t own;   /* of 2^32: how much of this column is its own */
        uint32_t other; /* whose the rest is */
    } * columns;
};

/* False without memory. count > 0. */
bool zipf_init(struct zipf *zipf, uint32_t count);
void zipf_deinit(struct zipf *zipf);

static inline uint32_t zipf_next(const struct zipf *zipf, struct random *random)
{
    uint32_t column = (uint32_t)random_below(random, zipf->count);
    bool own = (uint32_t)(random_next(random) >> 32) <= zipf->columns[column].own;
    return own ? column : zipf->columns[column].other;
}

#endif
