/* Where in a shard counters have changed since they were last written down: one bit for each
 * stretch of places. Finding what changed then costs by what changed, not by what is stored; a mark
 * costs one bit set under the lock that is held already. */
#ifndef STORE_DIRTY_H
#define STORE_DIRTY_H

#include <stdbool.h>
#include <stdint.h>

#define DIRTY_BITS 11u /* stretches a shard, as a power of two */
#define DIRTY_STRETCHES (1u << DIRTY_BITS)

struct dirty {
    bool on;     /* a state is kept */
    bool forgot; /* a counter went whose last change was never written: only a whole image helps */
    uint64_t words[DIRTY_STRETCHES / 64];
};

static inline uint32_t dirty_stretch(uint64_t rest)
{
    return (uint32_t)(rest >> (64 - DIRTY_BITS));
}

static inline uint64_t dirty_start(uint32_t stretch)
{
    return (uint64_t)stretch << (64 - DIRTY_BITS);
}

/* `rest`: a place without the shard's bits. */
static inline void dirty_mark(struct dirty *dirty, uint64_t rest)
{
    uint32_t stretch = dirty_stretch(rest);
    if (dirty->on) {
        dirty->words[stretch / 64] |= UINT64_C(1) << (stretch % 64);
    }
}

/* The first marked stretch from *stretch on, its mark taken away. False: none. */
static inline bool dirty_take(struct dirty *dirty, uint32_t *stretch)
{
    uint32_t at = *stretch;
    while (at < DIRTY_STRETCHES) {
        uint64_t word = dirty->words[at / 64] >> (at % 64);
        if (word != 0) {
            at += (uint32_t)__builtin_ctzll(word);
            dirty->words[at / 64] &= ~(UINT64_C(1) << (at % 64));
            *stretch = at;
            return true;
        }
        at = (at / 64 + 1) * 64;
    }
    return false;
}

#endif
