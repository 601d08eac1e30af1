/* The service sluice.v1.RateLimiter over gRPC. */
#ifndef WIRE_GRPC_NATIVE_H
#define WIRE_GRPC_NATIVE_H

#include "wire/grpc.h"

#define GRPC_NATIVE_METHODS 4
extern const struct grpc_method grpc_native_methods[GRPC_NATIVE_METHODS];

#endif
