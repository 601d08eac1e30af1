/* The engine's life and its calls: prepare, decide, refund, reset. How sets are published and
 * freed stands in engine_state.h; what a plan is in engine_plan.h. */
#include "engine/engine.h"

#include "engine/engine_answer.h"
#include "engine/engine_reload.h"
#include "engine/engine_set.h"
#include "engine/engine_state.h"

#include <assert.h>
#include <stdlib.h>

struct engine *engine_create(const struct engine_config *config)
{
    struct engine *engine = aligned_alloc(ENGINE_LINE_BYTES, sizeof(*engine));
    if (engine == NULL) {
        return NULL;
    }
    memset(engine, 0, sizeof(*engine));
    engine->store = config->store;
    engine->metrics = config->metrics;
    engine->newest = engine_set_create(config->set, 1);
    if (engine->newest == NULL) {
        free(engine);
        return NULL;
    }
    engine->oldest = engine->newest;
    store_install(engine->store, &config->set->policies);
    shared_pointer_set(&engine->current, engine->newest);
    shared_number_set(&engine->sequence, engine->newest->sequence);
    return engine;
}

void engine_destroy(struct engine **engine)
{
    if (*engine != NULL) {
        engine_reload_finish(*engine);
        engine_set_destroy(&(*engine)->newest);
        free(*engine);
        *engine = NULL;
    }
}

static struct engine_slot *take_slot(struct engine *engine)
{
    for (uint32_t i = 0; i < LIMITS_WORKERS_MAX; i++) {
        if (shared_number_claim(&engine->slots[i].taken, 0, 1)) {
            return &engine->slots[i];
        }
    }
    return NULL;
}

struct engine_worker *engine_worker_create(struct engine *engine, struct metrics_worker *metrics)
{
    struct engine_worker *worker = calloc(1, sizeof(*worker));
    if (worker == NULL) {
        return NULL;
    }
    worker->engine = engine;
    worker->metrics = metrics;
    worker->slot = take_slot(engine);
    if (worker->slot == NULL) {
        free(worker);
        return NULL;
    }
    return worker;
}

void engine_worker_destroy(struct engine_worker **worker)
{
    if (*worker != NULL) {
        engine_leave(*worker);
        shared_number_set(&(*worker)->slot->taken, 0);
        free(*worker);
        *worker = NULL;
    }
}

void engine_enter(struct engine_worker *worker)
{
    struct engine *engine = worker->engine;
    uint64_t sequence = shared_number_get(&engine->sequence);
    while (worker->held != sequence) {
        worker->held = sequence;
        shared_number_set(&worker->slot->held, sequence);
        sequence = shared_number_get(&engine->sequence);
    }
    worker->set = shared_pointer_get(&engine->current);
    worker->scratch.used = 0;
}

void engine_leave(struct engine_worker *worker)
{
    worker->set = NULL;
    worker->scratch.used = 0;
    worker->held = 0;
    shared_number_set(&worker->slot->held, 0);
}

uint32_t engine_room(const struct engine_worker *worker)
{
    return (ENGINE_PLAN_ROWS - worker->scratch.used) / LIMITS_ROUTE_LIMITS_MAX;
}

void engine_rewind(struct engine_worker *worker)
{
    worker->scratch.used = 0;
}

bool engine_prepare(struct engine_worker *worker, const struct request *request,
                    enum engine_purpose purpose, int64_t now_ns, struct engine_plan *plan,
                    struct request_error *error)
{
    assert(worker->set != NULL && engine_room(worker) > 0);
    bool made = engine_plan_make(&worker->scratch, worker->set, worker->engine->store, request,
                                 purpose, now_ns, worker->scratch.used, plan, error);
    if (made) {
        worker->scratch.used += plan->count;
    }
    return made;
}

/* After a call to the store that did not succeed: makes the plan anew when the limits were
 * replaced meanwhile. False: *error says why there is no answer. */
