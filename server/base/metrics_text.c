/* Prometheus' text exposition format, version 0.0.4. A file of 16 000 limits makes some 32 000
 * lines, so those are put together from pieces rather than by printf. */
#include "base/metrics_text.h"

#include "base/clock.h"
#include "base/metrics_family.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>

struct label {
    const char *name;
    struct slice value;
};

#define OUTCOME_NAME(name, text) [METRICS_##name] = (text),
static const char *const outcome_names[METRICS_OUTCOMES] = {METRICS_OUTCOME_MAP(OUTCOME_NAME)};
#undef OUTCOME_NAME

static const char *const protocol_names[METRICS_PROTOCOLS] = {
    [METRICS_NATIVE] = "native", [METRICS_HTTP] = "http",   [METRICS_GRPC] = "grpc",
    [METRICS_RESP] = "resp",     [METRICS_ADMIN] = "admin",
};

static const char *const kind_names[METRICS_KINDS] = {
    [METRICS_SHOULD_ALLOW] = "should_allow",
    [METRICS_BATCH] = "batch",
    [METRICS_REFUND] = "refund",
    [METRICS_RESET] = "reset",
    [METRICS_STATS] = "stats",
    [METRICS_RELOAD] = "reload",
    [METRICS_SNAPSHOT] = "snapshot",
};

/* google.rpc.Code. */
static const char *const code_names[METRICS_CODES] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

/* Its HELP and TYPE; returns its name. */
static const char *append_family(struct buf *out, enum metrics_family_id id)
{
    const struct metrics_family *family = metrics_family_of(id);
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
               family->type);
    return family->name;
}

static void append_u64(struct buf *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    buf_append(out, digits + at, sizeof(digits) - at);
}

/* A label's value is UTF-8 in which backslash, quote and newline are escaped. */
static void append_label_value(struct buf *out, struct slice text)
{
    while (text.size > 0) {
        size_t size = utf8_sequence(text);
        uint8_t byte = text.data[0];
        if (size == 0) {
            size = 1;
            buf_append_text(out, "\xEF\xBF\xBD"); /* U+FFFD */
        } else if (byte == '\n') {
            buf_append_text(out, "\\n");
        } else {
            if (byte == '\\' || byte == '"') {
                buf_append_byte(out, '\\');
            }
            buf_append(out, text.data, size);
        }
        text = slice_make(text.data + size, text.size - size);
    }
}

static void append_series(struct buf *out, const char *name, const struct label *labels,
                          uint32_t count)
{
    buf_append_text(out, name);
    for (uint32_t i = 0; i < count; i++) {
        buf_append_byte(out, i == 0 ? '{' : ',');
        buf_append_text(out, labels[i].name);
        buf_append_text(out, "=\"");
        append_label_value(out, labels[i].value);
        buf_append_byte(out, '"');
    }
    buf_append_text(out, count > 0 ? "} " : " ");
}

static void append_sample(struct buf *out, const char *name, const struct label *labels,
                          uint32_t count, uint64_t value)
{
    append_series(out, name, labels, count);
    append_u64(out, value);
    buf_append_byte(out, '\n');
}

/* The sample of a family that has one label; left out while it is 0 unless `always`. */
static void append_labelled(struct buf *out, const char *name, const char *label,
                            struct slice text, uint64_t value, bool always)
{
    if (always || value > 0) {
        append_sample(out, name, &(struct label){label, text}, 1, value);
    }
}

static void append_seconds(struct buf *out, const char *name, int64_t ns)
{
    buf_printf(out, "%s %" PRId64 ".%09" PRId64 "\n", name, ns / CLOCK_NS_PER_S,
               ns % CLOCK_NS_PER_S);
}

/* A family of one sample without labels. */
static void append_single(struct buf *out, enum metrics_family_id id, uint64_t value)
{
    append_sample(out, append_family(out, id), NULL, 0, value);
}

/* A family of one instant or duration; only its HELP and TYPE while there is none. */
static void append_single_seconds(struct buf *out, enum metrics_family_id id, bool exists,
                                  int64_t ns)
{
    const char *name = append_family(out, id);
    if (exists) {
        append_seconds(out, name, ns);
    }
}

