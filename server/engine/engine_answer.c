/* Which limit an answer shows, and in which numbers.
 *
 * Refused: the refusing limit with the longest wait ("never" is the longest, the first of equals),
 * beside the smallest `remaining` of all enforced limits. Allowed: the enforced limit with the
 * least remaining. A shadow limit never shows; it only turns UNDER_LIMIT into SHADOWED. A row that
 * was skipped (a shadow limit that cannot tell who is counted) has no verdict and no details row;
 * a shadow limit without room for its counter has a STORE_FULL row and would not have refused. */
#include "engine/engine_answer.h"

#include "base/clock.h"

#define WAIT_NEVER UINT64_MAX /* longer than every duration */
#define STORE_FULL_WAIT_NS CLOCK_NS_PER_S

/* What the rows say together. Indices count from the plan's first row; NONE where there is none. */
#define NONE UINT32_MAX
struct tally {
    uint32_t refusing;  /* enforced, the longest wait */
    uint32_t least;     /* enforced, the least remaining */
    uint32_t unlimited; /* enforced and unlimited, the first */
    uint32_t enforced;  /* limits that are no shadow */
    uint32_t would_refuse;
    uint64_t longest_wait;
    uint64_t least_remaining;
    int64_t delay_ns; /* the largest of the enforced */
};

static const struct store_item *item_of(const struct engine_scratch *scratch,
                                        const struct engine_row *row)
{
    return &scratch->items[row->item];
}

/* A row's own verdict. */
static enum reason row_reason(const struct engine_scratch *scratch, const struct engine_row *row)
{
    if (row->variant->kind == POLICY_UNLIMITED) {
        return REASON_UNLIMITED;
    }
    if (row->variant->kind == POLICY_BLOCKED) {
        return REASON_BLOCKED;
    }
    switch (item_of(scratch, row)->verdict) {
    case STORE_ADMITTED:
        return REASON_UNDER_LIMIT;
    case STORE_REFUSED:
        return REASON_OVER_LIMIT;
    case STORE_NEVER:
        return REASON_COST_EXCEEDS_LIMIT;
    case STORE_FULL:
        return REASON_STORE_FULL;
    }
    return REASON_OVER_LIMIT;
}

static bool is_refusal(enum reason reason)
{
    return reason >= REASON_OVER_LIMIT;
}

static uint64_t row_remaining(const struct engine_scratch *scratch, const struct engine_row *row,
                              enum reason reason)
{
    if (reason == REASON_UNLIMITED) {
        return DECISION_UNLIMITED;
    }
    return reason == REASON_BLOCKED || reason == REASON_STORE_FULL
               ? 0
               : item_of(scratch, row)->report.remaining;
}

static uint64_t row_wait(const struct engine_scratch *scratch, const struct engine_row *row,
                         enum reason reason)
{
    if (reason == REASON_STORE_FULL) {
        return STORE_FULL_WAIT_NS;
    }
    return reason == REASON_OVER_LIMIT ? (uint64_t)item_of(scratch, row)->report.retry_after_ns
                                       : WAIT_NEVER;
}

/* An enforced row that is not unlimited. */
static void tally_enforced(struct tally *tally, const struct engine_scratch *scratch,
                           const struct engine_row *row, uint32_t index, enum reason reason)
{
    uint64_t remaining = row_remaining(scratch, row, reason);
    if (tally->least == NONE || remaining < tally->least_remaining) {
        tally->least = index;
        tally->least_remaining = remaining;
    }
    if (reason == REASON_UNDER_LIMIT) {
        int64_t delay_ns = item_of(scratch, row)->report.delay_ns;
        tally->delay_ns = delay_ns > tally->delay_ns ? delay_ns : tally->delay_ns;
        return;
    }
    uint64_t wait = row_wait(scratch, row, reason);
    if (tally->refusing == NONE || wait > tally->longest_wait) {
        tally->refusing = index;
        tally->longest_wait = wait;
    }
}

static struct tally tally_rows(const struct engine_scratch *scratch,
                               const struct engine_plan *plan)
{
    struct tally tally = {.refusing = NONE, .least = NONE, .unlimited = NONE};
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct engine_row *row = &scratch->rows[plan->first + i];
        if (row->variant == NULL) {
            continue;
        }
        enum reason reason = row_reason(scratch, row);
        if (row->limit->shadow) {
            tally.would_refuse += is_refusal(reason) && reason != REASON_STORE_FULL;
            continue;
        }
        tally.enforced++;
        if (reason != REASON_UNLIMITED) {
            tally_enforced(&tally, scratch, row, i, reason);
        } else if (tally.unlimited == NONE) {
            tally.unlimited = i;
        }
    }
    return tally;
}

