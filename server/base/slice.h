/* A view of bytes that somebody else owns. Not NUL-terminated; may hold any byte. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *data; /* may be NULL when size is 0 */
    size_t size;         /* bytes */
};

static inline struct slice slice_make(const void *data, size_t size)
{
    return (struct slice){.data = data, .size = size};
}

static inline struct slice slice_text(const char *text)
{
    return slice_make(text, strlen(text));
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool slice_equal_text(struct slice a, const char *text)
{
    return slice_equal(a, slice_text(text));
}

#endif
