#include "wire/envoy_headers.h"

#include <inttypes.h>
#include <stdio.h>

static const struct envoy_status *shown(const struct envoy_answer *answer)
{
    const struct envoy_status *best = NULL;
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct envoy_status *status = &answer->statuses[i];
        if (!status->has_limit) {
            continue;
        }
        bool over = status->code == ENVOY_CODE_OVER_LIMIT;
        bool best_over = best != NULL && best->code == ENVOY_CODE_OVER_LIMIT;
        if (best == NULL || over || (!best_over && status->remaining < best->remaining)) {
            best = status;
        }
    }
    return best;
}

static void put(struct envoy_header *header, const char *name, uint64_t value)
{
    header->name = name;
    (void)snprintf(header->value, sizeof(header->value), "%" PRIu64, value);
}

uint32_t envoy_headers_of(const struct envoy_answer *answer,
                          struct envoy_header headers[ENVOY_HEADERS])
{
    const struct envoy_status *status = shown(answer);
    if (status == NULL) {
        return 0;
    }
    put(&headers[0], "X-RateLimit-Limit", status->requests_per_unit);
    put(&headers[1], "X-RateLimit-Remaining", status->remaining);
    if (!status->has_reset) {
        return ENVOY_HEADERS - 1;
    }
    put(&headers[2], "X-RateLimit-Reset", (uint64_t)status->reset_s);
    return ENVOY_HEADERS;
}