static void render_decisions(const struct metrics *metrics, struct buf *out)
{
    const char *name = append_family(out, METRICS_FAMILY_DECISIONS);
    uint32_t limits = metrics_limit_count(metrics);
    for (uint32_t limit = 0; limit < limits; limit++) {
        struct label labels[] = {{"limit", metrics_limit_name(metrics, limit)}, {"outcome", {0}}};
        for (int outcome = 0; outcome < METRICS_OUTCOMES; outcome++) {
            uint64_t value = metrics_read_decisions(metrics, limit, (enum metrics_outcome)outcome);
            bool always = outcome == METRICS_ALLOWED || outcome == METRICS_REFUSED;
            if (value > 0 || (always && limit != METRICS_NO_LIMIT)) {
                labels[1].value = slice_text(outcome_names[outcome]);
                append_sample(out, name, labels, 2, value);
            }
        }
    }
    append_single(out, METRICS_FAMILY_NO_LIMIT, metrics_read_no_limit(metrics));
}

static void render_requests(const struct metrics *metrics, struct buf *out)
{
    const char *name = append_family(out, METRICS_FAMILY_REQUESTS);
    for (int protocol = 0; protocol < METRICS_PROTOCOLS; protocol++) {
        for (int kind = 0; kind < METRICS_KINDS; kind++) {
            uint64_t value = metrics_read_requests(metrics, (enum metrics_protocol)protocol,
                                                   (enum metrics_kind)kind);
            struct label labels[] = {{"protocol", slice_text(protocol_names[protocol])},
                                     {"kind", slice_text(kind_names[kind])}};
            if (value > 0) {
                append_sample(out, name, labels, 2, value);
            }
        }
    }
}

static void render_request_errors(const struct metrics *metrics, struct buf *out)
{
    const char *name = append_family(out, METRICS_FAMILY_REQUEST_ERRORS);
    for (int protocol = 0; protocol < METRICS_PROTOCOLS; protocol++) {
        for (int code = 0; code < METRICS_CODES; code++) {
            uint64_t value =
                metrics_read_request_errors(metrics, (enum metrics_protocol)protocol, code);
            struct label labels[] = {{"protocol", slice_text(protocol_names[protocol])},
                                     {"code", slice_text(code_names[code])}};
            if (value > 0) {
                append_sample(out, name, labels, 2, value);
            }
        }
    }
}

static void render_counters(const struct metrics *metrics,
                            const struct metrics_text_gauges *gauges, struct buf *out)
{
    uint32_t limits = metrics_limit_count(metrics);
    append_single(out, METRICS_FAMILY_COUNTERS, gauges->counters);
    append_single(out, METRICS_FAMILY_SWEPT, gauges->counters_swept);
    const char *evicted = append_family(out, METRICS_FAMILY_EVICTED);
    for (uint32_t limit = 0; limit < limits; limit++) {
        append_labelled(out, evicted, "limit", metrics_limit_name(metrics, limit),
                        metrics_read_counters_evicted(metrics, limit), false);
    }
    const char *refused = append_family(out, METRICS_FAMILY_REFUSED);
    for (uint32_t limit = 0; limit < limits; limit++) {
        append_labelled(out, refused, "limit", metrics_limit_name(metrics, limit),
                        metrics_read_counters_refused(metrics, limit), false);
    }
    const char *memory = append_family(out, METRICS_FAMILY_MEMORY);
    append_labelled(out, memory, "what", slice_text("counters"), gauges->counters_memory_bytes,
                    true);
    append_labelled(out, memory, "what", slice_text("connections"),
                    gauges->connections_memory_bytes, true);
    append_labelled(out, memory, "what", slice_text("policies"), gauges->policies_memory_bytes,
                    true);
}

static void render_reloads(const struct metrics *metrics, struct buf *out)
{
    int64_t ok_ns = metrics_read_reload_ns(metrics, true);
    int64_t error_ns = metrics_read_reload_ns(metrics, false);
    const char *name = append_family(out, METRICS_FAMILY_RELOADS);
    append_labelled(out, name, "result", slice_text("ok"), metrics_read_reloads(metrics, true),
                    true);
    append_labelled(out, name, "result", slice_text("error"), metrics_read_reloads(metrics, false),
                    true);
    append_single_seconds(out, METRICS_FAMILY_RELOAD_SUCCESS, ok_ns != 0, ok_ns);
    append_single_seconds(out, METRICS_FAMILY_RELOAD_FAILURE, error_ns != 0,
                          error_ns);
}

static void render_snapshots(const struct metrics_text_gauges *gauges, struct buf *out)
{
    bool exists = gauges->snapshot_last_success_ns != 0;
    append_single(out, METRICS_FAMILY_SNAPSHOTS, gauges->snapshots);
    append_single(out, METRICS_FAMILY_SNAPSHOT_FAILURES, gauges->snapshot_failures);
    append_single_seconds(out, METRICS_FAMILY_SNAPSHOT_SUCCESS, exists,
                          gauges->snapshot_last_success_ns);
    append_single_seconds(out, METRICS_FAMILY_SNAPSHOT_DURATION, exists,
                          gauges->snapshot_duration_ns);
    append_single(out, METRICS_FAMILY_SNAPSHOT_BYTES, gauges->snapshot_bytes);
}

