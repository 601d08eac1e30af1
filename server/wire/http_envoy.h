/* POST /json: Envoy's rate limit service as envoyproxy/ratelimit offers it over HTTP. */
#ifndef WIRE_HTTP_ENVOY_H
#define WIRE_HTTP_ENVOY_H

#include "wire/http_turn.h"

void http_envoy_handle(struct http_turn *turn);

#endif