static __attribute__((noinline)) bool
recover(struct engine_worker *worker, enum status status, struct engine_plan *plan,
        enum engine_purpose purpose, int64_t now_ns, struct request_error *error)
{
    if (status != STATUS_STALE) {
        request_error_set(error, REQUEST_UNAVAILABLE, "", "the request could not be decided: %s",
                          status_text(status));
        plan->code = error->code;
        return false;
    }
    const struct engine_set *set = shared_pointer_get(&worker->engine->current);
    while (set == plan->set) {
        shared_pause();
        set = shared_pointer_get(&worker->engine->current);
    }
    return engine_plan_make(&worker->scratch, set, worker->engine->store, plan->request, purpose,
                            now_ns, ENGINE_PLAN_SPARE, plan, error);
}

static struct store_item *items_of(struct engine_worker *worker, const struct engine_plan *plan)
{
    return &worker->scratch.items[plan->first];
}

static const struct store_policies *policies_of(const struct engine_plan *plan)
{
    return &plan->set->policies->policies;
}

bool engine_decide(struct engine_worker *worker, struct engine_plan *plan, int64_t now_ns,
                   struct decision *decision, struct request_error *error)
{
    while (plan->item_count > 0) {
        bool allowed;
        enum status status =
            store_decide(worker->engine->store, policies_of(plan), items_of(worker, plan),
                         plan->item_count, now_ns, &allowed);
        if (status == STATUS_OK) {
            break;
        }
        if (!recover(worker, status, plan, ENGINE_DECIDE, now_ns, error)) {
            return false;
        }
    }
    if (plan->plain &&
        engine_answer_plain(worker->metrics, &worker->scratch, plan, decision)) {
        return true;
    }
    const struct engine_row *shown = engine_answer_make(&worker->scratch, plan, now_ns, decision);
    engine_answer_count(worker->metrics, &worker->scratch, plan, shown, decision);
    return true;
}

bool engine_refund(struct engine_worker *worker, struct engine_plan *plan, int64_t now_ns,
                   struct decision *decision, struct request_error *error)
{
    while (plan->item_count > 0) {
        enum status status =
            store_refund(worker->engine->store, policies_of(plan), items_of(worker, plan),
                         plan->item_count, now_ns);
        if (status == STATUS_OK) {
            break;
        }
        if (!recover(worker, status, plan, ENGINE_REFUND, now_ns, error)) {
            return false;
        }
    }
    (void)engine_answer_make(&worker->scratch, plan, now_ns, decision);
    return true;
}

bool engine_reset(struct engine_worker *worker, struct engine_plan *plan, int64_t now_ns,
                  uint32_t *counters, struct request_error *error)
{
    *counters = 0;
    while (plan->item_count > 0) {
        enum status status =
            store_reset(worker->engine->store, policies_of(plan), items_of(worker, plan),
                        plan->item_count, now_ns, counters);
        if (status == STATUS_OK) {
            break;
        }
        if (!recover(worker, status, plan, ENGINE_RESET, now_ns, error)) {
            return false;
        }
    }
    return true;
}

bool engine_sweep(struct engine *engine, int64_t now_ns, uint32_t budget)
{
    bool due = store_sweep(engine->store, now_ns, budget);
    engine_reload_reclaim(engine);
    return due;
}

uint64_t engine_policies_bytes(const struct engine *engine)
{
    uint64_t bytes = 0;
    for (const struct engine_set *set = engine->oldest; set != NULL; set = set->newer) {
        bytes += sizeof(*set) + set->policies->arena.total_bytes +
                 (uint64_t)set->policies->policies.count * sizeof(*set->metric_by_policy);
    }
    return bytes;
}

struct store *engine_store(struct engine *engine)
{
    return engine->store;
}

const struct policy_set *engine_worker_set(const struct engine_worker *worker)
{
    return worker->set->policies;
}
