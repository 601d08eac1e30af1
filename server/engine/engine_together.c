#include "engine/engine_together.h"

#include "engine/engine_answer.h"
#include "engine/engine_state.h"

/* The items of all plans, close together. False: the store takes no more at once. */
static bool gather(const struct engine_worker *worker, const struct engine_plan *plans,
                   uint32_t count, struct store_item *items, uint32_t *item_count)
{
    *item_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < plans[i].item_count; j++) {
            if (*item_count == LIMITS_ROUTE_LIMITS_MAX) {
                return false;
            }
            items[(*item_count)++] = worker->scratch.items[plans[i].first + j];
        }
    }
    return true;
}

static void scatter(struct engine_worker *worker, const struct engine_plan *plans, uint32_t count,
                    const struct store_item *items)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < plans[i].item_count; j++) {
            worker->scratch.items[plans[i].first + j] = items[at++];
        }
    }
}

/* Makes all plans anew against the files in force now. */
static bool make_again(struct engine_worker *worker, struct engine_plan *plans, uint32_t count,
                       int64_t now_ns, struct request_error *error)
{
    const struct engine_set *set = shared_pointer_get(&worker->engine->current);
    while (set == plans[0].set) {
        shared_pause();
        set = shared_pointer_get(&worker->engine->current);
    }
    worker->scratch.used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct request *request = plans[i].request;
        if (!engine_plan_make(&worker->scratch, set, worker->engine->store, request, ENGINE_DECIDE,
                              now_ns, worker->scratch.used, &plans[i], error)) {
            return false;
        }
        worker->scratch.used += plans[i].count;
    }
    return true;
}

static bool ask_store(struct engine_worker *worker, struct engine_plan *plans, uint32_t count,
                      int64_t now_ns, bool *allowed, struct request_error *error)
{
    struct store_item items[LIMITS_ROUTE_LIMITS_MAX];
    uint32_t item_count;
    *allowed = true;
    for (;;) {
        if (!gather(worker, plans, count, items, &item_count)) {
            request_error_set(error, REQUEST_INVALID_ARGUMENT, "descriptors",
                              "together they meet more than %d limits", LIMITS_ROUTE_LIMITS_MAX);
            return false;
        }
        if (item_count == 0) {
            return true;
        }
        enum status status =
            store_decide(worker->engine->store, &plans[0].set->policies->policies, items,
                         item_count, now_ns, allowed);
        if (status == STATUS_OK) {
            scatter(worker, plans, count, items);
            return true;
        }
        if (status != STATUS_STALE) {
            request_error_set(error, REQUEST_UNAVAILABLE, "",
                              "the request could not be decided: %s", status_text(status));
            return false;
        }
        if (!make_again(worker, plans, count, now_ns, error)) {
            return false;
        }
    }
}

bool engine_together_decide(struct engine_worker *worker, struct engine_plan *plans,
                            uint32_t count, int64_t now_ns, bool *allowed,
                            struct engine_together_answer *answers, struct request_error *error)
{
    if (!ask_store(worker, plans, count, now_ns, allowed, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct decision decision;
        const struct engine_row *row =
            engine_answer_make(&worker->scratch, &plans[i], now_ns, &decision);
        engine_answer_count(worker->metrics, &worker->scratch, &plans[i], row, &decision);
        answers[i] = (struct engine_together_answer){.shown = decision.shown,
                                                     .limit = row == NULL ? NULL : row->limit};
    }
    return true;
}
