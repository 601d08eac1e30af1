/* One request of an HTTP/2 connection, from its first header to the last byte of its answer.
 *
 *   arriving -> ready -> answered        each stream is on exactly one of these lists
 *
 * Streams that are done with are left for the next ones (http2_pool). */
#ifndef WIRE_HTTP2_STREAM_H
#define WIRE_HTTP2_STREAM_H

#include "wire/grpc.h"
#include "wire/http2_pool.h"
#include "wire/http_api.h"

enum http2_phase {
    HTTP2_ARRIVING, /* its end has not come */
    HTTP2_READY,    /* whole, or with a message of a streaming call: to be decided */
    HTTP2_ANSWERED, /* the answer is on its way, or the call stays open */
    HTTP2_PHASES
};

struct http2_stream {
    struct http2_stream *next; /* on the list of its phase */
    struct http2_stream *previous;
    int32_t id;
    enum http2_phase phase;
    const struct grpc_method *method; /* what the path names */
    struct slice path;                /* in `head`; with the query */
    struct slice verb;
    bool keeps_headers; /* the path is no gRPC method's: the JSON API wants to see them */
    bool grpc;          /* the content-type says so */
    bool ended;         /* the peer's END_STREAM has come */
    bool has_body;      /* there were DATA frames, or a content-length */
    bool submitted;     /* nghttp2 has the head of the answer */
    bool complete;      /* nothing more will be appended to `answer` */
    bool deferred;      /* nghttp2 waits for more of `answer` */
    bool head_too_large;
    bool body_too_large;
    bool timeout_invalid;
    unsigned rights;    /* enum access_right, of a call: what its token is good for */
    int64_t begun_ns;
    int64_t timeout_ns; /* grpc-timeout; -1: none */
    uint32_t header_count;
    size_t head_bytes;  /* as RFC 9113 counts a header list */
    int code;           /* grpc-status */

    /* Last: they stay with the memory when another request takes it. */
    struct buf head;     /* verb, path and header fields: sizes, then bytes */
    struct buf body;
    struct buf answer;
    struct buf sentence; /* of the error that ends the call: grpc-message */
};

struct http2_stream_list {
    struct http2_stream *first;
    struct http2_stream *last;
};

/* The streams of one connection. */
struct http2_streams {
    struct http2_stream_list lists[HTTP2_PHASES];
    struct http2_pool *pool;
    size_t body_bytes;   /* bodies that are held */
    size_t answer_bytes; /* answers that nghttp2 has not taken */
    const struct grpc_method *latest; /* what the latest path named: most likely the next, too */
};

/* A new one, arriving; NULL: no memory. */
struct http2_stream *http2_stream_take(struct http2_streams *streams, int32_t id, int64_t now_ns);
void http2_stream_move(struct http2_streams *streams, struct http2_stream *stream,
                       enum http2_phase phase);
/* Done with. */
void http2_stream_give_back(struct http2_streams *streams, struct http2_stream *stream);
void http2_stream_deinit(struct http2_streams *streams);
/* One that is on no list. */
void http2_stream_destroy(struct http2_stream **stream);

/* A header field has come. What is too much is noted and no longer stored. */
void http2_stream_header(struct http2_streams *streams, struct http2_stream *stream,
                         struct slice name, struct slice value);
/* The head is whole: sets verb and path. */
void http2_stream_head_end(struct http2_stream *stream);
/* The fields that were kept, for the JSON API; the array is the arena's. False: no memory. */
bool http2_stream_headers(const struct http2_stream *stream, struct arena *arena,
                          struct http_request *request);

/* A piece of the body has come. */
void http2_stream_body(struct http2_streams *streams, struct http2_stream *stream,
                       struct slice bytes);
/* The first bytes of the body are decided. */
void http2_stream_consume_body(struct http2_streams *streams, struct http2_stream *stream,
                               size_t size);
/* All of the body is decided: its memory is free for others. */
void http2_stream_drop_body(struct http2_streams *streams, struct http2_stream *stream);

#endif
