/* The service ServerReflection of grpc.reflection.v1 and v1alpha: what this server serves. */
#ifndef WIRE_GRPC_REFLECTION_H
#define WIRE_GRPC_REFLECTION_H

#include "wire/grpc.h"

#define GRPC_REFLECTION_METHODS 2
extern const struct grpc_method grpc_reflection_methods[GRPC_REFLECTION_METHODS];

#endif