/* Where the store had no room: the reset of a fresh counter. */
static int64_t fresh_reset_ns(const struct store_item *item, int64_t now_ns)
{
    struct limiter_report report;
    limiter_report(item->policy, item->policy, NULL, 0, LIMITER_ADMIT, now_ns, &report);
    return report.reset_after_ns;
}

/* A row of numbers: what the store reported. */
static void fill_counted(struct decision_row *out, const struct store_item *item, int64_t now_ns)
{
    const struct limiter_report *report = &item->report;
    out->limit = item->policy->burst;
    out->quota = item->policy->limit;
    out->burst = item->policy->burst;
    out->remaining = report->remaining;
    out->reset_after_ns = report->reset_after_ns;
    switch (out->reason) {
    case REASON_STORE_FULL:
        out->remaining = 0;
        out->retry_after_ns = STORE_FULL_WAIT_NS;
        out->reset_after_ns = fresh_reset_ns(item, now_ns);
        return;
    case REASON_OVER_LIMIT:
        out->retry_after_ns = report->retry_after_ns;
        return;
    case REASON_COST_EXCEEDS_LIMIT:
        out->retry_after_ns = DECISION_NEVER;
        return;
    default:
        out->delay_ns = report->delay_ns;
        return;
    }
}

static void fill_row(struct decision_row *out, const struct engine_scratch *scratch,
                     const struct engine_row *row, int64_t now_ns)
{
    *out = (struct decision_row){.limit_name = row->limit->name,
                                 .reason = row_reason(scratch, row),
                                 .shadow = row->limit->shadow,
                                 .algorithm = row->limit->algorithm,
                                 .retry_after_ns = DECISION_ABSENT,
                                 .reset_after_ns = DECISION_ABSENT};
    out->allowed = !is_refusal(out->reason);
    if (out->reason == REASON_UNLIMITED) {
        out->limit = out->remaining = out->quota = out->burst = DECISION_UNLIMITED;
    } else if (out->reason == REASON_BLOCKED) {
        out->retry_after_ns = DECISION_NEVER;
    } else {
        fill_counted(out, item_of(scratch, row), now_ns);
    }
}

/* W, or the length of the calendar window that now lies in. */
static void fill_window(struct decision_row *out, const struct policy_limit *limit, int64_t now_ns)
{
    int64_t start_ns;
    int64_t end_ns;
    out->window_ns = limit->window_ns;
    if (limit->window_ns == 0) {
        calendar_window(&limit->calendar, now_ns, &start_ns, &end_ns);
        out->window_ns = arith_since_ns(end_ns, start_ns);
        out->calendar = true;
    }
}

static void fill_details(struct decision *decision, const struct engine_scratch *scratch,
                         const struct engine_plan *plan, int64_t now_ns)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct engine_row *row = &scratch->rows[plan->first + i];
        if (row->variant == NULL) {
            continue;
        }
        struct decision_row *out = &decision->rows[decision->row_count++];
        fill_row(out, scratch, row, now_ns);
        fill_window(out, row->limit, now_ns);
    }
}

/* No enforced limit has numbers to show. */
static void fill_unlimited(struct decision_row *out, const struct engine_plan *plan,
                           const struct tally *tally)
{
    *out = (struct decision_row){.allowed = true,
                                 .limit = DECISION_UNLIMITED,
                                 .remaining = DECISION_UNLIMITED,
                                 .quota = DECISION_UNLIMITED,
                                 .burst = DECISION_UNLIMITED,
                                 .retry_after_ns = DECISION_ABSENT,
                                 .reset_after_ns = DECISION_ABSENT};
    if (tally->would_refuse > 0) {
        out->reason = REASON_SHADOWED;
    } else if (tally->enforced > 0) {
        out->reason = REASON_UNLIMITED;
    } else {
        out->reason = plan->count > 0 ? REASON_UNDER_LIMIT : REASON_NO_LIMIT;
    }
}

const struct engine_row *engine_answer_make(const struct engine_scratch *scratch,
                                            const struct engine_plan *plan, int64_t now_ns,
                                            struct decision *decision)
{
    struct tally tally = tally_rows(scratch, plan);
    const struct engine_row *row = NULL;
    struct decision_row *shown = &decision->shown;
    bool refused = tally.refusing != NONE;
    uint32_t index = refused ? tally.refusing : tally.least;

