#include "simulate_tally.h"

#include "simulate_identity.h"

#include <stdlib.h>

void simulate_tally_init(struct simulate_tally *tally, const struct hash_key *key, bool charted)
{
    *tally = (struct simulate_tally){.key = key, .charted = charted};
    buf_init(&tally->scratch, 0);
    if (charted) {
        tally->allowed_series = calloc(1, sizeof(*tally->allowed_series));
        tally->refused_series = calloc(1, sizeof(*tally->refused_series));
        tally->failed = tally->allowed_series == NULL || tally->refused_series == NULL;
    }
}

void simulate_tally_deinit(struct simulate_tally *tally)
{
    for (uint32_t i = 0; i < tally->limit_count; i++) {
        struct simulate_tally_limit *limit = &tally->limits[i];
        free(limit->name);
        free(limit->refusals);
        simulate_distinct_deinit(&limit->counters);
        simulate_top_deinit(&limit->worst);
    }
    free(tally->limits);
    free(tally->allowed_series);
    free(tally->refused_series);
    buf_deinit(&tally->scratch);
    *tally = (struct simulate_tally){.key = NULL};
}

static bool grow(struct simulate_tally *tally, uint32_t number)
{
    uint32_t count = tally->limit_count == 0 ? 16 : tally->limit_count;
    while (count <= number) {
        count *= 2;
    }
    struct simulate_tally_limit *limits =
        realloc(tally->limits, (size_t)count * sizeof(*limits));
    if (limits == NULL) {
        return false;
    }
    for (uint32_t i = tally->limit_count; i < count; i++) {
        limits[i] = (struct simulate_tally_limit){.longest_wait_ns = -1};
    }
    tally->limits = limits;
    tally->limit_count = count;
    return true;
}

/* The place of a limit, made when it is met for the first time. NULL: out of memory. */
static struct simulate_tally_limit *find_limit(struct simulate_tally *tally,
                                               const struct policy_limit *policy)
{
    if (policy->metric >= tally->limit_count && !grow(tally, policy->metric)) {
        tally->failed = true;
        return NULL;
    }
    struct simulate_tally_limit *limit = &tally->limits[policy->metric];
    if (limit->name == NULL) {
        limit->name = strndup((const char *)policy->name.data, policy->name.size);
        tally->failed = tally->failed || limit->name == NULL;
    }
    limit->algorithm = policy->algorithm;
    limit->shadow = policy->shadow;
    return limit->name == NULL ? NULL : limit;
}

size_t simulate_tally_series(const struct simulate_tally *tally, struct simulate_series **out)
{
    size_t count = 0;
    out[count++] = tally->allowed_series;
    out[count++] = tally->refused_series;
    for (uint32_t i = 0; i < tally->limit_count; i++) {
        if (tally->limits[i].refusals != NULL) {
            out[count++] = tally->limits[i].refusals;
        }
    }
    return count;
}

/* The bin of an instant; all series are brought to the same axis. */
static bool find_bin(struct simulate_tally *tally, int64_t at_ns, size_t *bin)
{
    size_t room = (size_t)tally->limit_count + 2;
    struct simulate_series **series = malloc(room * sizeof(struct simulate_series *));
    if (series == NULL) {
        tally->failed = true;
        return false;
    }
    size_t count = simulate_tally_series(tally, series);
    *bin = simulate_series_bin(&tally->axis, series, count, at_ns);
    free(series);
    return true;
}

static void count_refusal(struct simulate_tally *tally, struct simulate_tally_limit *limit,
                          const struct decision_row *row, size_t bin)
{
    if (row->retry_after_ns == DECISION_NEVER) {
        limit->never = true;
    } else if (row->retry_after_ns > limit->longest_wait_ns) {
        limit->longest_wait_ns = row->retry_after_ns;
    }
    if (tally->charted && limit->refusals == NULL) {
        limit->refusals = calloc(1, sizeof(*limit->refusals));
        tally->failed = tally->failed || limit->refusals == NULL;
    }
    if (limit->refusals != NULL) {
        limit->refusals->bins[bin]++;
    }
}

