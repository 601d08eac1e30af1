/* A growable run of bytes with a ceiling: input that waits for its rest, output that waits for
 * the socket, text under construction. The bytes are buf.data[buf.start .. buf.start + buf.size).
 *
 * A failed append sets `failed` and leaves the content as it was, so a writer may append many
 * pieces and check once at the end. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/slice.h"
#include "base/status.h"

#include <stdarg.h>

struct buf {
    uint8_t *data;
    size_t start;     /* first byte that counts */
    size_t size;      /* bytes that count */
    size_t capacity;  /* bytes allocated */
    size_t max_bytes; /* ceiling of size; 0: none but memory */
    bool failed;      /* an append did not fit or could not be allocated */
};

void buf_init(struct buf *buf, size_t max_bytes);
void buf_deinit(struct buf *buf);

/* Makes room for `more` bytes behind the content and returns where they go, or NULL. Follow with
 * buf_commit for those really written. */
STATUS_CHECKED uint8_t *buf_reserve(struct buf *buf, size_t more);
void buf_commit(struct buf *buf, size_t written);

void buf_append(struct buf *buf, const void *data, size_t size);
void buf_append_slice(struct buf *buf, struct slice slice);
void buf_append_text(struct buf *buf, const char *text);
void buf_append_byte(struct buf *buf, uint8_t byte);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *buf, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Drops `size` bytes from the front. */
void buf_consume(struct buf *buf, size_t size);
/* Forgets the content, keeps the memory, clears `failed`. */
void buf_clear(struct buf *buf);
/* Gives memory back when empty and larger than `keep_bytes`. */
void buf_trim(struct buf *buf, size_t keep_bytes);

static inline struct slice buf_slice(const struct buf *buf)
{
    return slice_make(buf->data == NULL ? NULL : buf->data + buf->start, buf->size);
}

#endif
