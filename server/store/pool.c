#include "store/pool.h"

#include <assert.h>

/* At the start of each chunk; a unit finds it by clearing its address's low bits. */
struct pool_chunk {
    struct pool_chunk *next;
    struct pool_chunk *previous;
    void *free;      /* units given back, linked through their first word */
    uint32_t used;   /* units out */
    uint32_t carved; /* units ever handed out; the rest was never touched */
};

#define CHUNK_HEAD_BYTES 64u

static_assert(sizeof(struct pool_chunk) <= CHUNK_HEAD_BYTES, "the head fits");

void pool_init(struct pool *pool, uint32_t unit_bytes)
{
    *pool = (struct pool){.unit_bytes = unit_bytes,
                          .chunk_units = (POOL_CHUNK_BYTES - CHUNK_HEAD_BYTES) / unit_bytes};
}

/* At the end: units are taken from the first chunk until it is full, so that those behind it, if
 * they are on the way to being empty, get there. */
static void link_chunk(struct pool *pool, struct pool_chunk *chunk)
{
    chunk->next = NULL;
    chunk->previous = pool->last;
    if (pool->last != NULL) {
        pool->last->next = chunk;
    } else {
        pool->open = chunk;
    }
    pool->last = chunk;
}

static void unlink_chunk(struct pool *pool, struct pool_chunk *chunk)
{
    if (chunk->previous != NULL) {
        chunk->previous->next = chunk->next;
    } else {
        pool->open = chunk->next;
    }
    if (chunk->next != NULL) {
        chunk->next->previous = chunk->previous;
    } else {
        pool->last = chunk->previous;
    }
}

static void drop_chunk(struct pool *pool, struct pages *pages, struct pool_chunk *chunk)
{
    unlink_chunk(pool, chunk);
    pool->room -= pool->chunk_units;
    pool->chunks--;
    pages_drop(pages, chunk, POOL_CHUNK_BYTES);
}

bool pool_reserve(struct pool *pool, struct pages *pages, uint32_t units)
{
    while (pool->room < units) {
        struct pool_chunk *chunk = pages_take(pages, POOL_CHUNK_BYTES, POOL_CHUNK_BYTES);
        if (chunk == NULL) {
            return false;
        }
        chunk->free = NULL;
        chunk->used = 0;
        chunk->carved = 0;
        link_chunk(pool, chunk);
        pool->room += pool->chunk_units;
        pool->chunks++;
    }
    return true;
}

void *pool_borrow(struct pool *pool)
{
    struct pool_chunk *chunk = pool->open;
    assert(chunk != NULL);
    void *unit = chunk->free;
    if (unit != NULL) {
        chunk->free = *(void **)unit;
    } else {
        unit = (uint8_t *)chunk + CHUNK_HEAD_BYTES + (size_t)chunk->carved * pool->unit_bytes;
        chunk->carved++;
    }
    chunk->used++;
    pool->room--;
    if (chunk->used == pool->chunk_units) {
        unlink_chunk(pool, chunk);
    }
    return unit;
}

/* One empty chunk stays at hand, so that a counter that comes and goes does not map and unmap a
 * chunk each time. */
void pool_give_back(struct pool *pool, struct pages *pages, void *unit)
{
    uintptr_t address = (uintptr_t)unit & ~(uintptr_t)(POOL_CHUNK_BYTES - 1);
    struct pool_chunk *chunk = (struct pool_chunk *)address;
    if (chunk->used == pool->chunk_units) {
        link_chunk(pool, chunk);
    }
    *(void **)unit = chunk->free;
    chunk->free = unit;
    chunk->used--;
    pool->room++;
    if (chunk->used == 0 && pool->room > pool->chunk_units) {
        drop_chunk(pool, pages, chunk);
    }
}

void pool_trim(struct pool *pool, struct pages *pages)
{
    struct pool_chunk *chunk = pool->open;
    if (pool->chunks == 1 && chunk != NULL && chunk->used == 0) {
        drop_chunk(pool, pages, chunk);
    }
}
