#include "wire/http2_memory.h"

#include "base/limits.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

static void *http2_memory_count(struct http2_memory *memory, void *at)
{
    memory->bytes += at == NULL ? 0 : malloc_usable_size(at);
    return at;
}

static bool http2_memory_has_room(const struct http2_memory *memory, size_t size)
{
    return size <= LIMITS_HTTP2_CODEC_BYTES_MAX &&
           memory->bytes <= LIMITS_HTTP2_CODEC_BYTES_MAX - size;
}

static void *http2_memory_malloc(size_t size, void *data)
{
    struct http2_memory *memory = data;
    return http2_memory_has_room(memory, size) ? http2_memory_count(memory, malloc(size)) : NULL;
}

static void http2_memory_free(void *at, void *data)
{
    struct http2_memory *memory = data;
    memory->bytes -= at == NULL ? 0 : malloc_usable_size(at);
    free(at);
}

static void *http2_memory_calloc(size_t count, size_t size, void *data)
{
    struct http2_memory *memory = data;
    if (size > 0 && count > LIMITS_HTTP2_CODEC_BYTES_MAX / size) {
        return NULL;
    }
    return http2_memory_has_room(memory, count * size)
               ? http2_memory_count(memory, calloc(count, size))
               : NULL;
}

static void *http2_memory_realloc(void *at, size_t size, void *data)
{
    struct http2_memory *memory = data;
    size_t before = at == NULL ? 0 : malloc_usable_size(at);
    if (size > before && !http2_memory_has_room(memory, size - before)) {
        return NULL;
    }
    void *moved = realloc(at, size);
    if (moved != NULL) {
        memory->bytes -= before;
    }
    return http2_memory_count(memory, moved);
}

void http2_memory_init(struct http2_memory *memory)
{
    *memory = (struct http2_memory){.functions = {.mem_user_data = memory,
                                                  .malloc = http2_memory_malloc,
                                                  .free = http2_memory_free,
                                                  .calloc = http2_memory_calloc,
                                                  .realloc = http2_memory_realloc}};
}