    if (index != NONE) {
        row = &scratch->rows[plan->first + index];
        fill_row(shown, scratch, row, now_ns);
        shown->remaining = tally.least_remaining;
        shown->delay_ns = tally.delay_ns;
        shown->reason = refused || tally.would_refuse == 0 ? shown->reason : REASON_SHADOWED;
    } else {
        fill_unlimited(shown, plan, &tally);
    }
    if (shown->reason == REASON_UNLIMITED) {
        row = &scratch->rows[plan->first + tally.unlimited];
        shown->limit_name = row->limit->name;
    }
    decision->row_count = 0;
    if (plan->request->details) {
        fill_details(decision, scratch, plan, now_ns);
    }
    return row;
}

bool engine_answer_plain(struct metrics_worker *metrics, const struct engine_scratch *scratch,
                         const struct engine_plan *plan, struct decision *decision)
{
    const struct policy_limit *limit = scratch->rows[plan->first].limit;
    const struct store_item *item = &scratch->items[plan->first];
    if (item->verdict != STORE_ADMITTED || item->evicted != STORE_GONE ||
        plan->request->details) {
        return false;
    }
    decision->shown = (struct decision_row){.limit_name = limit->name,
                                            .allowed = true,
                                            .algorithm = limit->algorithm,
                                            .reason = REASON_UNDER_LIMIT,
                                            .limit = item->policy->burst,
                                            .quota = item->policy->limit,
                                            .burst = item->policy->burst,
                                            .remaining = item->report.remaining,
                                            .retry_after_ns = DECISION_ABSENT,
                                            .reset_after_ns = item->report.reset_after_ns,
                                            .delay_ns = item->report.delay_ns};
    decision->row_count = 0;
    metrics_decision(metrics, limit->metric, METRICS_ALLOWED);
    return true;
}

static enum metrics_outcome metric_of(enum reason reason)
{
    switch (reason) {
    case REASON_UNDER_LIMIT:
    case REASON_NO_LIMIT:
    case REASON_SHADOWED:
        return METRICS_ALLOWED;
    case REASON_UNLIMITED:
        return METRICS_UNLIMITED;
    case REASON_OVER_LIMIT:
        return METRICS_REFUSED;
    case REASON_COST_EXCEEDS_LIMIT:
        return METRICS_COST_EXCEEDS;
    case REASON_BLOCKED:
        return METRICS_BLOCKED;
    case REASON_STORE_FULL:
        return METRICS_STORE_FULL;
    }
    return METRICS_REFUSED;
}

/* What one row adds besides the request's own count. */
static void count_row(struct metrics_worker *metrics, const struct engine_scratch *scratch,
                      const struct engine_plan *plan, const struct engine_row *row, bool allowed)
{
    uint32_t metric = row->limit->metric;
    if (row->variant == NULL) {
        metrics_decision(metrics, metric, METRICS_SHADOW_ERROR);
        return;
    }
    enum reason reason = row_reason(scratch, row);
    if (row->limit->shadow && allowed && is_refusal(reason) && reason != REASON_STORE_FULL) {
        metrics_decision(metrics, metric, METRICS_WOULD_REFUSE);
    }
    if (row->item == ENGINE_PLAN_NO_ITEM) {
        return;
    }
    if (reason == REASON_STORE_FULL) {
        metrics_counter_refused(metrics, metric);
    }
    uint32_t evicted = item_of(scratch, row)->evicted;
    if (evicted < plan->set->policies->policies.count) {
        metrics_counter_evicted(metrics, plan->set->metric_by_policy[evicted]);
    }
}

void engine_answer_count(struct metrics_worker *metrics, const struct engine_scratch *scratch,
                         const struct engine_plan *plan, const struct engine_row *shown,
                         const struct decision *decision)
{
    uint32_t metric = shown == NULL ? METRICS_NO_LIMIT : shown->limit->metric;
    metrics_decision(metrics, metric, metric_of(decision->shown.reason));
    if (plan->route == NULL) {
        metrics_no_limit(metrics);
    }
    for (uint32_t i = 0; i < plan->count; i++) {
        count_row(metrics, scratch, plan, &scratch->rows[plan->first + i],
                  decision->shown.allowed);
    }
}
