/* HTTP/2: gRPC and the JSON API, many requests in flight on one connection. The framing is
 * nghttp2's, fed and drained as a codec; limits on what a peer may make it hold are here. */
#ifndef WIRE_HTTP2_H
#define WIRE_HTTP2_H

#include "wire/wire.h"

extern const struct wire_protocol http2_protocol;

#endif
