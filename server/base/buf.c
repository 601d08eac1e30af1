#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

void buf_init(struct buf *buf, size_t max_bytes)
{
    *buf = (struct buf){.max_bytes = max_bytes};
}

void buf_deinit(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){.max_bytes = buf->max_bytes};
}

/* Moves the content to the front: cheaper than growing while most of the room is behind us. */
static void buf_pull_front(struct buf *buf)
{
    if (buf->start == 0) {
        return;
    }
    if (buf->size > 0) {
        memmove(buf->data, buf->data + buf->start, buf->size);
    }
    buf->start = 0;
}

uint8_t *buf_reserve(struct buf *buf, size_t more)
{
    if (more > SIZE_MAX / 4 || buf->size > SIZE_MAX / 4 ||
        (buf->max_bytes > 0 && buf->size + more > buf->max_bytes)) {
        buf->failed = true;
        return NULL;
    }
    if (buf->capacity - buf->start - buf->size < more) {
        buf_pull_front(buf);
    }
    size_t need = buf->size + more;
    if (need > buf->capacity || buf->data == NULL) {
        size_t capacity = buf->capacity < 64 ? 64 : buf->capacity;
        while (capacity < need) {
            capacity *= 2;
        }
        uint8_t *data = realloc(buf->data, capacity);
        if (data == NULL) {
            buf->failed = true;
            return NULL;
        }
        buf->data = data;
        buf->capacity = capacity;
    }
    return buf->data + buf->start + buf->size;
}

void buf_commit(struct buf *buf, size_t written)
{
    buf->size += written;
}

void buf_append(struct buf *buf, const void *data, size_t size)
{
    if (size == 0) {
        return;
    }
    uint8_t *room = buf_reserve(buf, size);
    if (room != NULL) {
        memcpy(room, data, size);
        buf->size += size;
    }
}

void buf_append_slice(struct buf *buf, struct slice slice)
{
    buf_append(buf, slice.data, slice.size);
}

void buf_append_text(struct buf *buf, const char *text)
{
    buf_append(buf, text, strlen(text));
}

void buf_append_byte(struct buf *buf, uint8_t byte)
{
    buf_append(buf, &byte, 1);
}

void buf_vprintf(struct buf *buf, const char *format, va_list args)
{
    char brief[128]; /* most of what is printed fits and need not be formatted twice */
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(brief, sizeof(brief), format, args);
    if (size < 0) {
        buf->failed = true;
    } else if ((size_t)size < sizeof(brief)) {
        buf_append(buf, brief, (size_t)size);
    } else {
        uint8_t *room = buf_reserve(buf, (size_t)size + 1); /* its NUL is written, not kept */
        if (room != NULL) {
            (void)vsnprintf((char *)room, (size_t)size + 1, format, again);
            buf->size += (size_t)size;
        }
    }
    va_end(again);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(buf, format, args);
    va_end(args);
}

void buf_consume(struct buf *buf, size_t size)
{
    buf->start += size;
    buf->size -= size;
    if (buf->size == 0) {
        buf->start = 0;
    }
}

void buf_clear(struct buf *buf)
{
    buf->start = 0;
    buf->size = 0;
    buf->failed = false;
}

void buf_trim(struct buf *buf, size_t keep_bytes)
{
    if (buf->size == 0 && buf->capacity > keep_bytes) {
        free(buf->data);
        buf->data = NULL;
        buf->capacity = 0;
        buf->start = 0;
    }
}
