/* HTTP/1.0 and 1.1: strict framing in front of the HTTP API (http_api.h). */
#ifndef WIRE_HTTP1_H
#define WIRE_HTTP1_H

#include "wire/wire.h"

extern const struct wire_protocol http1_protocol;

#endif
