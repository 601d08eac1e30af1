/* /v1/auth: the question as gateways ask it for a request that they hold (nginx auth_request,
 * Traefik ForwardAuth, Caddy forward_auth, APISIX forward-auth): in header fields, answered by the
 * status and header fields alone. */
#ifndef WIRE_HTTP_AUTH_H
#define WIRE_HTTP_AUTH_H

#include "wire/http_turn.h"

void http_auth_handle(struct http_turn *turn);

#endif
