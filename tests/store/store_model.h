/* A store as plain as can be: an array of states, logs as growing arrays, the limiters called
 * directly, reloads applied to all counters at once. What the real store must agree with. */
#ifndef TESTS_STORE_MODEL_H
#define TESTS_STORE_MODEL_H

#include "base/clock.h"
#include "store/store.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

struct model_log {
    struct limiter_log log; /* first: the limiters' view is the log itself */
    struct limiter_log_entry *entries;
    uint32_t room;
};

struct model_counter {
    bool exists;
    uint32_t held;
    struct limiter_state state;
    struct model_log log;
};

struct model {
    struct model_counter *counters; /* by id.lo */
    uint32_t count;
    const struct store_policies *policies;
};

static inline struct limiter_log_entry model_at(const struct limiter_log *log, uint32_t index)
{
    return ((const struct model_log *)log)->entries[index];
}

static inline bool model_is_log(const struct limiter_policy *policy)
{
    return policy->algorithm == LIMITER_SLIDING_LOG;
}

static inline const struct limiter_state *model_state(struct model_counter *counter,
                                                      const struct limiter_policy *policy)
{
    if (!counter->exists) {
        return NULL;
    }
    counter->log.log.at = model_at;
    counter->state.log = model_is_log(policy) ? &counter->log.log : NULL;
    return &counter->state;
}

static inline void model_forget(struct model_counter *counter)
{
    free(counter->log.entries);
    *counter = (struct model_counter){0};
}

static inline void model_log_apply(struct model_log *log, const struct limiter_step *step)
{
    uint32_t drop = step->log_drop;
    if (drop > 0) {
        log->log.base = log->entries[drop - 1].total;
        log->log.count -= drop;
        memmove(log->entries, log->entries + drop, log->log.count * sizeof(*log->entries));
    }
    uint32_t count = log->log.count;
    uint32_t total = count > 0 ? log->entries[count - 1].total : log->log.base;
    if (step->log_append > 0) {
        if (count == log->room) {
            log->room = log->room * 2 + 4;
            log->entries = realloc(log->entries, log->room * sizeof(*log->entries));
        }
        if (count > 0 && log->entries[count - 1].at_ns == step->next.time_ns) {
            log->entries[count - 1].total += step->log_append;
        } else {
            log->entries[count] = (struct limiter_log_entry){
                .at_ns = step->next.time_ns, .total = total + step->log_append};
            log->log.count++;
        }
    }
    for (uint32_t left = step->log_pop; left > 0 && log->log.count > 0;) {
        struct limiter_log_entry *last = &log->entries[log->log.count - 1];
        uint32_t below = log->log.count > 1 ? last[-1].total : log->log.base;
        if (last->total - below > left) {
            last->total -= left;
            break;
        }
        left -= last->total - below;
        log->log.count--;
    }
}

static inline void model_apply(struct model_counter *counter, const struct limiter_policy *policy,
                               uint32_t held, const struct limiter_step *step)
{
    if (model_is_log(policy)) {
        model_log_apply(&counter->log, step);
    }
    counter->exists = true;
    counter->held = held;
    counter->state = step->next;
    if (model_is_log(policy)) {
        counter->state.lo = counter->state.hi = 0;
    }
}

static inline struct model_counter model_copy(const struct model_counter *from)
{
    struct model_counter copy = *from;
    if (from->log.entries != NULL) {
        copy.log.entries = malloc(from->log.room * sizeof(*copy.log.entries));
        memcpy(copy.log.entries, from->log.entries,
               from->log.log.count * sizeof(*copy.log.entries));
    }
    return copy;
}

static inline const struct limiter_policy *model_held(const struct model *model,
                                                      const struct model_counter *counter,
                                                      const struct limiter_policy *asked)
{
    return counter->exists ? &model->policies->policies[counter->held] : asked;
}

/* Charges one after another; where an enforced one refuses, all is put back. Fills each item's
 * verdict and report as the store does, but for the reports of items whose id comes twice. */
