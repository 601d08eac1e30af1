/* Header fields that a gateway is asked to put on its response (--x-ratelimit-headers):
 * X-RateLimit-Limit, -Remaining and -Reset (in seconds) of one limit: the last that is over, else
 * the one with the least left. */
#ifndef WIRE_ENVOY_HEADERS_H
#define WIRE_ENVOY_HEADERS_H

#include "engine/envoy_decide.h"

#define ENVOY_HEADERS 3u
#define ENVOY_HEADERS_VALUE_BYTES 24u

struct envoy_header {
    const char *name;
    char value[ENVOY_HEADERS_VALUE_BYTES];
};

/* Returns how many there are; none where no limit is shown. */
uint32_t envoy_headers_of(const struct envoy_answer *answer,
                          struct envoy_header headers[ENVOY_HEADERS]);

#endif
