#include "ask_print.h"

#include "base/text.h"

#include <inttypes.h>

#define NS_PER_MS INT64_C(1000000)
#define NAME_BYTES 256u

static struct slice to_slice(struct sluice_bytes bytes)
{
    return slice_make(bytes.data, bytes.size);
}

static void print_duration(struct buf *out, const char *before, int64_t ns, const char *after)
{
    if (ns != SLUICE_ABSENT) {
        buf_append_text(out, before);
        text_append_seconds(out, ns);
        buf_append_text(out, after);
    }
}

static void print_row(struct buf *out, const struct sluice_row *row)
{
    buf_append_text(out, "details: limit_name=");
    text_append_escaped(out, to_slice(row->limit_name), NAME_BYTES);
    buf_printf(out, " allowed=%s limit=%" PRIu64 " remaining=%" PRIu64,
               row->allowed ? "true" : "false", row->limit, row->remaining);
    print_duration(out, " retry_after=", row->retry_after_ns, "");
    print_duration(out, " reset_after=", row->reset_after_ns, "");
    print_duration(out, " delay=", row->delay_ns, "");
    buf_printf(out, " shadow=%s", row->shadow ? "true" : "false");
    print_duration(out, " window=", row->window_ns, "");
    buf_append_text(out, " algorithm=");
    text_append_escaped(out, to_slice(row->algorithm), NAME_BYTES);
    buf_append_byte(out, '\n');
}

void ask_print_text(struct buf *out, const struct sluice_answer *answer)
{
    const char *reason = sluice_reason_text(answer->reason);
    if (answer->allowed) {
        buf_append_text(out, "allowed\n");
    } else {
        buf_printf(out, "refused: %s\n", reason);
    }
    buf_printf(out, "limit: %" PRIu64 "\nremaining: %" PRIu64 "\n", answer->limit,
               answer->remaining);
    print_duration(out, "retry_after: ", answer->retry_after_ns, "\n");
    print_duration(out, "reset_after: ", answer->reset_after_ns, "\n");
    print_duration(out, "delay: ", answer->delay_ns, "\n");
    if (answer->limit_name.size > 0) {
        buf_append_text(out, "limit_name: ");
        text_append_escaped(out, to_slice(answer->limit_name), NAME_BYTES);
        buf_append_byte(out, '\n');
    }
    buf_printf(out, "reason: %s\n", reason);
    for (size_t i = 0; i < answer->row_count; i++) {
        print_row(out, &answer->rows[i]);
    }
    if (answer->lease_id.size > 0) {
        buf_append_text(out, "lease_id: ");
        text_append_escaped(out, to_slice(answer->lease_id), NAME_BYTES);
        buf_append_byte(out, '\n');
    }
}

/* Rounded up: who waits that long has waited long enough. */
static void json_ms(struct buf *out, const char *name, int64_t ns)
{
    if (ns != SLUICE_ABSENT) {
        int64_t ms = ns / NS_PER_MS + (ns % NS_PER_MS != 0);
        buf_printf(out, ",\"%s\":%" PRId64, name, ms);
    }
}

/* `null` says that it can never pass; an allowed answer has none. */
static void json_retry(struct buf *out, bool allowed, int64_t ns)
{
    if (!allowed && ns == SLUICE_ABSENT) {
        buf_append_text(out, ",\"retry_after_ms\":null");
    } else {
        json_ms(out, "retry_after_ms", ns);
    }
}

static void json_text(struct buf *out, const char *name, struct sluice_bytes text)
{
    buf_printf(out, "\"%s\":", name);
    text_append_json_string(out, to_slice(text));
}

static void json_numbers(struct buf *out, bool allowed, uint64_t limit, uint64_t remaining)
{
    buf_printf(out, "\"allowed\":%s,\"limit\":%" PRIu64 ",\"remaining\":%" PRIu64,
               allowed ? "true" : "false", limit, remaining);
}

static void json_row(struct buf *out, const struct sluice_row *row)
{
    buf_append_byte(out, '{');
    json_text(out, "limit_name", row->limit_name);
    buf_append_byte(out, ',');
    json_numbers(out, row->allowed, row->limit, row->remaining);
    json_retry(out, row->allowed, row->retry_after_ns);
    json_ms(out, "reset_after_ms", row->reset_after_ns);
    json_ms(out, "delay_ms", row->delay_ns == 0 ? SLUICE_ABSENT : row->delay_ns);
    buf_printf(out, ",\"shadow\":%s", row->shadow ? "true" : "false");
    json_ms(out, "window_ms", row->window_ns);
    buf_append_byte(out, ',');
    json_text(out, "algorithm", row->algorithm);
    buf_append_byte(out, '}');
}

void ask_print_json(struct buf *out, const struct sluice_answer *answer)
{
    buf_append_byte(out, '{');
    json_numbers(out, answer->allowed, answer->limit, answer->remaining);
    json_retry(out, answer->allowed, answer->retry_after_ns);
    json_ms(out, "reset_after_ms", answer->reset_after_ns);
    json_ms(out, "delay_ms", answer->delay_ns == 0 ? SLUICE_ABSENT : answer->delay_ns);
    if (answer->limit_name.size > 0) {
        buf_append_byte(out, ',');
        json_text(out, "limit_name", answer->limit_name);
    }
    buf_printf(out, ",\"reason\":\"%s\"", sluice_reason_text(answer->reason));
    for (size_t i = 0; i < answer->row_count; i++) {
        buf_append_text(out, i == 0 ? ",\"details\":[" : ",");
        json_row(out, &answer->rows[i]);
    }
    buf_append_text(out, answer->row_count > 0 ? "]}\n" : "}\n");
}
