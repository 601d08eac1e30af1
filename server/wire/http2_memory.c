#include "wire/http2_memory.h"

#include "base/limits.h"

#include <string.h>

static void *http2_memory_malloc(size_t size, void *data)
{
    struct http2_memory *memory = data;
    if (size > LIMITS_HTTP2_CODEC_BYTES_MAX ||
        memory->bytes > LIMITS_HTTP2_CODEC_BYTES_MAX - size) {
        return NULL;
    }
    void *at = http2_pool_take(memory->pool, size);
    memory->bytes += at == NULL ? 0 : http2_pool_size(at);
    return at;
}

static void http2_memory_free(void *at, void *data)
{
    struct http2_memory *memory = data;
    if (at != NULL) {
        memory->bytes -= http2_pool_size(at);
        http2_pool_give_back(memory->pool, at);
    }
}

static void *http2_memory_calloc(size_t count, size_t size, void *data)
{
    if (size > 0 && count > LIMITS_HTTP2_CODEC_BYTES_MAX / size) {
        return NULL;
    }
    void *at = http2_memory_malloc(count * size, data);
    if (at != NULL) {
        memset(at, 0, count * size);
    }
    return at;
}

static void *http2_memory_realloc(void *at, size_t size, void *data)
{
    size_t room = at == NULL ? 0 : http2_pool_room(at);
    if (at != NULL && size <= room) {
        return at;
    }
    void *moved = http2_memory_malloc(size, data);
    if (moved != NULL && at != NULL) {
        memcpy(moved, at, room);
        http2_memory_free(at, data);
    }
    return moved;
}

void http2_memory_init(struct http2_memory *memory, struct http2_pool *pool)
{
    *memory = (struct http2_memory){.functions = {.mem_user_data = memory,
                                                  .malloc = http2_memory_malloc,
                                                  .free = http2_memory_free,
                                                  .calloc = http2_memory_calloc,
                                                  .realloc = http2_memory_realloc},
                                    .pool = pool};
}
