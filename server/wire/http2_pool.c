#include "wire/http2_pool.h"

#include "wire/http2_stream.h"

#include <assert.h>
#include <stdlib.h>

/* Blocks come in sizes of whole steps, each with a head that says which. */
#define HTTP2_POOL_STEP 64u
#define HTTP2_POOL_SIZES 32u
#define HTTP2_POOL_SPARE_BYTES (1024u * 1024)
#define HTTP2_POOL_SPARE_STREAMS 1024u

struct http2_pool_block {
    _Alignas(16) union {
        size_t bytes; /* with this head, while it is in use */
        struct http2_pool_block *next;
    } head;
};

static_assert(sizeof(struct http2_pool_block) == 16, "what follows a head is aligned");

struct http2_pool {
    struct http2_pool_block *spare[HTTP2_POOL_SIZES]; /* [i]: blocks of i + 1 steps */
    size_t spare_bytes;
    struct http2_stream *streams; /* through next */
    uint32_t stream_count;
};

struct http2_pool *http2_pool_create(void)
{
    return calloc(1, sizeof(struct http2_pool));
}

void http2_pool_destroy(struct http2_pool **pool_at)
{
    struct http2_pool *pool = *pool_at;
    struct http2_stream *stream;
    if (pool == NULL) {
        return;
    }
    for (unsigned i = 0; i < HTTP2_POOL_SIZES; i++) {
        while (pool->spare[i] != NULL) {
            struct http2_pool_block *block = pool->spare[i];
            pool->spare[i] = block->head.next;
            free(block);
        }
    }
    while ((stream = http2_pool_take_stream(pool)) != NULL) {
        http2_stream_destroy(&stream);
    }
    free(pool);
    *pool_at = NULL;
}

/* Which list blocks of so many bytes are on; HTTP2_POOL_SIZES: none. */
static size_t http2_pool_index(size_t bytes)
{
    size_t index = (bytes - 1) / HTTP2_POOL_STEP;
    return index < HTTP2_POOL_SIZES ? index : HTTP2_POOL_SIZES;
}

static struct http2_pool_block *http2_pool_block(const void *at)
{
    return (struct http2_pool_block *)(uintptr_t)at - 1;
}

void *http2_pool_take(struct http2_pool *pool, size_t size)
{
    size_t bytes = size + sizeof(struct http2_pool_block);
    size_t index = http2_pool_index(bytes);
    struct http2_pool_block *block;
    if (index == HTTP2_POOL_SIZES) {
        block = malloc(bytes);
    } else {
        bytes = (index + 1) * HTTP2_POOL_STEP;
        block = pool->spare[index];
        if (block != NULL) {
            pool->spare[index] = block->head.next;
            pool->spare_bytes -= bytes;
        } else {
            block = malloc(bytes);
        }
    }
    if (block == NULL) {
        return NULL;
    }
    block->head.bytes = bytes;
    return block + 1;
}

void http2_pool_give_back(struct http2_pool *pool, void *at)
{
    struct http2_pool_block *block = http2_pool_block(at);
    size_t bytes = block->head.bytes;
    size_t index = http2_pool_index(bytes);
    if (index == HTTP2_POOL_SIZES || pool->spare_bytes + bytes > HTTP2_POOL_SPARE_BYTES) {
        free(block);
        return;
    }
    block->head.next = pool->spare[index];
    pool->spare[index] = block;
    pool->spare_bytes += bytes;
}

size_t http2_pool_size(const void *at)
{
    return http2_pool_block(at)->head.bytes;
}

size_t http2_pool_room(const void *at)
{
    return http2_pool_size(at) - sizeof(struct http2_pool_block);
}

struct http2_stream *http2_pool_take_stream(struct http2_pool *pool)
{
    struct http2_stream *stream = pool->streams;
    if (stream != NULL) {
        pool->streams = stream->next;
        pool->stream_count--;
    }
    return stream;
}

bool http2_pool_keep_stream(struct http2_pool *pool, struct http2_stream *stream)
{
    if (pool->stream_count >= HTTP2_POOL_SPARE_STREAMS) {
        return false;
    }
    stream->next = pool->streams;
    pool->streams = stream;
    pool->stream_count++;
    return true;
}
