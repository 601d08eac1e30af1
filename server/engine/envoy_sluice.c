#include "engine/envoy_sluice.h"

#include "base/clock.h"
#include "engine/engine_together.h"

#include <stdio.h>

/* The descriptors as requests, and what they come to. */
struct asked {
    struct request requests[LIMITS_ENVOY_DESCRIPTORS_MAX];
    struct engine_plan plans[LIMITS_ENVOY_DESCRIPTORS_MAX];
    uint32_t of[LIMITS_ENVOY_DESCRIPTORS_MAX]; /* plan -> descriptor */
    struct engine_together_answer answers[LIMITS_ENVOY_DESCRIPTORS_MAX];
    uint32_t count;
};

static bool fail(const struct envoy_work *work, uint32_t index, const char *message)
{
    char field[LIMITS_FIELD_BYTES_MAX];
    (void)snprintf(field, sizeof(field), "descriptors[%u].entries", index);
    request_error_set(work->error, REQUEST_INVALID_ARGUMENT, field, "%s", message);
    return false;
}

/* The engine's complaint names a field of the request: says of which descriptor. */
static bool fail_at(const struct envoy_work *work, uint32_t index)
{
    char field[2 * LIMITS_FIELD_BYTES_MAX];
    struct request_error before = *work->error;
    if (before.field[0] != '\0') {
        (void)snprintf(field, sizeof(field), "descriptors[%u].%s", index, before.field);
        request_error_set(work->error, before.code, field, "%s", before.message);
    }
    return false;
}

static bool read_request(const struct envoy_work *work, uint32_t index, struct request *request)
{
    const struct envoy_descriptor *descriptor = &work->request->descriptors[index];
    uint32_t keys = 0;
    uint32_t routes = 0;
    *request = (struct request){.utf8 = true};
    for (uint32_t i = 0; i < descriptor->entry_count; i++) {
        const struct envoy_entry *entry = &descriptor->entries[i];
        if (slice_equal_text(entry->key, "key")) {
            request->key = entry->value;
            keys++;
        } else if (slice_equal_text(entry->key, "route")) {
            request->route = entry->value;
            routes++;
        } else if (request->attribute_count++ < LIMITS_ATTRIBUTES_MAX) {
            request->attributes[request->attribute_count - 1] =
                (struct request_attribute){.name = entry->key, .value = entry->value};
        }
    }
    if (keys != 1 || routes != 1) {
        return fail(work, index, "the domain sluice needs one entry key and one entry route");
    }
    request->has_cost = descriptor->has_hits || work->request->hits > 0;
    request->cost = descriptor->has_hits ? descriptor->hits : work->request->hits;
    return true;
}

static enum envoy_unit calendar_unit(enum calendar_unit unit)
{
    switch (unit) {
    case CALENDAR_DAY:
        return ENVOY_DAY;
    case CALENDAR_WEEK:
        return ENVOY_WEEK;
    case CALENDAR_MONTH:
        return ENVOY_MONTH;
    case CALENDAR_YEAR:
        return ENVOY_YEAR;
    }
    return ENVOY_UNKNOWN;
}

/* The largest unit that divides the window, and how many of them it is. */
static void fill_unit(const struct policy_limit *limit, struct envoy_status *status)
{
    static const struct {
        enum envoy_unit unit;
        int64_t seconds;
    } units[] = {{ENVOY_WEEK, 7 * 86400}, {ENVOY_DAY, 86400},   {ENVOY_HOUR, 3600},
                 {ENVOY_MINUTE, 60},      {ENVOY_SECOND, 1}};
    status->unit_multiplier = 1;
    if (limit->window_ns == 0) {
        status->unit = calendar_unit(limit->calendar.unit);
        return;
    }
    status->unit = ENVOY_UNKNOWN;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        int64_t unit_ns = units[i].seconds * CLOCK_NS_PER_S;
        if (limit->window_ns % unit_ns == 0) {
            status->unit = units[i].unit;
            status->unit_multiplier = (uint32_t)(limit->window_ns / unit_ns);
            return;
        }
    }
}

