#include "simulate_json.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>

static void append_string(struct buf *out, const char *member, const char *text)
{
    buf_printf(out, "\"%s\":", member);
    text_append_json_string(out, slice_text(text));
}

static void append_count(struct buf *out, const char *member, uint64_t value)
{
    buf_printf(out, ",\"%s\":%" PRIu64, member, value);
}

static void append_top(struct buf *out, const char *member, const char *what,
                       const struct simulate_top *top)
{
    struct simulate_top_entry best[SIMULATE_TALLY_WORST];
    size_t count = simulate_top_best(top, best, SIMULATE_TALLY_WORST);
    buf_printf(out, ",\"%s\":[", member);
    for (size_t i = 0; i < count; i++) {
        buf_append_text(out, i > 0 ? ",{" : "{");
        append_string(out, what, best[i].label);
        append_count(out, "requests", best[i].count);
        buf_append_byte(out, '}');
    }
    buf_printf(out, "],\"%s_low_by_at_most\":%" PRIu64, member, top->missed);
}

static void append_limit(struct buf *out, const struct simulate_tally_limit *limit)
{
    bool exact;
    uint64_t counters = simulate_distinct_count(&limit->counters, &exact);
    buf_append_byte(out, '{');
    append_string(out, "limit_name", limit->name);
    buf_printf(out, ",\"algorithm\":\"%s\",\"shadow\":%s",
               limiter_algorithm_name(limit->algorithm), limit->shadow ? "true" : "false");
    append_count(out, "decided", limit->decided);
    append_count(out, "refused", limit->refused);
    append_count(out, "would_refuse", limit->would_refuse);
    append_count(out, "counters", counters);
    buf_printf(out, ",\"counters_exact\":%s", exact ? "true" : "false");
    if (limit->longest_wait_ns >= 0) {
        buf_printf(out, ",\"longest_wait_ns\":%" PRId64, limit->longest_wait_ns);
    }
    buf_printf(out, ",\"refused_for_ever\":%s", limit->never ? "true" : "false");
    if (limit->longest_delay_ns > 0) {
        buf_printf(out, ",\"longest_delay_ns\":%" PRId64, limit->longest_delay_ns);
    }
    append_top(out, "worst_keys", "key", &limit->worst);
    buf_append_byte(out, '}');
}

static bool append_limits(struct buf *out, const struct simulate_tally *tally)
{
    const struct simulate_tally_limit **limits =
        calloc((size_t)tally->limit_count + 1, sizeof(struct simulate_tally_limit *));
    if (limits == NULL) {
        return false;
    }
    size_t count = simulate_tally_order(tally, limits);
    buf_append_text(out, ",\"limits\":[");
    for (size_t i = 0; i < count; i++) {
        buf_append_text(out, i > 0 ? "," : "");
        append_limit(out, limits[i]);
    }
    buf_append_byte(out, ']');
    free(limits);
    return true;
}

static void append_side(struct buf *out, const char *member,
                        const struct simulate_compare_side *side)
{
    buf_printf(out, ",\"%s\":{\"requests\":%" PRIu64, member, side->requests);
    append_top(out, "keys", "key", &side->keys);
    append_top(out, "routes", "route", &side->routes);
    buf_append_byte(out, '}');
}

static void append_comparison(struct buf *out, const struct simulate_summary *summary)
{
    const struct simulate_compare *compare = summary->compare;
    buf_append_text(out, ",\"compare\":{");
    append_string(out, "limits_file", summary->compare_path);
    append_count(out, "both_allow", compare->both_allow);
    append_count(out, "both_refuse", compare->both_refuse);
    append_count(out, "only_one_decides", compare->only_one_decides);
    append_side(out, "newly_refused", &compare->refused);
    append_side(out, "newly_allowed", &compare->allowed);
    buf_append_byte(out, '}');
}

void simulate_json_append(struct buf *out, const struct simulate_summary *summary)
{
    const struct simulate_tally *tally = summary->tally;
    buf_append_byte(out, '{');
    append_string(out, "limits_file", summary->limits_path);
    buf_append_byte(out, ',');
    append_string(out, "traffic", summary->traffic_path);
    buf_printf(out, ",\"format\":\"%s\"", summary->format);
    if (tally->lines > 0) {
        buf_printf(out, ",\"first_t_ns\":%" PRId64 ",\"last_t_ns\":%" PRId64, tally->first_ns,
                   tally->last_ns);
    }
    append_count(out, "requests", tally->requests);
    append_count(out, "allowed", tally->allowed);
    append_count(out, "refused", tally->refused);
    append_count(out, "not_limited", tally->not_limited);
    append_count(out, "refunds", tally->refunds);
    append_count(out, "resets", tally->resets);
    append_count(out, "reloads", tally->reloads);
    append_count(out, "reloads_refused", tally->reloads_refused);
    append_count(out, "errors", tally->errors);
    append_count(out, "unreadable_lines", summary->unreadable);
    append_count(out, "counters_held", summary->counters_held);
    if (!append_limits(out, tally)) {
        out->failed = true;
    }
    if (summary->compare != NULL) {
        append_comparison(out, summary);
    }
    buf_append_text(out, "}\n");
}
