/* The decision engine: limits and requests, no bytes, no sockets.
 *
 *   adapter: engine_enter -> for each request of one read: engine_prepare (check, match, hash,
 *            prefetch) -> then, in the same order: engine_decide and encode
 *
 * A store that answers from afar (Redis Cluster, once one machine is not enough) is another
 * implementation of store.h behind this call: engine_decide then says STATUS_LATER-like "answered
 * by reply" to the adapter, which is why wire_protocol has a `reply` of its own. The memory store
 * always answers at once.
 *
 * Threads: one engine a process, one engine_worker a thread. engine_reload is called from one
 * thread (control). */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/metrics.h"
#include "engine/policy.h"

struct engine;
struct engine_set; /* a policy set and what the engine keeps beside it */
struct engine_worker;

struct engine_config {
    struct store *store;            /* borrowed */
    struct metrics *metrics;        /* borrowed */
    struct policy_set *set;         /* taken over, unless engine_create fails */
};

struct engine *engine_create(const struct engine_config *config); /* NULL: no memory */
/* After all its workers. Destroys the set in force and those still waiting to be freed. */
void engine_destroy(struct engine **engine);

/* `metrics` is the worker's own block. NULL: no memory, or LIMITS_WORKERS_MAX workers are there. */
struct engine_worker *engine_worker_create(struct engine *engine, struct metrics_worker *metrics);
void engine_worker_destroy(struct engine_worker **worker);

/* Takes the policy set in force for what follows; forgets all plans. Call at the start of each
 * read. Limit names in earlier decisions are no longer valid after it. */
void engine_enter(struct engine_worker *worker);
/* A worker that will be idle holds no set: call before going back to the loop. */
void engine_leave(struct engine_worker *worker);

/* A request that was checked, matched and hashed. Holds until the next engine_enter. */
struct engine_plan {
    const struct request *request;
    const struct engine_set *set;     /* what it was prepared against */
    const struct policy_route *route; /* NULL: none matched */
    uint64_t cost;
    uint32_t first;      /* its rows, and its items for the store, in the worker's scratch */
    uint32_t count;      /* rows: one a limit of the route */
    uint32_t item_count; /* rows that need the store */
    bool plain;          /* one enforced limit and its own numbers: the answer shows that one */
    enum request_code code;
};

/* How many more requests may surely be prepared before the next engine_enter or engine_rewind. */
uint32_t engine_room(const struct engine_worker *worker);
/* Forgets the plans made since engine_enter, keeping the policy set. */
void engine_rewind(struct engine_worker *worker);

enum engine_purpose { ENGINE_DECIDE, ENGINE_REFUND, ENGINE_RESET };

/* False: *error says why; the request is not to be decided (and was counted as an error by the
 * adapter's metrics_request_error). */
bool engine_prepare(struct engine_worker *worker, const struct request *request,
                    enum engine_purpose purpose, int64_t now_ns, struct engine_plan *plan,
                    struct request_error *error);

/* Decides and counts. If the limits were replaced since engine_enter the plan is made anew; that
 * may turn it into an error (say, an attribute that the new file counts by): false then. */
bool engine_decide(struct engine_worker *worker, struct engine_plan *plan, int64_t now_ns,
                   struct decision *decision, struct request_error *error);
bool engine_refund(struct engine_worker *worker, struct engine_plan *plan, int64_t now_ns,
                   struct decision *decision, struct request_error *error);
bool engine_reset(struct engine_worker *worker, struct engine_plan *plan, int64_t now_ns,
                  uint32_t *counters, struct request_error *error);

/* Puts `next` in force at the instant now_ns and takes it over; the old set is freed when nobody
 * needs it. STATUS_UNAVAILABLE (and *next untouched): the one before is still being applied.
 * `log` (may be NULL) gets one line for each limit that starts fresh, and why. */
STATUS_CHECKED enum status engine_reload(struct engine *engine, struct policy_set **next,
                                         int64_t now_ns, struct buf *log);

/* One step of house-keeping (store_sweep, freeing of old sets). False: nothing is due. */
bool engine_sweep(struct engine *engine, int64_t now_ns, uint32_t budget);

/* Bytes of all policy sets that are held. Control thread. */
uint64_t engine_policies_bytes(const struct engine *engine);

struct store *engine_store(struct engine *engine);
/* The set in force, for `check --explain` and admin; valid between engine_enter and the next. */
const struct policy_set *engine_worker_set(const struct engine_worker *worker);

#endif
