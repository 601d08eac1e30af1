/* The native protocol: varint-framed protobuf messages, many in flight on one connection
 * (proto/PROTOCOLS.md). */
#ifndef WIRE_NATIVE_H
#define WIRE_NATIVE_H

#include "wire/wire.h"

extern const struct wire_protocol native_protocol;

#endif
