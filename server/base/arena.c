#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>

struct arena_chunk {
    struct arena_chunk *next;
    size_t used;
    size_t size;
    alignas(16) uint8_t bytes[];
};

void arena_init(struct arena *arena, size_t chunk_bytes, size_t max_bytes)
{
    *arena = (struct arena){.chunk_bytes = chunk_bytes, .max_bytes = max_bytes};
}

static void arena_free_from(struct arena *arena, struct arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct arena_chunk *next = chunk->next;
        arena->total_bytes -= chunk->size;
        free(chunk);
        chunk = next;
    }
}

void arena_deinit(struct arena *arena)
{
    arena_free_from(arena, arena->first);
    arena->first = NULL;
    arena->current = NULL;
}

void arena_reset(struct arena *arena)
{
    if (arena->first == NULL) {
        return;
    }
    arena_free_from(arena, arena->first->next);
    arena->first->next = NULL;
    arena->first->used = 0;
    arena->current = arena->first;
}

static struct arena_chunk *arena_grow(struct arena *arena, size_t size)
{
    size_t bytes = size > arena->chunk_bytes ? size : arena->chunk_bytes;
    if (arena->max_bytes > 0 && arena->total_bytes + bytes > arena->max_bytes) {
        return NULL;
    }
    struct arena_chunk *chunk = malloc(sizeof(*chunk) + bytes);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->next = NULL;
    chunk->used = 0;
    chunk->size = bytes;
    arena->total_bytes += bytes;
    if (arena->current == NULL) {
        arena->first = chunk;
    } else {
        arena->current->next = chunk;
    }
    arena->current = chunk;
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + 15) & ~(size_t)15;
    struct arena_chunk *chunk = arena->current;
    if (chunk == NULL || chunk->size - chunk->used < size) {
        chunk = arena_grow(arena, size);
        if (chunk == NULL) {
            return NULL;
        }
    }
    void *at = chunk->bytes + chunk->used;
    chunk->used += size;
    return at;
}

void *arena_zalloc(struct arena *arena, size_t size)
{
    void *at = arena_alloc(arena, size);
    if (at != NULL) {
        memset(at, 0, size);
    }
    return at;
}

char *arena_copy(struct arena *arena, struct slice bytes)
{
    char *at = arena_alloc(arena, bytes.size + 1);
    if (at != NULL) {
        if (bytes.size > 0) {
            memcpy(at, bytes.data, bytes.size);
        }
        at[bytes.size] = '\0';
    }
    return at;
}
