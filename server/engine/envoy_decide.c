#include "engine/envoy_decide.h"

#include "engine/envoy_file.h"
#include "engine/envoy_sluice.h"
#include "engine/envoy_subject.h"

/* Where the store has no room for a new counter: only a hint. */
#define STORE_FULL_WAIT_S 1

/* ---- answers ---- */

static void fill_limit(struct envoy_status *status, const struct envoy_subject *subject)
{
    status->has_limit = true;
    status->requests_per_unit = envoy_subject_u32(subject->numbers->burst);
    status->unit = subject->unit;
    status->unit_multiplier = 1;
    status->name = subject->rule == NULL ? slice_make(NULL, 0) : subject->rule->name;
}

/* What nothing counts: no rule, a replaced one, an unlimited one. */
static void answer_uncounted(const struct envoy_work *work, const struct envoy_subject *subject,
                             struct envoy_status *status)
{
    struct metrics_worker *metrics = work->worker->metrics;
    bool unlimited = subject->rule != NULL && subject->rule->unlimited && !subject->replaced;
    *status = (struct envoy_status){.code = ENVOY_CODE_OK,
                                    .remaining = unlimited ? UINT32_MAX : 0};
    metrics_decision(metrics, METRICS_NO_LIMIT, unlimited ? METRICS_UNLIMITED : METRICS_ALLOWED);
    if (subject->rule == NULL) {
        metrics_no_limit(metrics);
    }
}

static enum metrics_outcome outcome_of(enum store_verdict verdict, bool shadow)
{
    switch (verdict) {
    case STORE_ADMITTED:
        return METRICS_ALLOWED;
    case STORE_REFUSED:
        return shadow ? METRICS_WOULD_REFUSE : METRICS_REFUSED;
    case STORE_NEVER:
        return shadow ? METRICS_WOULD_REFUSE : METRICS_COST_EXCEEDS;
    case STORE_FULL:
        return shadow ? METRICS_ALLOWED : METRICS_STORE_FULL;
    }
    return METRICS_REFUSED;
}

static void count_item(const struct envoy_work *work, const struct envoy_subject *subject,
                       const struct store_item *item)
{
    struct metrics_worker *metrics = work->worker->metrics;
    metrics_decision(metrics, subject->metric, outcome_of(item->verdict, subject->shadow));
    if (item->verdict == STORE_FULL) {
        metrics_counter_refused(metrics, subject->metric);
    }
    if (item->evicted < work->set->policies->policies.count) {
        metrics_counter_evicted(metrics, work->set->metric_by_policy[item->evicted]);
    }
}

static void answer_counted(const struct envoy_work *work, const struct envoy_subject *subject,
                           const struct store_item *item, struct envoy_status *status)
{
    const struct limiter_report *report = &item->report;
    bool over = item->verdict != STORE_ADMITTED && !subject->shadow;
    *status = (struct envoy_status){.code = over ? ENVOY_CODE_OVER_LIMIT : ENVOY_CODE_OK,
                                    .remaining = envoy_subject_u32(report->remaining),
                                    .has_reset = true,
                                    .reset_s = envoy_subject_seconds(report->reset_after_ns)};
    fill_limit(status, subject);
    if (over && item->verdict == STORE_FULL) {
        status->remaining = 0;
        status->reset_s = STORE_FULL_WAIT_S;
    } else if (over) {
        status->has_reset = item->verdict == STORE_REFUSED;
        status->reset_s = envoy_subject_seconds(report->retry_after_ns);
    }
    count_item(work, subject, item);
}

/* Counters that are given hits back, or were not to be: allowed whatever stands in them. */
static void answer_given(const struct envoy_subject *subject, const struct store_item *item,
                         struct envoy_status *status)
{
    *status = (struct envoy_status){
        .code = ENVOY_CODE_OK,
        .remaining = envoy_subject_u32(item->report.remaining),
        .has_reset = true,
        .reset_s = envoy_subject_seconds(item->report.reset_after_ns)};
    fill_limit(status, subject);
}

/* ---- all together ---- */

/* The items of one call to the store, and whose they are. */
struct batch {
    uint32_t count;
    struct store_item items[LIMITS_ROUTE_LIMITS_MAX];
    uint32_t of[LIMITS_ROUTE_LIMITS_MAX];
};

