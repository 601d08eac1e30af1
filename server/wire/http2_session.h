/* The inside of an HTTP/2 connection, for the http2_*.c files alone.
 *
 *   bytes -> nghttp2 -> callbacks (http2.c): streams fill up, become ready
 *         -> http2_decide: each ready stream is answered, in the order they became so
 *         -> http2_reply:  the answer is handed to nghttp2, which asks for its bytes as the peer's
 *                          windows allow
 *         -> nghttp2 -> bytes */
#ifndef WIRE_HTTP2_SESSION_H
#define WIRE_HTTP2_SESSION_H

#include "wire/http2_memory.h"
#include "wire/http2_stream.h"

struct http2_session {
    nghttp2_session *codec;
    struct http2_memory memory;
    struct http2_streams streams;
    struct http2_stream *heading; /* whose header fields are coming in; NULL: nobody's */
    bool early;                   /* an answer went out before its request was whole */
    struct wire_worker *worker;
    struct wire_peer peer;
    int64_t now_ns;       /* of the feed that runs */
    uint64_t answered;    /* decisions of the feed that runs */
    uint32_t control;     /* frames since control_ns that no request has paid for */
    int64_t control_ns;
    bool draining;        /* told to go: no new streams before long */
};

#endif
