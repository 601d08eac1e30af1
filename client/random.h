/* Cheap numbers that look random, for choosing keys. Not for secrets. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

__extension__ typedef unsigned __int128 random_u128;

struct random {
    uint64_t state; /* any seed */
};

/* A Weyl sequence, folded by a wide multiplication. */
static inline uint64_t random_next(struct random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    random_u128 wide = (random_u128)random->state * (random->state ^ UINT64_C(0xd1342543de82ef95));
    return (uint64_t)(wide >> 64) ^ (uint64_t)wide;
}

/* 0 … bound - 1; bound > 0. */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
    return (uint64_t)(((random_u128)random_next(random) * bound) >> 64);
}

#endif
