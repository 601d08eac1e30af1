/* What `grpc` listeners speak: the same as `http` listeners, counted as gRPC. */
#ifndef WIRE_WEB_GRPC_H
#define WIRE_WEB_GRPC_H

#include "wire/wire.h"

extern const struct wire_protocol web_grpc_protocol;

#endif
