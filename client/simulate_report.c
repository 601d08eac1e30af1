#include "simulate_report.h"

#include "base/text.h"
#include "simulate_table.h"

#include <inttypes.h>
#include <stdlib.h>

#define NS_PER_S 1e9

/* Terminal colours, or nothing. */
struct paint {
    const char *bold;
    const char *dim;
    const char *warn;
    const char *off;
};

static struct paint paint_for(const struct simulate_summary *summary)
{
    if (!summary->colour) {
        return (struct paint){.bold = "", .dim = "", .warn = "", .off = ""};
    }
    return (struct paint){
        .bold = "\033[1m", .dim = "\033[2m", .warn = "\033[33m", .off = "\033[0m"};
}

static void append_span(struct buf *out, const struct simulate_tally *tally)
{
    text_append_time(out, tally->first_ns);
    buf_append_text(out, " to ");
    text_append_time(out, tally->last_ns);
    int64_t length;
    if (!__builtin_sub_overflow(tally->last_ns, tally->first_ns, &length) && length > 0) {
        double rate = (double)tally->requests * NS_PER_S / (double)length;
        double per = rate >= 1 ? 1 : rate * 60 >= 1 ? 60 : 3600;
        buf_append_text(out, " (");
        simulate_table_append_duration(out, length);
        buf_printf(out, ", %.1f requests a %s)", rate * per,
                   per < 2 ? "second" : per < 61 ? "minute" : "hour");
    }
}

static void append_heading(struct buf *out, const struct simulate_summary *summary,
                           const struct paint *paint)
{
    buf_printf(out, "%s%s%s under %s%s%s\n", paint->bold, summary->traffic_path, paint->off,
               paint->bold, summary->limits_path, paint->off);
    buf_printf(out, "%s%s, ", paint->dim, summary->format);
    if (summary->tally->lines == 0) {
        buf_append_text(out, "nothing to decide");
    } else {
        append_span(out, summary->tally);
    }
    buf_printf(out, "%s\n\n", paint->off);
}

static void total_row(struct simulate_table *table, const char *name, uint64_t value,
                      uint64_t whole)
{
    simulate_table_cell(table, "%s", name);
    simulate_table_count(table, "", value);
    if (whole > 0) {
        simulate_table_share(table, value, whole);
    } else {
        simulate_table_cell(table, "%s", "");
    }
}

static void optional_row(struct simulate_table *table, const char *name, uint64_t value)
{
    if (value > 0) {
        total_row(table, name, value, 0);
    }
}

static void append_totals(struct buf *out, const struct simulate_summary *summary)
{
    const struct simulate_tally *tally = summary->tally;
    struct simulate_table table;
    simulate_table_init(&table, "lrr");
    total_row(&table, "requests", tally->requests, 0);
    total_row(&table, "allowed", tally->allowed, tally->requests);
    total_row(&table, "refused", tally->refused, tally->requests);
    total_row(&table, "not limited", tally->not_limited, tally->requests);
    optional_row(&table, "refunds", tally->refunds);
    optional_row(&table, "resets", tally->resets);
    optional_row(&table, "reloads", tally->reloads);
    optional_row(&table, "reloads refused", tally->reloads_refused);
    optional_row(&table, "errors", tally->errors);
    optional_row(&table, "unreadable lines", summary->unreadable);
    simulate_table_append(&table, "  ", "", "", out);
    simulate_table_deinit(&table);
    if (tally->errors > 0) {
        buf_printf(out, "\n  the first error, line %" PRIu64 ": %s: %s\n",
                   tally->first_error_line, request_code_name(tally->first_error.code),
                   tally->first_error.message);
    }
    if (tally->failed) {
        buf_append_text(out, "\n  memory ran out while counting: the numbers below are too low\n");
    }
}

static void limit_row(struct simulate_table *table, const struct simulate_tally_limit *limit)
{
    bool exact;
    uint64_t counters = simulate_distinct_count(&limit->counters, &exact);
    uint64_t refusals = limit->shadow ? limit->would_refuse : limit->refused;
    const char *never = !limit->never ? "" : limit->longest_wait_ns < 0 ? "for ever" : ", or ever";
    simulate_table_cell(table, "%s", limit->name);
    simulate_table_cell(table, "%s", limiter_algorithm_name(limit->algorithm));
    simulate_table_count(table, "", limit->decided);
    simulate_table_count(table, limit->shadow ? "would refuse " : "", refusals);
    simulate_table_share(table, refusals, limit->decided);
    simulate_table_count(table, exact ? "" : "about ", counters);
    simulate_table_duration(table, limit->longest_wait_ns, never);
}

