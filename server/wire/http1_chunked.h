/* A chunked body (RFC 9112 7.1): looked through as far as it has come, then joined once all of it
 * is there. Each look goes on where the one before it ended, so a body that trickles in costs its
 * length and not its square. */
#ifndef WIRE_HTTP1_CHUNKED_H
#define WIRE_HTTP1_CHUNKED_H

#include "base/slice.h"

enum http1_chunked_result {
    HTTP1_CHUNKED_OK,
    HTTP1_CHUNKED_MORE,
    HTTP1_CHUNKED_BAD, /* `detail` says why */
    HTTP1_CHUNKED_TOO_LONG
};

/* All zero: at the front of the body. */
struct http1_chunked {
    size_t at;    /* looked through so far */
    size_t bytes; /* of the body without its framing */
    bool trailer; /* the last chunk has been seen */
    const char *detail;
};

/* `in` is the body as far as it is here, from its front each time. Once OK, chunked->at is its size
 * with the framing. */
enum http1_chunked_result http1_chunked_look(struct http1_chunked *chunked, struct slice in,
                                             size_t bytes_max);

/* Writes the body's chunked->bytes to `to`; `in` is what was looked through. */
void http1_chunked_join(struct slice in, uint8_t *to);

#endif
