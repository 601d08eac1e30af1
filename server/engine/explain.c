#include "engine/explain.h"

#include "base/text.h"
#include "engine/network.h"
#include "engine/policy_match.h"

#include <inttypes.h>

/* What a request meets in one limit. */
struct explain_row {
    const struct policy_set *set;
    const struct policy_limit *limit;
    const struct request *request;
    struct slice route; /* normalised */
    int64_t now_ns;
    const struct policy_override *override; /* that decides, or NULL */
    const struct policy_variant *variant;
    const struct limiter_policy *numbers;
};

static void explain_label(struct buf *out, const char *label)
{
    buf_printf(out, "  %-10s ", label);
}

static void explain_quoted(struct buf *out, struct slice text)
{
    buf_append_byte(out, '"');
    text_append_escaped(out, text, LIMITS_KEY_BYTES_MAX);
    buf_append_byte(out, '"');
}

static const char *explain_unit(enum calendar_unit unit)
{
    static const char *const names[] = {"day", "week", "month", "year"};
    return names[unit];
}

static void explain_window(const struct explain_row *row, struct buf *out)
{
    const struct policy_limit *limit = row->limit;
    if (limit->window_ns != 0) {
        text_append_duration(out, limit->window_ns);
        return;
    }
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    calendar_window(&limit->calendar, row->now_ns, &start_ns, &end_ns);
    buf_printf(out, "%s (", explain_unit(limit->calendar.unit));
    if (limit->timezone.size == 0) {
        buf_append_text(out, "UTC");
    } else {
        text_append_escaped(out, limit->timezone, LIMITS_ZONE_NAME_BYTES_MAX);
    }
    buf_append_text(out, ", now ");
    text_append_time(out, start_ns);
    buf_append_text(out, " to ");
    text_append_time(out, end_ns);
    buf_append_byte(out, ')');
}

/* "1000 per 1m, burst 20", or what stands in the place of numbers. */
static void explain_numbers(const struct explain_row *row, struct buf *out)
{
    const struct policy_limit *limit = row->limit;
    bool bucket = limit->algorithm == LIMITER_TOKEN_BUCKET ||
                  limit->algorithm == LIMITER_LEAKY_BUCKET;
    explain_label(out, "numbers");
    switch (row->variant->kind) {
    case POLICY_UNLIMITED:
        buf_append_text(out, "unlimited: allowed, and not counted");
        break;
    case POLICY_BLOCKED:
        buf_append_text(out, "blocked: always refused");
        break;
    case POLICY_NUMBERS:
        buf_printf(out, "%" PRIu64 " per ", row->numbers->limit);
        explain_window(row, out);
        if (bucket) {
            buf_printf(out, ", burst %" PRIu64, row->numbers->burst);
        }
        if (row->numbers->limit == 0) {
            buf_append_text(out, ": closed, every cost of 1 or more is refused for ever");
        }
        break;
    }
    buf_append_byte(out, '\n');
}

/* Which place in the file chose the numbers. */
static void explain_origin(const struct explain_row *row, struct buf *out)
{
    const struct policy_limit *limit = row->limit;
    explain_label(out, "from");
    if (row->override != NULL) {
        buf_printf(out, "the override of line %u, {", row->override->line);
        buf_append_slice(out, row->override->variant.label);
        buf_append_byte(out, '}');
        if (row->override->until_ns != INT64_MAX) {
            buf_append_text(out, ", until ");
            text_append_time(out, row->override->until_ns);
        }
    } else if (row->variant != &limit->own) {
        buf_append_text(out, "plan ");
        explain_quoted(out, row->variant->label);
        buf_append_text(out, ", the value of ");
        explain_quoted(out, limit->plan_attribute);
    } else {
        buf_printf(out, "the limit itself, line %u", limit->line);
        if (limit->plan_attribute.size > 0) {
            buf_append_text(out, ": no override matches, and ");
            explain_quoted(out, limit->plan_attribute);
            buf_append_text(out, " names no plan");
        } else if (limit->override_count > 0) {
            buf_append_text(out, ": no override matches");
        }
    }
    buf_append_byte(out, '\n');
}