/* Limits of the file that no request met. */
static void append_idle(struct buf *out, const struct simulate_summary *summary)
{
    const struct simulate_tally *tally = summary->tally;
    unsigned shown = 0;
    for (uint32_t i = 0; summary->set != NULL && i < summary->set->limit_count; i++) {
        const struct policy_limit *policy = &summary->set->limits[i];
        if (policy->metric < tally->limit_count && tally->limits[policy->metric].name != NULL) {
            continue;
        }
        if (shown++ == 8) {
            buf_append_text(out, ", ...");
            break;
        }
        buf_append_text(out, shown == 1 ? "\n  met by no request: " : ", ");
        buf_append_slice(out, policy->name);
    }
    buf_append_text(out, shown > 0 ? "\n" : "");
}

static void append_limits(struct buf *out, const struct simulate_tally_limit *const *limits,
                          size_t count, const struct paint *paint)
{
    static const char *const heads[] = {"limit", "algorithm", "decided",     "refused",
                                        "share", "counters",  "longest wait"};
    struct simulate_table table;
    simulate_table_init(&table, "llrrrrl");
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        simulate_table_cell(&table, "%s", heads[i]);
    }
    for (size_t i = 0; i < count; i++) {
        limit_row(&table, limits[i]);
    }
    buf_append_byte(out, '\n');
    simulate_table_append(&table, "  ", paint->bold, paint->off, out);
    simulate_table_deinit(&table);
}

/* The most frequent of `top`, each with its share of `whole`. */
static void append_top(struct buf *out, const struct simulate_top *top, uint64_t whole)
{
    struct simulate_top_entry best[SIMULATE_TALLY_WORST];
    size_t count = simulate_top_best(top, best, SIMULATE_TALLY_WORST);
    struct simulate_table table;
    simulate_table_init(&table, "lrr");
    for (size_t i = 0; i < count; i++) {
        simulate_table_cell(&table, "%s", best[i].label);
        simulate_table_count(&table, top->missed > 0 ? "at least " : "", best[i].count);
        simulate_table_share(&table, best[i].count, whole);
    }
    simulate_table_append(&table, "    ", "", "", out);
    simulate_table_deinit(&table);
    if (top->missed > 0) {
        buf_append_text(out, "    (there were many: each may be up to ");
        simulate_table_append_count(out, top->missed);
        buf_append_text(out, " more)\n");
    }
}

static void append_worst(struct buf *out, const struct simulate_tally_limit *limit,
                         const struct paint *paint)
{
    uint64_t refusals = simulate_tally_refusals(limit);
    if (refusals == 0) {
        return;
    }
    buf_printf(out, "\n  %s%s %s most often%s\n", paint->bold, limit->name,
               limit->shadow ? "would refuse" : "refused", paint->off);
    append_top(out, &limit->worst, refusals);
}

static void append_side(struct buf *out, const char *what,
                        const struct simulate_compare_side *side, const struct paint *paint)
{
    buf_printf(out, "\n  %snewly %s: ", paint->bold, what);
    simulate_table_append_count(out, side->requests);
    buf_printf(out, "%s\n", paint->off);
    if (side->requests == 0) {
        return;
    }
    buf_append_text(out, "   by key\n");
    append_top(out, &side->keys, side->requests);
    buf_append_text(out, "   by route\n");
    append_top(out, &side->routes, side->requests);
}

static void append_comparison(struct buf *out, const struct simulate_summary *summary,
                              const struct paint *paint)
{
    const struct simulate_compare *compare = summary->compare;
    buf_printf(out, "\n%sthe same traffic under %s instead%s\n", paint->bold,
               summary->compare_path, paint->off);
    struct simulate_table table;
    simulate_table_init(&table, "lrr");
    uint64_t whole = compare->both_allow + compare->both_refuse + compare->refused.requests +
                     compare->allowed.requests;
    total_row(&table, "allowed by both", compare->both_allow, whole);
    total_row(&table, "refused by both", compare->both_refuse, whole);
    total_row(&table, "newly refused", compare->refused.requests, whole);
    total_row(&table, "newly allowed", compare->allowed.requests, whole);
    optional_row(&table, "an error under one only", compare->only_one_decides);
    simulate_table_append(&table, "  ", "", "", out);
    simulate_table_deinit(&table);
    append_side(out, "refused", &compare->refused, paint);
    append_side(out, "allowed", &compare->allowed, paint);
}

void simulate_report_append(struct buf *out, const struct simulate_summary *summary)
{
    struct paint paint = paint_for(summary);
    const struct simulate_tally *tally = summary->tally;
    const struct simulate_tally_limit **limits =
        calloc((size_t)tally->limit_count + 1, sizeof(struct simulate_tally_limit *));
    if (limits == NULL) {
        out->failed = true;
        return;
    }
    size_t count = simulate_tally_order(tally, limits);
    append_heading(out, summary, &paint);
    append_totals(out, summary);
    if (count > 0) {
        append_limits(out, limits, count, &paint);
    }
    append_idle(out, summary);
    for (size_t i = 0; i < count; i++) {
        append_worst(out, limits[i], &paint);
    }
    if (summary->compare != NULL) {
        append_comparison(out, summary, &paint);
    }
    free(limits);
}
