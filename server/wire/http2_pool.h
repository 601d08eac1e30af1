/* Memory that the HTTP/2 connections of one worker leave for each other: nghttp2's small blocks and
 * streams that are done with. A busy worker then allocates next to nothing, and an idle connection
 * keeps nothing. */
#ifndef WIRE_HTTP2_POOL_H
#define WIRE_HTTP2_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct http2_pool;
struct http2_stream;

struct http2_pool *http2_pool_create(void); /* NULL: no memory */
/* After all connections of the worker. */
void http2_pool_destroy(struct http2_pool **pool);

/* A block of at least `size` bytes, 16-byte aligned, or NULL; http2_pool_size says how many bytes
 * it takes in all. */
void *http2_pool_take(struct http2_pool *pool, size_t size);
void http2_pool_give_back(struct http2_pool *pool, void *at);
size_t http2_pool_size(const void *at);
/* How many bytes of it may be used. */
size_t http2_pool_room(const void *at);

/* A stream that another connection is done with, its buffers empty; NULL: there is none. */
struct http2_stream *http2_pool_take_stream(struct http2_pool *pool);
/* False: there are enough. */
bool http2_pool_keep_stream(struct http2_pool *pool, struct http2_stream *stream);

#endif
