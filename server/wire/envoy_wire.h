/* Envoy's rate limit service over gRPC: RateLimitRequest in, RateLimitResponse out. Both are read
 * and written field by field; nothing is copied but the list of where things stand. */
#ifndef WIRE_ENVOY_WIRE_H
#define WIRE_ENVOY_WIRE_H

#include "engine/envoy_decide.h"
#include "wire/grpc.h"

#define ENVOY_WIRE_METHODS 1
extern const struct grpc_method envoy_wire_methods[ENVOY_WIRE_METHODS];

enum envoy_wire_result { ENVOY_WIRE_OK, ENVOY_WIRE_MALFORMED, ENVOY_WIRE_NO_MEMORY };

/* The request that a message describes: its bytes stay the message's, its lists the arena's. */
enum envoy_wire_result envoy_wire_read(struct slice message, struct arena *arena,
                                       struct envoy_request *request);

/* `headers`: response_headers_to_add has what envoy_headers.h says. */
void envoy_wire_write(const struct envoy_answer *answer, bool headers, struct buf *out);

#endif