/* The subjects that are counted, or those that give back. False: they are too many. */
static bool gather(const struct envoy_work *work, bool negative, struct batch *batch)
{
    batch->count = 0;
    for (uint32_t i = 0; i < work->request->descriptor_count; i++) {
        const struct envoy_subject *subject = &work->subjects[i];
        if (subject->numbers == NULL || subject->negative != negative) {
            continue;
        }
        if (batch->count == LIMITS_ROUTE_LIMITS_MAX) {
            request_error_set(work->error, REQUEST_INVALID_ARGUMENT, "descriptors",
                              "more than %d of them meet a limit", LIMITS_ROUTE_LIMITS_MAX);
            return false;
        }
        batch->of[batch->count] = i;
        batch->items[batch->count++] = envoy_subject_item(subject);
    }
    return true;
}

/* Quotas refuse only where all of them are over: one alone is like any other limit, and one that
 * never is over keeps the others from refusing. */
static void settle_quotas(const struct envoy_work *work, struct batch *batch)
{
    uint32_t quotas = 0;
    bool never = false;
    for (uint32_t i = 0; i < work->request->descriptor_count; i++) {
        const struct envoy_subject *subject = &work->subjects[i];
        if (subject->quota && !subject->replaced) {
            quotas++;
            never = never || subject->shadow || subject->negative || subject->numbers == NULL;
        }
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        if (work->subjects[batch->of[i]].quota && (never || quotas > 1)) {
            batch->items[i].shadow = true;
            batch->items[i].quota = !never;
        }
    }
}

/* Gives back, or (where the request was refused) only looks. */
static bool give_back(struct envoy_work *work, bool allowed)
{
    struct store *store = work->worker->engine->store;
    struct batch batch;
    enum envoy_call call = ENVOY_CALL_AGAIN;
    while (call == ENVOY_CALL_AGAIN) {
        if (!gather(work, true, &batch)) {
            return false;
        }
        const struct store_policies *policies = &work->set->policies->policies;
        for (uint32_t i = 0; i < batch.count && !allowed; i++) {
            batch.items[i].cost = 0;
        }
        enum status status = STATUS_OK;
        if (batch.count > 0) {
            status = store_refund(store, policies, batch.items, batch.count, work->now_ns);
        }
        call = envoy_subject_after(work, status);
        if (call == ENVOY_CALL_AGAIN && !envoy_subject_find(work)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < batch.count && call == ENVOY_CALL_DONE; i++) {
        answer_given(&work->subjects[batch.of[i]], &batch.items[i],
                     &work->answer->statuses[batch.of[i]]);
    }
    return call == ENVOY_CALL_DONE;
}

static bool decide_together(struct envoy_work *work)
{
    struct batch batch;
    bool allowed = true;
    enum envoy_call call = ENVOY_CALL_AGAIN;
    while (call == ENVOY_CALL_AGAIN) {
        /* Those that give back are gathered once before anything is charged: they may be too
         * many. */
        if (!envoy_subject_find(work) || !gather(work, true, &batch) ||
            !gather(work, false, &batch)) {
            return false;
        }
        settle_quotas(work, &batch);
        enum status status = STATUS_OK;
        if (batch.count > 0) {
            status = store_decide(work->worker->engine->store, &work->set->policies->policies,
                                  batch.items, batch.count, work->now_ns, &allowed);
        }
        call = envoy_subject_after(work, status);
    }
    if (call == ENVOY_CALL_FAILED) {
        return false;
    }
    for (uint32_t i = 0; i < work->request->descriptor_count; i++) {
        if (work->subjects[i].numbers == NULL) {
            answer_uncounted(work, &work->subjects[i], &work->answer->statuses[i]);
        }
    }
    for (uint32_t i = 0; i < batch.count; i++) {
        answer_counted(work, &work->subjects[batch.of[i]], &batch.items[i],
                       &work->answer->statuses[batch.of[i]]);
    }
    work->answer->overall = allowed ? ENVOY_CODE_OK : ENVOY_CODE_OVER_LIMIT;
    return give_back(work, allowed);
}

/* ---- one by one ---- */

/* A fixed window is charged past its limit: asked with the largest there is, and compared here. */
static bool counts_on(const struct envoy_subject *subject)
{
    return subject->numbers->algorithm == LIMITER_FIXED_WINDOW;
}

static struct limiter_policy without_limit(const struct limiter_policy *numbers)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, numbers->algorithm, LIMITS_QUOTA_MAX, LIMITS_QUOTA_MAX,
                        numbers->window_ns, numbers->calendar);
    policy.id = numbers->id;
    return policy;
}

