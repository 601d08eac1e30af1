/* The header fields of a decision: RateLimit, RateLimit-Policy, Retry-After and, where the operator
 * asks for them, X-RateLimit-*. The draft that names the parameters may still rename them: their
 * names stand in one table in http_headers.c. */
#ifndef WIRE_HTTP_HEADERS_H
#define WIRE_HTTP_HEADERS_H

#include "wire/http_turn.h"

/* Adds those of scratch->decision, whose rows must be there. `refused`: the answer is a refusal and
 * says when to ask again. False: answered with 503. */
bool http_headers_add(struct http_turn *turn, bool refused);

/* Does the client name problem+json among what it accepts? */
bool http_headers_accepts_problem(const struct http_request *request);

#endif
