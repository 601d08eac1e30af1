/* CL.THROTTLE: keys that no limits file knows, each request with its own numbers. They stand in
 * the same store, under a builtin policy (policy_builtin.h) and in a name space of their own; no
 * reload touches them.
 *
 * As with engine.h: engine_enter, then prepare some, then decide them in the same order. */
#ifndef ENGINE_ENGINE_THROTTLE_H
#define ENGINE_ENGINE_THROTTLE_H

#include "engine/engine.h"

struct engine_throttle_numbers {
    uint64_t max_burst; /* 0 … LIMITS_THROTTLE_BURST_MAX */
    uint64_t count;     /* 1 … LIMITS_QUOTA_MAX */
    uint64_t period_s;  /* 1 … LIMITS_THROTTLE_PERIOD_S_MAX */
    uint64_t quantity;  /* 0 … LIMITS_COST_MAX */
};

/* A request that was hashed; its counter is on the way into the cache. */
struct engine_throttle {
    const struct engine_set *set;
    struct limiter_policy policy;
    struct store_item item; /* points to `policy`: not to be moved */
};

struct engine_throttle_answer {
    bool limited;
    bool never;             /* quantity is above max_burst + 1 */
    uint64_t limit;         /* max_burst + 1 */
    uint64_t remaining;
    int64_t retry_after_ns; /* when limited and not never */
    int64_t reset_after_ns;
};

/* `key` has 1 to LIMITS_KEY_BYTES_MAX bytes; the caller has checked it and the numbers. *throttle
 * is all zero or was prepared before: equal numbers, the usual case, are not prepared again. */
void engine_throttle_prepare(struct engine_worker *worker, struct slice key,
                             const struct engine_throttle_numbers *numbers,
                             struct engine_throttle *throttle);

/* Decides and counts. False: *error says why there is no answer. */
bool engine_throttle_decide(struct engine_worker *worker, struct engine_throttle *throttle,
                            int64_t now_ns, struct engine_throttle_answer *answer,
                            struct request_error *error);

/* Forgets one key. *forgotten is 1 where it was not as if never used, else 0. */
bool engine_throttle_forget(struct engine_worker *worker, struct slice key, int64_t now_ns,
                            uint32_t *forgotten, struct request_error *error);

#endif
