/* The Redis protocol (RESP2, RESP3 after HELLO 3): CL.THROTTLE, SLUICE.*, and what client libraries
 * send on connect (proto/PROTOCOLS.md). */
#ifndef WIRE_RESP_H
#define WIRE_RESP_H

#include "wire/wire.h"

extern const struct wire_protocol resp_protocol;

#endif
