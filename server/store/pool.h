/* Units of one size carved from aligned chunks: cells of wide counters, blocks of logs. A chunk
 * whose last unit comes back is given back as a whole. No lock, no allocation of its own. */
#ifndef STORE_POOL_H
#define STORE_POOL_H

#include "store/pages.h"

#define POOL_CHUNK_BYTES (4 * PAGES_BYTES)

struct pool_chunk;

struct pool {
    struct pool_chunk *open; /* chunks with room, doubly linked; the first is used */
    struct pool_chunk *last;
    uint32_t unit_bytes;     /* 16 to 2048 */
    uint32_t chunk_units;
    uint64_t room;           /* units that can be had without memory */
    uint64_t chunks;
};

void pool_init(struct pool *pool, uint32_t unit_bytes);
/* Is there room for `units` more? If not, a chunk is taken from `pages`; false: it has none. */
bool pool_reserve(struct pool *pool, struct pages *pages, uint32_t units);
/* After pool_reserve; never fails. Not zeroed. */
void *pool_borrow(struct pool *pool);
void pool_give_back(struct pool *pool, struct pages *pages, void *unit);
/* Drops the one empty chunk a pool keeps at hand. */
void pool_trim(struct pool *pool, struct pages *pages);

#endif
