/* The service grpc.health.v1.Health: may the server be asked? */
#ifndef WIRE_GRPC_HEALTH_H
#define WIRE_GRPC_HEALTH_H

#include "wire/grpc.h"

#define GRPC_HEALTH_METHODS 3
extern const struct grpc_method grpc_health_methods[GRPC_HEALTH_METHODS];

#endif
