/* What an admin listener answers over HTTP beside the API: metrics, health, what is counted now,
 * and reloading (wire/admin.h does the work). */
#ifndef WIRE_HTTP_ADMIN_H
#define WIRE_HTTP_ADMIN_H

#include "wire/http_turn.h"

void http_admin_metrics(struct http_turn *turn);
void http_admin_healthz(struct http_turn *turn);
void http_admin_readyz(struct http_turn *turn);
void http_admin_counters(struct http_turn *turn);
void http_admin_reload(struct http_turn *turn);

#endif
