#include "sluice_buffer.h"

#include <stdlib.h>
#include <string.h>

void sluice_buffer_deinit(struct sluice_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct sluice_buffer){0};
}

bool sluice_buffer_reserve(struct sluice_buffer *buffer, size_t more)
{
    if (buffer->capacity - buffer->end >= more) {
        return true;
    }
    size_t size = sluice_buffer_size(buffer);
    if (buffer->start > 0) {
        memmove(buffer->data, buffer->data + buffer->start, size);
        buffer->start = 0;
        buffer->end = size;
    }
    if (buffer->capacity - size >= more) {
        return true;
    }
    if (more > SIZE_MAX / 2 - size) {
        return false;
    }
    size_t capacity = buffer->capacity < 512 ? 512 : buffer->capacity;
    while (capacity - size < more) {
        capacity *= 2;
    }
    uint8_t *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}
