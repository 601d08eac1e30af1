/* What nghttp2 allocates for one connection, counted and capped: a peer that asks for more ends its
 * own connection and nobody else's. */
#ifndef WIRE_HTTP2_MEMORY_H
#define WIRE_HTTP2_MEMORY_H

#include "wire/http2_pool.h"

#include <nghttp2/nghttp2.h>

struct http2_memory {
    nghttp2_mem functions; /* for nghttp2_session_server_new3; points back at this */
    struct http2_pool *pool;
    size_t bytes;          /* held now */
};

/* `memory` must not move afterwards. */
void http2_memory_init(struct http2_memory *memory, struct http2_pool *pool);

#endif