static void explain_network(const struct policy_limit *limit, struct slice value, struct buf *out)
{
    uint8_t address[16];
    bool is_v4 = false;
    if (!policy_parse_address(value, address, &is_v4)) {
        buf_append_text(out, ", which is no address: ");
        buf_append_text(out, limit->shadow ? "the limit is skipped" : "INVALID_ARGUMENT");
        return;
    }
    uint32_t bits = is_v4 ? NETWORK_V4_PREFIX_BITS + limit->ip_v4_bits : limit->ip_v6_bits;
    network_mask(address, bits);
    buf_append_text(out, ", counted as ");
    network_print(address, bits, out);
}

static void explain_part(const struct explain_row *row, uint32_t index, struct buf *out)
{
    const struct policy_limit *limit = row->limit;
    const struct policy_part *part = &limit->parts[index];
    struct slice value;
    explain_label(out, index == 0 ? "counted by" : "and");
    if (part->source == POLICY_ATTRIBUTE) {
        explain_quoted(out, part->attribute);
    } else {
        buf_append_text(out, part->source == POLICY_KEY ? "key" : "route");
    }
    if (!policy_part_value(part, row->request, row->route, &value)) {
        buf_append_text(out, limit->shadow
                                 ? ", which the request lacks: the limit is skipped\n"
                                 : ", which the request lacks: INVALID_ARGUMENT\n");
        return;
    }
    buf_append_text(out, " = ");
    explain_quoted(out, value);
    if (limit->ip_prefix && limit->ip_part == index) {
        explain_network(limit, value, out);
    }
    buf_append_byte(out, '\n');
}

static void explain_limit(struct explain_row *row, struct buf *out)
{
    const struct policy_limit *limit = row->limit;
    row->override = policy_match_override(limit, row->request, row->route, row->now_ns);
    row->variant = policy_match_variant(limit, row->request, row->route, row->now_ns);
    row->numbers = &row->set->policies.policies[row->variant->policy];
    buf_append_text(out, "\nlimit ");
    explain_quoted(out, limit->name);
    buf_printf(out, ", %s%s\n", limiter_algorithm_name(limit->algorithm),
               limit->shadow ? ", shadow: counts, and never refuses" : "");
    explain_numbers(row, out);
    explain_origin(row, out);
    if (limit->part_count == 0) {
        explain_label(out, "counted by");
        buf_append_text(out, "nothing: one counter for everybody\n");
    }
    for (uint32_t i = 0; i < limit->part_count; i++) {
        explain_part(row, i, out);
    }
}

/* Which entry of routes, and what the request costs there. */
static void explain_entry(const struct policy_route *entry, const struct request *request,
                          struct buf *out)
{
    bool names_cost = request->has_cost;
    buf_append_text(out, "entry      ");
    explain_quoted(out, entry->pattern);
    buf_printf(out, ", line %u\n", entry->line);
    buf_printf(out, "cost       %" PRIu64 "%s\n", names_cost ? request->cost : entry->cost,
               names_cost ? "" : ", the entry's");
    if (entry->limit_count == 0) {
        buf_append_text(out, "limits     none: allowed, NO_LIMIT\n");
    }
}

void explain_request(const struct policy_set *set, const struct request *request, int64_t now_ns,
                     struct buf *out)
{
    struct request_error error;
    uint8_t scratch[LIMITS_KEY_BYTES_MAX];
    if (!request_check(request, &error)) {
        buf_printf(out, "INVALID_ARGUMENT: %s: %s\n", error.field, error.message);
        return;
    }
    struct slice route = policy_normalise_route(set, request->route, scratch);
    buf_append_text(out, "key        ");
    explain_quoted(out, request->key);
    buf_append_text(out, "\nroute      ");
    explain_quoted(out, request->route);
    if (!slice_equal(route, request->route)) {
        buf_append_text(out, ", normalised to ");
        explain_quoted(out, route);
    }
    buf_append_byte(out, '\n');
    const struct policy_route *entry = policy_match_route(set, route);
    if (entry == NULL) {
        buf_append_text(out, "entry      none matches: allowed, NO_LIMIT\n");
        return;
    }
    explain_entry(entry, request, out);
    for (uint32_t i = 0; i < entry->limit_count; i++) {
        struct explain_row row = {.set = set,
                                  .limit = entry->limits[i],
                                  .request = request,
                                  .route = route,
                                  .now_ns = now_ns};
        explain_limit(&row, out);
    }
}
