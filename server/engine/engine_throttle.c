#include "engine/engine_throttle.h"

#include "base/clock.h"
#include "engine/engine_state.h"
#include "engine/policy_builtin.h"

/* Where the store has no room for a new key: only a hint (semantics of a full store). */
#define STORE_FULL_WAIT_NS CLOCK_NS_PER_S

/* An identity of a limit begins with a part's length, 4 bytes low first, and no part is as long as
 * these would say; besides it is mixed with its limit's name. So the two never meet. */
static const char domain[] = "throttle";

static_assert(sizeof(domain) - 1 + LIMITS_KEY_BYTES_MAX <= ENGINE_PLAN_IDENTITY_BYTES,
              "a key with its domain fits where identities are written");

static struct fingerprint identify(struct engine_worker *worker, struct slice key)
{
    uint8_t *bytes = worker->scratch.identity;
    memcpy(bytes, domain, sizeof(domain) - 1);
    memcpy(bytes + sizeof(domain) - 1, key.data, key.size);
    return hash_bytes(store_hash_key(worker->engine->store), bytes,
                      sizeof(domain) - 1 + key.size);
}

/* The number under which the counter is stored differs from set to set. */
static void enter_set(struct engine_throttle *throttle, const struct engine_set *set)
{
    throttle->set = set;
    throttle->policy.id = policy_builtin_get(set->policies, POLICY_BUILTIN_THROTTLE)->id;
}

void engine_throttle_prepare(struct engine_worker *worker, struct slice key,
                             const struct engine_throttle_numbers *numbers,
                             struct engine_throttle *throttle)
{
    struct store_item *item = &throttle->item;
    struct limiter_policy *policy = &throttle->policy;
    int64_t period_ns = (int64_t)numbers->period_s * CLOCK_NS_PER_S;
    *item = (struct store_item){.id = identify(worker, key),
                                .policy = &throttle->policy,
                                .cost = numbers->quantity};
    store_prefetch(worker->engine->store, item->id);
    if (policy->limit != numbers->count || policy->burst != numbers->max_burst + 1 ||
        policy->window_ns != period_ns) {
        limiter_policy_init(policy, LIMITER_THROTTLE, numbers->count, numbers->max_burst + 1,
                            period_ns, NULL);
    }
    enter_set(throttle, worker->set);
}

/* After a call that did not succeed: goes on with the limits that are in force now. */
static bool recover(struct engine_worker *worker, enum status status,
                    struct engine_throttle *throttle, struct request_error *error)
{
    if (status != STATUS_STALE) {
        request_error_set(error, REQUEST_UNAVAILABLE, "", "the request could not be decided: %s",
                          status_text(status));
        return false;
    }
    const struct engine_set *set = shared_pointer_get(&worker->engine->current);
    while (set == throttle->set) {
        shared_pause();
        set = shared_pointer_get(&worker->engine->current);
    }
    enter_set(throttle, set);
    return true;
}

static enum metrics_outcome outcome_of(enum store_verdict verdict)
{
    switch (verdict) {
    case STORE_ADMITTED:
        return METRICS_ALLOWED;
    case STORE_REFUSED:
        return METRICS_REFUSED;
    case STORE_NEVER:
        return METRICS_COST_EXCEEDS;
    case STORE_FULL:
        return METRICS_STORE_FULL;
    }
    return METRICS_REFUSED;
}

static void count(const struct engine_worker *worker, const struct engine_throttle *throttle)
{
    const struct store_item *item = &throttle->item;
    metrics_decision(worker->metrics, METRICS_NO_LIMIT, outcome_of(item->verdict));
    if (item->verdict == STORE_FULL) {
        metrics_counter_refused(worker->metrics, METRICS_NO_LIMIT);
    }
    if (item->evicted < throttle->set->policies->policies.count) {
        metrics_counter_evicted(worker->metrics, throttle->set->metric_by_policy[item->evicted]);
    }
}

bool engine_throttle_decide(struct engine_worker *worker, struct engine_throttle *throttle,
                            int64_t now_ns, struct engine_throttle_answer *answer,
                            struct request_error *error)
{
    const struct store_item *item = &throttle->item;
    enum status status;
    bool allowed;
    while ((status = store_decide(worker->engine->store, &throttle->set->policies->policies,
                                  &throttle->item, 1, now_ns, &allowed)) != STATUS_OK) {
        if (!recover(worker, status, throttle, error)) {
            return false;
        }
    }
    count(worker, throttle);
    *answer = (struct engine_throttle_answer){.limited = !allowed,
                                              .never = item->verdict == STORE_NEVER,
                                              .limit = throttle->policy.burst,
                                              .remaining = item->report.remaining,
                                              .retry_after_ns = item->report.retry_after_ns,
                                              .reset_after_ns = item->report.reset_after_ns};
    if (item->verdict == STORE_FULL) {
        answer->remaining = 0;
        answer->retry_after_ns = STORE_FULL_WAIT_NS;
        answer->reset_after_ns = 0;
    }
    return true;
}

bool engine_throttle_forget(struct engine_worker *worker, struct slice key, int64_t now_ns,
                            uint32_t *forgotten, struct request_error *error)
{
    static const struct engine_throttle_numbers any = {.count = 1, .period_s = 1};
    struct engine_throttle throttle = {.set = NULL};
    enum status status;
    engine_throttle_prepare(worker, key, &any, &throttle);
    while ((status = store_reset(worker->engine->store, &throttle.set->policies->policies,
                                 &throttle.item, 1, now_ns, forgotten)) != STATUS_OK) {
        if (!recover(worker, status, &throttle, error)) {
            return false;
        }
    }
    return true;
}
