#include "simulate_answer.h"

#include "base/text.h"

#include <inttypes.h>

static const char *bool_text(bool value)
{
    return value ? "true" : "false";
}

static void append_name(struct buf *out, const char *member, struct slice name)
{
    buf_printf(out, "\"%s\":", member);
    text_append_json_string(out, name);
}

/* ,"allowed":… up to the delay: what an answer and a row have in common. */
static void append_numbers(struct buf *out, const struct decision_row *row)
{
    buf_printf(out, "\"allowed\":%s,\"limit\":%" PRIu64 ",\"remaining\":%" PRIu64,
               bool_text(row->allowed), row->limit, row->remaining);
    if (row->retry_after_ns == DECISION_NEVER) {
        buf_append_text(out, ",\"retry_after_ns\":null");
    } else if (row->retry_after_ns >= 0) {
        buf_printf(out, ",\"retry_after_ns\":%" PRId64, row->retry_after_ns);
    }
    if (row->reset_after_ns >= 0) {
        buf_printf(out, ",\"reset_after_ns\":%" PRId64, row->reset_after_ns);
    }
    if (row->delay_ns > 0) {
        buf_printf(out, ",\"delay_ns\":%" PRId64, row->delay_ns);
    }
}

static void append_row(struct buf *out, const struct decision_row *row)
{
    buf_append_byte(out, '{');
    append_name(out, "limit_name", row->limit_name);
    buf_append_byte(out, ',');
    append_numbers(out, row);
    buf_printf(out, ",\"shadow\":%s,\"window_ns\":%" PRId64 ",\"algorithm\":\"%s\"}",
               bool_text(row->shadow), row->window_ns, limiter_algorithm_name(row->algorithm));
}

static void append_decision(struct buf *out, const struct decision *decision, bool details)
{
    append_numbers(out, &decision->shown);
    if (decision->shown.limit_name.size > 0) {
        buf_append_byte(out, ',');
        append_name(out, "limit_name", decision->shown.limit_name);
    }
    buf_printf(out, ",\"reason\":\"%s\"", request_reason_name(decision->shown.reason));
    if (details) {
        buf_append_text(out, ",\"details\":[");
        for (uint32_t i = 0; i < decision->row_count; i++) {
            buf_append_text(out, i > 0 ? "," : "");
            append_row(out, &decision->rows[i]);
        }
        buf_append_byte(out, ']');
    }
}

static void append_error(struct buf *out, const struct request_error *error)
{
    buf_printf(out, "\"error\":{\"code\":\"%s\",", request_code_name(error->code));
    if (error->field[0] != '\0') {
        append_name(out, "field", slice_text(error->field));
        buf_append_byte(out, ',');
    }
    append_name(out, "message", slice_text(error->message));
    buf_append_byte(out, '}');
}

/* Each line of `text` as a member of a list. */
static void append_lines(struct buf *out, struct slice text)
{
    bool first = true;
    while (text.size > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t size = end == NULL ? text.size : (size_t)(end - text.data);
        size_t used = end == NULL ? size : size + 1;
        buf_append_text(out, first ? "" : ",");
        text_append_json_string(out, slice_make(text.data, size));
        text = slice_make(text.data + used, text.size - used);
        first = false;
    }
}

void simulate_answer_append(struct buf *out, const struct traffic_item *item,
                            const struct simulate_answer *answer, bool details)
{
    buf_printf(out, "{\"t_ns\":%" PRId64 ",", item->t_ns);
    switch (answer->kind) {
    case SIMULATE_DECISION:
        append_decision(out, &answer->decision, details);
        break;
    case SIMULATE_RESET:
        buf_printf(out, "\"counters\":%" PRIu32, answer->counters);
        break;
    case SIMULATE_RELOADED:
        buf_append_text(out, "\"reloaded\":true");
        break;
    case SIMULATE_RELOAD_REFUSED:
        buf_append_text(out, "\"reloaded\":false,\"errors\":[");
        append_lines(out, answer->reload_errors);
        buf_append_byte(out, ']');
        break;
    case SIMULATE_ERROR:
        append_error(out, &answer->error);
        break;
    }
    buf_append_text(out, "}\n");
}