static void answer(const struct decision_row *shown, const struct policy_limit *limit,
                   struct envoy_status *status)
{
    bool refused = !shown->allowed;
    int64_t reset_ns = refused ? shown->retry_after_ns : shown->reset_after_ns;
    *status = (struct envoy_status){.code = refused ? ENVOY_CODE_OVER_LIMIT : ENVOY_CODE_OK};
    if (shown->reason == REASON_NO_LIMIT) {
        return;
    }
    status->remaining = envoy_subject_u32(shown->remaining);
    if (shown->reason == REASON_UNLIMITED || limit == NULL) {
        status->remaining = UINT32_MAX;
        return;
    }
    status->has_limit = true;
    status->requests_per_unit = envoy_subject_u32(shown->limit);
    status->name = shown->limit_name;
    fill_unit(limit, status);
    status->has_reset = reset_ns >= 0;
    status->reset_s = reset_ns >= 0 ? envoy_subject_seconds(reset_ns) : 0;
}

/* Plans those that ask. False: *work->error says what is wrong. */
static bool prepare(const struct envoy_work *work, struct asked *asked)
{
    asked->count = 0;
    for (uint32_t i = 0; i < work->request->descriptor_count; i++) {
        if (work->request->descriptors[i].negative) {
            continue;
        }
        asked->of[asked->count] = i;
        if (!engine_prepare(work->worker, &asked->requests[i], ENGINE_DECIDE, work->now_ns,
                            &asked->plans[asked->count], work->error)) {
            return fail_at(work, i);
        }
        asked->count++;
    }
    return true;
}

static bool decide_one(const struct envoy_work *work, struct asked *asked, uint32_t index)
{
    engine_rewind(work->worker);
    if (!engine_prepare(work->worker, &asked->requests[index], ENGINE_DECIDE, work->now_ns,
                        &asked->plans[0], work->error)) {
        return fail_at(work, index);
    }
    bool allowed;
    if (!engine_together_decide(work->worker, &asked->plans[0], 1, work->now_ns, &allowed,
                                &asked->answers[0], work->error)) {
        return fail_at(work, index);
    }
    answer(&asked->answers[0].shown, asked->answers[0].limit, &work->answer->statuses[index]);
    return true;
}

/* The limit of that name on the request's route. */
static const struct policy_limit *limit_named(const struct engine_plan *plan, struct slice name)
{
    for (uint32_t i = 0; plan->route != NULL && i < plan->route->limit_count; i++) {
        if (slice_equal(plan->route->limits[i]->name, name)) {
            return plan->route->limits[i];
        }
    }
    return NULL;
}

/* Gives back, or (where the others were refused) only looks; the code is OK whatever it finds. */
static bool give_back(const struct envoy_work *work, struct asked *asked, uint32_t index,
                      bool allowed)
{
    struct engine_plan *plan = &asked->plans[0];
    struct request *request = &asked->requests[index];
    struct decision decision;
    engine_rewind(work->worker);
    if (!allowed) {
        request->has_cost = true;
        request->cost = 0;
    }
    if (!engine_prepare(work->worker, request, ENGINE_REFUND, work->now_ns, plan, work->error) ||
        !engine_refund(work->worker, plan, work->now_ns, &decision, work->error)) {
        return fail_at(work, index);
    }
    struct envoy_status *status = &work->answer->statuses[index];
    answer(&decision.shown, limit_named(plan, decision.shown.limit_name), status);
    status->code = ENVOY_CODE_OK;
    return true;
}

static bool decide_together(const struct envoy_work *work, struct asked *asked, bool *allowed)
{
    *allowed = true;
    if (!prepare(work, asked)) {
        return false;
    }
    if (asked->count > 0 &&
        !engine_together_decide(work->worker, asked->plans, asked->count, work->now_ns, allowed,
                                asked->answers, work->error)) {
        return false;
    }
    for (uint32_t i = 0; i < asked->count; i++) {
        answer(&asked->answers[i].shown, asked->answers[i].limit,
               &work->answer->statuses[asked->of[i]]);
    }
    return true;
}

bool envoy_sluice_decide(struct envoy_work *work, bool classic)
{
    struct asked asked;
    uint32_t count = work->request->descriptor_count;
    bool allowed = true;
    for (uint32_t i = 0; i < count; i++) {
        if (!read_request(work, i, &asked.requests[i])) {
            return false;
        }
    }
    if (!classic && !decide_together(work, &asked, &allowed)) {
        return false;
    }
    bool over = !allowed;
    for (uint32_t i = 0; i < count; i++) {
        bool negative = work->request->descriptors[i].negative;
        if (negative && !give_back(work, &asked, i, allowed)) {
            return false;
        }
        if (classic && !negative && !decide_one(work, &asked, i)) {
            return false;
        }
        over = over || work->answer->statuses[i].code == ENVOY_CODE_OVER_LIMIT;
    }
    work->answer->overall = over ? ENVOY_CODE_OVER_LIMIT : ENVOY_CODE_OK;
    return true;
}