/* What the window's count says of the limit. */
static void compare(const struct envoy_subject *subject, struct store_item *item)
{
    uint64_t used = LIMITS_QUOTA_MAX - item->report.remaining;
    uint64_t limit = subject->numbers->limit;
    if (item->verdict == STORE_FULL) {
        return;
    }
    bool over = item->verdict != STORE_ADMITTED || used > limit;
    item->verdict = over ? STORE_REFUSED : STORE_ADMITTED;
    item->report.remaining = over || used > limit ? 0 : limit - used;
    item->report.retry_after_ns = item->report.reset_after_ns;
}

/* Decides, or gives back to, one subject. */
static bool decide_one(struct envoy_work *work, uint32_t index, struct store_item *item)
{
    enum envoy_call call = ENVOY_CALL_AGAIN;
    while (call == ENVOY_CALL_AGAIN) {
        const struct envoy_subject *subject = &work->subjects[index];
        struct store *store = work->worker->engine->store;
        const struct store_policies *policies = &work->set->policies->policies;
        bool allowed;
        if (subject->numbers == NULL) {
            return true;
        }
        struct limiter_policy policy = without_limit(subject->numbers);
        *item = envoy_subject_item(subject);
        if (counts_on(subject) && !subject->negative) {
            item->policy = &policy;
        }
        call = envoy_subject_after(
            work, subject->negative
                      ? store_refund(store, policies, item, 1, work->now_ns)
                      : store_decide(store, policies, item, 1, work->now_ns, &allowed));
        if (call == ENVOY_CALL_AGAIN && !envoy_subject_find(work)) {
            return false;
        }
    }
    return call == ENVOY_CALL_DONE;
}

static enum envoy_code overall_of(const struct envoy_work *work)
{
    uint32_t quotas = 0;
    uint32_t quotas_over = 0;
    for (uint32_t i = 0; i < work->request->descriptor_count; i++) {
        const struct envoy_subject *subject = &work->subjects[i];
        bool over = work->answer->statuses[i].code == ENVOY_CODE_OVER_LIMIT;
        if (subject->quota && !subject->replaced) {
            quotas++;
            quotas_over += over;
        } else if (over) {
            return ENVOY_CODE_OVER_LIMIT;
        }
    }
    return quotas > 0 && quotas == quotas_over ? ENVOY_CODE_OVER_LIMIT : ENVOY_CODE_OK;
}

static bool decide_in_order(struct envoy_work *work)
{
    if (!envoy_subject_find(work)) {
        return false;
    }
    for (uint32_t i = 0; i < work->request->descriptor_count; i++) {
        struct envoy_status *status = &work->answer->statuses[i];
        struct store_item item;
        if (!decide_one(work, i, &item)) {
            return false;
        }
        const struct envoy_subject *subject = &work->subjects[i];
        if (subject->numbers == NULL) {
            answer_uncounted(work, subject, status);
        } else if (subject->negative) {
            answer_given(subject, &item, status);
        } else {
            if (counts_on(subject)) {
                compare(subject, &item);
            }
            answer_counted(work, subject, &item, status);
        }
    }
    work->answer->overall = overall_of(work);
    return true;
}

bool envoy_decide(struct engine_worker *worker, const struct envoy_request *request,
                  int64_t now_ns, struct envoy_answer *answer, struct request_error *error)
{
    struct envoy_work work;
    work.worker = worker;
    work.request = request;
    work.set = worker->set;
    work.now_ns = now_ns;
    work.answer = answer;
    work.error = error;
    if (!envoy_subject_check(&work)) {
        return false;
    }
    answer->count = request->descriptor_count;
    bool classic = worker->set->policies->envoy->classic;
    if (slice_equal_text(request->domain, ENVOY_FILE_OWN_DOMAIN)) {
        return envoy_sluice_decide(&work, classic);
    }
    return classic ? decide_in_order(&work) : decide_together(&work);
}