static inline bool model_decide(struct model *model, struct store_item *items, uint32_t count,
                                int64_t now_ns)
{
    struct model_counter saved[16];
    bool allowed = true;
    for (uint32_t i = 0; i < count; i++) {
        struct model_counter *counter = &model->counters[items[i].id.lo];
        const struct limiter_policy *policy = items[i].policy;
        const struct limiter_policy *held = model_held(model, counter, policy);
        struct limiter_step step;
        saved[i] = model_copy(counter);
        const struct limiter_state *state = model_state(counter, policy);
        enum limiter_outcome outcome =
            limiter_admit(policy, held, state, items[i].cost, now_ns, &step);
        items[i].verdict = outcome == LIMITER_ADMIT    ? STORE_ADMITTED
                           : outcome == LIMITER_REFUSE ? STORE_REFUSED
                                                       : STORE_NEVER;
        if (outcome == LIMITER_ADMIT) {
            limiter_report_admitted(policy, held, state, &step, items[i].cost, now_ns,
                                    &items[i].report);
        } else {
            limiter_report(policy, held, state, items[i].cost, outcome, now_ns,
                           &items[i].report);
            allowed = allowed && items[i].shadow;
        }
        if (outcome == LIMITER_ADMIT && items[i].cost > 0) {
            model_apply(counter, policy, policy->id, &step);
        }
    }
    for (uint32_t i = count; i-- > 0;) {
        struct model_counter *counter = &model->counters[items[i].id.lo];
        if (allowed) {
            free(saved[i].log.entries);
            continue;
        }
        free(counter->log.entries);
        *counter = saved[i];
        if (items[i].verdict == STORE_ADMITTED) {
            const struct limiter_policy *policy = items[i].policy;
            const struct limiter_policy *held = model_held(model, counter, policy);
            limiter_report(policy, held, model_state(counter, policy), items[i].cost,
                           LIMITER_ADMIT, now_ns, &items[i].report);
        }
    }
    return allowed;
}

static inline void model_look(struct model *model, struct store_item *item, int64_t now_ns)
{
    struct model_counter *counter = &model->counters[item->id.lo];
    const struct limiter_policy *held = model_held(model, counter, item->policy);
    limiter_report(item->policy, held, model_state(counter, item->policy), 0, LIMITER_ADMIT,
                   now_ns, &item->report);
}

static inline void model_refund(struct model *model, struct store_item *items, uint32_t count,
                                int64_t now_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        struct model_counter *counter = &model->counters[items[i].id.lo];
        const struct limiter_policy *held = model_held(model, counter, items[i].policy);
        struct limiter_step step;
        if (limiter_refund(held, model_state(counter, items[i].policy), items[i].cost, now_ns,
                           &step)) {
            model_apply(counter, held, counter->held, &step);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        model_look(model, &items[i], now_ns);
    }
}

static inline uint32_t model_reset(struct model *model, struct store_item *items, uint32_t count,
                                   int64_t now_ns)
{
    uint32_t forgotten = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct model_counter *counter = &model->counters[items[i].id.lo];
        if (counter->exists) {
            const struct limiter_policy *held = model_held(model, counter, items[i].policy);
            const struct limiter_state *state = model_state(counter, held);
            int64_t idle_ns = limiter_idle_at_ns(held, state);
            forgotten += idle_ns > now_ns && idle_ns > state->time_ns;
        }
        model_forget(counter);
    }
    return forgotten;
}

static inline void model_swap(struct model *model, const struct store_change *change)
{
    for (uint32_t i = 0; i < model->count; i++) {
        struct model_counter *counter = &model->counters[i];
        if (!counter->exists) {
            continue;
        }
        uint32_t to = change->map[counter->held];
        const struct limiter_policy *from = &model->policies->policies[counter->held];
        struct limiter_step step;
        if (to == STORE_GONE ||
            !limiter_convert(from, &change->next->policies[to], model_state(counter, from),
                             change->at_ns, &step)) {
            model_forget(counter);
            continue;
        }
        model_apply(counter, from, to, &step);
    }
    model->policies = change->next;
}

/* ---- random numbers that are the same in each run ---- */

struct model_random {
    uint64_t state;
};

static inline uint64_t model_random(struct model_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static inline uint64_t model_below(struct model_random *random, uint64_t bound)
{
    return model_random(random) % bound;
}

#endif
