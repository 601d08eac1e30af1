/* /v1/should-allow-batch: the members are decided in their order, each seeing the effect of those
 * before it; one that is invalid has its own error and the rest go on. */
#ifndef WIRE_HTTP_BATCH_H
#define WIRE_HTTP_BATCH_H

#include "wire/http_turn.h"

void http_batch_should_allow(struct http_turn *turn);

#endif
