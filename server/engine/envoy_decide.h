/* A gateway's question in Envoy's terms: descriptors of a domain, decided by the rules of that
 * domain (envoy_config.h), by numbers that the request brings along, or, in the domain `sluice`,
 * by the limits file.
 *
 *   exact    all descriptors together: refused by one -> none is charged
 *   classic  one after the other, charged also past their limit, as envoyproxy/ratelimit does */
#ifndef ENGINE_ENVOY_DECIDE_H
#define ENGINE_ENVOY_DECIDE_H

#include "engine/engine.h"
#include "engine/envoy_match.h"

struct envoy_descriptor {
    const struct envoy_entry *entries;
    uint32_t entry_count;
    bool has_override;
    uint32_t override_requests; /* per unit */
    uint64_t override_unit;     /* as sent */
    uint64_t override_multiplier;
    bool has_hits;
    uint64_t hits;  /* has_hits; 0: a look */
    bool negative;  /* gives hits back */
};

struct envoy_request {
    struct slice domain;
    const struct envoy_descriptor *descriptors;
    uint32_t descriptor_count; /* as sent */
    uint32_t hits;             /* of descriptors that say none; 0: 1 */
};

/* The numbers of RateLimitResponse.Code. */
enum envoy_code { ENVOY_CODE_UNKNOWN, ENVOY_CODE_OK, ENVOY_CODE_OVER_LIMIT };

struct envoy_status {
    enum envoy_code code;
    bool has_limit; /* current_limit: the next four */
    uint32_t requests_per_unit;
    enum envoy_unit unit;
    uint32_t unit_multiplier; /* 1: not said */
    struct slice name;        /* holds until the worker's next engine_enter */
    uint32_t remaining;
    bool has_reset;
    int64_t reset_s;
};

struct envoy_answer {
    enum envoy_code overall;
    uint32_t count;
    struct envoy_status statuses[LIMITS_ENVOY_DESCRIPTORS_MAX]; /* one a descriptor, in order */
};

/* Decides and counts. The worker was entered and rewound. False: *error says why there is no
 * answer (in classic, descriptors before it may have been charged). */
bool envoy_decide(struct engine_worker *worker, const struct envoy_request *request,
                  int64_t now_ns, struct envoy_answer *answer, struct request_error *error);

#endif