/* One limit's say in a request. */
static void add_row(struct simulate_tally *tally, const struct policy_limit *policy,
                    const struct request *request, struct slice route,
                    const struct decision_row *row, bool request_allowed, size_t bin)
{
    struct simulate_tally_limit *limit = find_limit(tally, policy);
    if (limit == NULL || row->reason == REASON_UNLIMITED) {
        return;
    }
    simulate_identity_bytes(policy, request, route, &tally->scratch);
    struct slice identity = buf_slice(&tally->scratch);
    struct fingerprint id = hash_bytes(tally->key, identity.data, identity.size);
    limit->decided++;
    simulate_distinct_add(&limit->counters, id.lo);
    if (row->delay_ns > limit->longest_delay_ns) {
        limit->longest_delay_ns = row->delay_ns;
    }
    if (row->allowed || (policy->shadow && !request_allowed)) {
        return;
    }
    if (policy->shadow) {
        limit->would_refuse++;
    } else {
        limit->refused++;
    }
    simulate_identity_label(policy, request, route, &tally->scratch);
    simulate_top_add(&limit->worst, id, buf_slice(&tally->scratch));
    count_refusal(tally, limit, row, bin);
}

/* Rows stand in the order of the route's list; a shadow limit that was skipped has none. */
static void add_rows(struct simulate_tally *tally, const struct policy_set *set,
                     const struct traffic_item *item, const struct simulate_answer *answer,
                     size_t bin)
{
    const struct policy_route *entry = answer->plan.route;
    const struct decision *decision = &answer->decision;
    struct slice route = policy_normalise_route(set, item->request.route, tally->route);
    uint32_t at = 0;
    for (uint32_t i = 0; i < decision->row_count; i++) {
        const struct decision_row *row = &decision->rows[i];
        while (at < entry->limit_count && !slice_equal(entry->limits[at]->name, row->limit_name)) {
            at++;
        }
        if (at == entry->limit_count) {
            return;
        }
        add_row(tally, entry->limits[at], &item->request, route, row, decision->shown.allowed,
                bin);
    }
}

static void add_decision(struct simulate_tally *tally, const struct policy_set *set,
                         const struct traffic_item *item, const struct simulate_answer *answer)
{
    const struct decision_row *shown = &answer->decision.shown;
    size_t bin = 0;
    tally->requests++;
    tally->allowed += shown->allowed;
    tally->refused += !shown->allowed;
    tally->not_limited += shown->allowed && (shown->limit_name.size == 0 ||
                                             shown->reason == REASON_UNLIMITED);
    if (tally->charted) {
        if (tally->failed || !find_bin(tally, item->t_ns, &bin)) {
            return;
        }
        struct simulate_series *series =
            shown->allowed ? tally->allowed_series : tally->refused_series;
        series->bins[bin]++;
    }
    if (answer->plan.route != NULL) {
        add_rows(tally, set, item, answer, bin);
    }
}

static void add_error(struct simulate_tally *tally, const struct traffic_item *item,
                      const struct simulate_answer *answer)
{
    if (tally->errors++ == 0) {
        tally->first_error = answer->error;
        tally->first_error_line = item->line;
    }
}

void simulate_tally_add(struct simulate_tally *tally, const struct policy_set *set,
                        const struct traffic_item *item, const struct simulate_answer *answer)
{
    bool first = tally->lines++ == 0;
    tally->first_ns = first || item->t_ns < tally->first_ns ? item->t_ns : tally->first_ns;
    tally->last_ns = first || item->t_ns > tally->last_ns ? item->t_ns : tally->last_ns;
    switch (answer->kind) {
    case SIMULATE_DECISION:
        if (item->op == TRAFFIC_ALLOW) {
            add_decision(tally, set, item, answer);
        } else {
            tally->refunds++;
        }
        break;
    case SIMULATE_RESET:
        tally->resets++;
        break;
    case SIMULATE_RELOADED:
        tally->reloads++;
        break;
    case SIMULATE_RELOAD_REFUSED:
        tally->reloads_refused++;
        break;
    case SIMULATE_ERROR:
        add_error(tally, item, answer);
        break;
    }
}

static int by_refusals(const void *left, const void *right)
{
    const struct simulate_tally_limit *a = *(const struct simulate_tally_limit *const *)left;
    const struct simulate_tally_limit *b = *(const struct simulate_tally_limit *const *)right;
    uint64_t refusals_a = simulate_tally_refusals(a);
    uint64_t refusals_b = simulate_tally_refusals(b);
    if (refusals_a != refusals_b) {
        return refusals_a > refusals_b ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

size_t simulate_tally_order(const struct simulate_tally *tally,
                            const struct simulate_tally_limit **out)
{
    size_t count = 0;
    for (uint32_t i = 0; i < tally->limit_count; i++) {
        if (tally->limits[i].name != NULL) {
            out[count++] = &tally->limits[i];
        }
    }
    if (count > 1) {
        qsort(out, count, sizeof(struct simulate_tally_limit *), by_refusals);
    }
    return count;
}