static void render_connections(const struct metrics *metrics, struct buf *out)
{
    const char *open = append_family(out, METRICS_FAMILY_CONNECTIONS);
    for (int i = 0; i < METRICS_PROTOCOLS; i++) {
        enum metrics_protocol protocol = (enum metrics_protocol)i;
        append_labelled(out, open, "protocol", slice_text(protocol_names[i]),
                        metrics_read_connections(metrics, protocol),
                        metrics_read_connections_opened(metrics, protocol) > 0);
    }
    const char *opened = append_family(out, METRICS_FAMILY_CONNECTIONS_TOTAL);
    for (int i = 0; i < METRICS_PROTOCOLS; i++) {
        append_labelled(out, opened, "protocol", slice_text(protocol_names[i]),
                        metrics_read_connections_opened(metrics, (enum metrics_protocol)i), false);
    }
    const char *refused = append_family(out, METRICS_FAMILY_CONNECTIONS_REFUSED);
    for (int i = 0; i < METRICS_PROTOCOLS; i++) {
        append_labelled(out, refused, "protocol", slice_text(protocol_names[i]),
                        metrics_read_connections_refused(metrics, (enum metrics_protocol)i), false);
    }
}

/* A bucket of the format counts all that is not longer than its bound; ours count apart. Count
 * and last bucket are the same sum, so they agree also while workers count on. */
static void render_duration(const struct metrics *metrics, enum metrics_protocol protocol,
                            struct buf *out)
{
    struct label labels[] = {{"protocol", slice_text(protocol_names[protocol])}, {"le", {0}}};
    uint64_t sum_ns = metrics_read_duration_sum_ns(metrics, protocol);
    uint64_t count = 0;
    for (uint32_t bucket = 0; bucket < METRICS_DURATION_BUCKETS; bucket++) {
        char bound[32] = "+Inf";
        if (bucket + 1 < METRICS_DURATION_BUCKETS) {
            (void)snprintf(bound, sizeof(bound), "%g",
                           (double)metrics_duration_bound_ns(bucket) / (double)CLOCK_NS_PER_S);
        }
        count += metrics_read_duration_bucket(metrics, protocol, bucket);
        labels[1].value = slice_text(bound);
        append_sample(out, "sluice_decision_duration_seconds_bucket", labels, 2, count);
    }
    append_series(out, "sluice_decision_duration_seconds_sum", labels, 1);
    buf_printf(out, "%" PRIu64 ".%09" PRIu64 "\n", sum_ns / (uint64_t)CLOCK_NS_PER_S,
               sum_ns % (uint64_t)CLOCK_NS_PER_S);
    append_sample(out, "sluice_decision_duration_seconds_count", labels, 1, count);
}

static void render_durations(const struct metrics *metrics, struct buf *out)
{
    (void)append_family(out, METRICS_FAMILY_DURATION);
    for (int i = 0; i < METRICS_PROTOCOLS; i++) {
        enum metrics_protocol protocol = (enum metrics_protocol)i;
        if (metrics_read_duration_count(metrics, protocol) > 0) {
            render_duration(metrics, protocol, out);
        }
    }
}

static void render_process(const struct metrics_text_gauges *gauges, struct buf *out)
{
    const char *build = append_family(out, METRICS_FAMILY_BUILD_INFO);
    append_labelled(out, build, "version", slice_text(gauges->version), 1, true);
    append_single_seconds(out, METRICS_FAMILY_START_TIME, true,
                          gauges->start_ns);
    if (gauges->resident_bytes > 0) {
        append_single(out, METRICS_FAMILY_RESIDENT, gauges->resident_bytes);
    }
    if (gauges->open_fds > 0) {
        append_single(out, METRICS_FAMILY_OPEN_FDS, gauges->open_fds);
    }
}

void metrics_text_render(const struct metrics *metrics, const struct metrics_text_gauges *gauges,
                         struct buf *out)
{
    render_decisions(metrics, out);
    render_requests(metrics, out);
    render_request_errors(metrics, out);
    render_counters(metrics, gauges, out);
    render_reloads(metrics, out);
    if (gauges->has_state) {
        render_snapshots(gauges, out);
    }
    render_connections(metrics, out);
    render_durations(metrics, out);
    render_process(gauges, out);
}
