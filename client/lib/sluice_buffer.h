/* A growable run of bytes: frames on their way out, bytes that wait for the rest of their frame.
 * The library's own, so that it needs nothing of the daemon. */
#ifndef SLUICE_BUFFER_H
#define SLUICE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sluice_buffer {
    uint8_t *data;
    size_t start; /* first byte that counts */
    size_t end;   /* behind the last one */
    size_t capacity;
};

void sluice_buffer_deinit(struct sluice_buffer *buffer);

/* Makes room for `more` bytes at data + end; false without memory, and the content stays. */
bool sluice_buffer_reserve(struct sluice_buffer *buffer, size_t more);

static inline size_t sluice_buffer_size(const struct sluice_buffer *buffer)
{
    return buffer->end - buffer->start;
}

static inline void sluice_buffer_consume(struct sluice_buffer *buffer, size_t size)
{
    buffer->start += size;
    if (buffer->start == buffer->end) {
        buffer->start = buffer->end = 0;
    }
}

static inline void sluice_buffer_clear(struct sluice_buffer *buffer)
{
    buffer->start = buffer->end = 0;
}

#endif
