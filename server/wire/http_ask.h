/* The endpoints that ask, give back and forget: /v1/should-allow, /v1/refund, /v1/reset. */
#ifndef WIRE_HTTP_ASK_H
#define WIRE_HTTP_ASK_H

#include "wire/http_turn.h"

void http_ask_should_allow(struct http_turn *turn);
void http_ask_refund(struct http_turn *turn);
void http_ask_reset(struct http_turn *turn);

/* The answer of /v1/should-allow from scratch->decision. */
void http_ask_answer(struct http_turn *turn, bool details);

/* The request that a GET's query describes into the scratch's first entry. False: answered. */
bool http_ask_read_query(struct http_turn *turn);

/* One parameter of a query into the request, for those that GET forms share: cost and
 * attribute.<name>. False: it is neither. */
bool http_ask_parameter(struct request *request, struct slice name, struct slice value);

/* An attribute more; those above the maximum are counted and not kept. */
void http_ask_attribute(struct request *request, struct slice name, struct slice value);

#endif
