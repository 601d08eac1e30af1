#include "wire/http_query.h"

static int hex(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool decode(struct slice *text, struct arena *arena)
{
    if (text->size == 0 || memchr(text->data, '%', text->size) == NULL) {
        return true;
    }
    uint8_t *to = arena_alloc(arena, text->size);
    size_t size = 0;
    if (to == NULL) {
        return false;
    }
    for (size_t at = 0; at < text->size; at++) {
        to[size] = text->data[at];
        if (to[size] == '%') {
            int high = text->size - at > 2 ? hex(text->data[at + 1]) : -1;
            int low = high >= 0 ? hex(text->data[at + 2]) : -1;
            if (low < 0) {
                return false;
            }
            to[size] = (uint8_t)(high * 16 + low);
            at += 2;
        }
        size++;
    }
    *text = slice_make(to, size);
    return true;
}

/* Takes off the front what stands before `stop`, and the stop. */
static struct slice split(struct slice *rest, char stop)
{
    const uint8_t *at = rest->size == 0 ? NULL : memchr(rest->data, stop, rest->size);
    size_t size = at == NULL ? rest->size : (size_t)(at - rest->data);
    size_t used = at == NULL ? size : size + 1;
    struct slice front = slice_make(rest->data, size);
    *rest = slice_make(rest->size == 0 ? NULL : rest->data + used, rest->size - used);
    return front;
}

enum http_query_result http_query_next(struct slice *query, struct arena *arena,
                                       struct slice *name, struct slice *value)
{
    if (query->size == 0) {
        return HTTP_QUERY_END;
    }
    *value = split(query, '&');
    *name = split(value, '=');
    return decode(name, arena) && decode(value, arena) ? HTTP_QUERY_NEXT : HTTP_QUERY_BAD;
}
