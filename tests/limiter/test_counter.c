#include "counter.h"

#include <criterion/criterion.h>
#include <string.h>

static struct limiter_log_entry entry_at(const struct limiter_log *log, uint32_t index)
{
    return ((const struct counter *)log)->entries[index];
}

static void drop_oldest(struct counter *counter, uint32_t count)
{
    struct limiter_log *view = &counter->view;
    if (count > 0) {
        cr_assert_leq(count, view->count);
        view->base = counter->entries[count - 1].total;
        view->count -= count;
        memmove(counter->entries, counter->entries + count,
                view->count * sizeof counter->entries[0]);
    }
}

static void append(struct counter *counter, uint32_t units, int64_t at_ns)
{
    struct limiter_log *view = &counter->view;
    struct limiter_log_entry *newest = &counter->entries[view->count];
    uint32_t total = view->count > 0 ? newest[-1].total : view->base;
    if (units > 0) {
        cr_assert_lt(view->count, (uint32_t)COUNTER_LOG_ROOM);
        *newest = (struct limiter_log_entry){.at_ns = at_ns, .total = total + units};
        view->count++;
    }
}

static void pop_newest(struct counter *counter, uint32_t units)
{
    struct limiter_log *view = &counter->view;
    while (units > 0) {
        cr_assert_gt(view->count, 0u);
        struct limiter_log_entry *newest = &counter->entries[view->count - 1];
        uint32_t before = view->count > 1 ? newest[-1].total : view->base;
        uint32_t held = newest->total - before;
        uint32_t back = held < units ? held : units;
        newest->total -= back;
        units -= back;
        view->count -= back == held;
    }
}

static void apply(struct counter *counter, const struct limiter_step *step)
{
    drop_oldest(counter, step->log_drop);
    append(counter, step->log_append, step->next.time_ns);
    pop_newest(counter, step->log_pop);
    counter->view.at = entry_at;
    counter->state = step->next;
    counter->state.log = counter->held.algorithm == LIMITER_SLIDING_LOG ? &counter->view : NULL;
    counter->exists = true;
}

const struct limiter_state *counter_state(const struct counter *counter)
{
    return counter->exists ? &counter->state : NULL;
}

static enum limiter_outcome outcome_at(const struct counter *counter,
                                       const struct limiter_policy *asked, uint64_t cost,
                                       int64_t now_ns)
{
    struct limiter_step step;
    return limiter_admit(asked, counter->exists ? &counter->held : asked, counter_state(counter),
                         cost, now_ns, &step);
}

static void check_wait(const struct counter *counter, const struct limiter_policy *asked,
                       uint64_t cost, int64_t now_ns, int64_t wait_ns)
{
    int64_t then_ns;
    cr_assert_geq(wait_ns, 1);
    if (!__builtin_add_overflow(now_ns, wait_ns, &then_ns)) {
        enum limiter_outcome then = outcome_at(counter, asked, cost, then_ns);
        /* A wait of INT64_MAX stands for a longer one as well. */
        cr_assert(wait_ns == INT64_MAX || then == LIMITER_ADMIT);
        cr_assert_eq(outcome_at(counter, asked, cost, then_ns - 1), LIMITER_REFUSE);
    }
}

struct counter_answer counter_ask(struct counter *counter, const struct limiter_policy *asked,
                                  uint64_t cost, int64_t now_ns)
{
    const struct limiter_policy held = counter->exists ? counter->held : *asked;
    const struct limiter_state *state = counter_state(counter);
    struct limiter_step step;
    struct counter_answer answer = {
        .outcome = limiter_admit(asked, &held, state, cost, now_ns, &step)};
    if (answer.outcome == LIMITER_ADMIT && cost > 0) {
        limiter_report_admitted(asked, &held, state, &step, cost, now_ns, &answer.report);
        counter->held = *asked;
        apply(counter, &step);
        return answer;
    }
    limiter_report(asked, &held, state, cost, answer.outcome, now_ns, &answer.report);
    if (answer.outcome == LIMITER_REFUSE) {
        check_wait(counter, asked, cost, now_ns, answer.report.retry_after_ns);
    }
    return answer;
}

bool counter_refund(struct counter *counter, uint64_t units, int64_t now_ns)
{
    struct limiter_step step;
    if (!counter->exists ||
        !limiter_refund(&counter->held, &counter->state, units, now_ns, &step)) {
        return false;
    }
    apply(counter, &step);
    return true;
}

bool counter_convert(struct counter *counter, const struct limiter_policy *to, int64_t at_ns)
{
    struct limiter_step step;
    bool kept = limiter_convert(&counter->held, to, &counter->state, at_ns, &step);
    counter->held = *to;
    if (kept) {
        apply(counter, &step);
    } else {
        *counter = (struct counter){.exists = false};
    }
    return kept;
}

struct limiter_policy counter_policy(enum limiter_algorithm algorithm, uint64_t limit,
                                     uint64_t burst, int64_t window_ns)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, algorithm, limit, burst, window_ns, NULL);
    return policy;
}

void counter_play(struct counter *counter, const struct limiter_policy *policy,
                  const struct counter_row *rows, int count)
{
    for (int i = 0; i < count; i++) {
        const struct counter_row *row = &rows[i];
        for (int k = 0; k < row->times; k++) {
            uint64_t gone = row->outcome == LIMITER_ADMIT ? row->cost * (uint64_t)k : 0;
            struct counter_answer answer =
                counter_ask(counter, policy, row->cost, T0 + row->at_ns);
            cr_assert_eq(answer.outcome, row->outcome, "row %d, request %d", i, k);
            cr_assert_eq(answer.report.remaining, row->remaining - gone,
                         "row %d, request %d: remaining %llu", i, k,
                         (unsigned long long)answer.report.remaining);
            cr_assert_eq(answer.report.retry_after_ns, row->retry_ns,
                         "row %d, request %d: retry_after %lld", i, k,
                         (long long)answer.report.retry_after_ns);
        }
    }
}
