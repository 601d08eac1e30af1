/* Memory that is given back all at once: bump allocation from chunks, a ceiling in bytes.
 * Nothing is freed singly. arena_reset keeps the first chunk, so a warm arena allocates nothing. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/slice.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *first;   /* kept by arena_reset */
    struct arena_chunk *current; /* allocation goes on here */
    size_t chunk_bytes;          /* size of an ordinary chunk */
    size_t max_bytes;            /* ceiling over all chunks; 0: none */
    size_t total_bytes;          /* held now */
};

void arena_init(struct arena *arena, size_t chunk_bytes, size_t max_bytes);
void arena_deinit(struct arena *arena);
/* Forgets everything allocated; keeps one chunk. */
void arena_reset(struct arena *arena);

/* 16-byte aligned, not zeroed; NULL at the ceiling or without memory. */
void *arena_alloc(struct arena *arena, size_t size);
/* The same, zeroed. */
void *arena_zalloc(struct arena *arena, size_t size);
/* A copy of `bytes` followed by a NUL; NULL as above. */
char *arena_copy(struct arena *arena, struct slice bytes);

#endif
