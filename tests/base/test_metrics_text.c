#include "base/metrics_text.h"

#include <criterion/criterion.h>
#include <regex.h>
#include <stdio.h>

static const struct metrics_text_gauges quiet = {
    .version = "1.2.3", .start_ns = INT64_C(1767225600000000000)};

/* The rendering as a NUL-terminated text; free it. */
static char *render(const struct metrics *metrics, const struct metrics_text_gauges *gauges)
{
    struct buf buf;
    buf_init(&buf, 0);
    metrics_text_render(metrics, gauges, &buf);
    buf_append_byte(&buf, '\0');
    cr_assert_not(buf.failed);
    cr_assert_eq(buf.start, 0);
    return (char *)buf.data;
}

/* Whether `line` stands in `text` as a whole line. */
static bool has_line(const char *text, const char *line)
{
    size_t size = strlen(line);
    for (const char *at = strstr(text, line); at != NULL; at = strstr(at + 1, line)) {
        if ((at == text || at[-1] == '\n') && at[size] == '\n') {
            return true;
        }
    }
    return false;
}

static void expect_lines(const char *text, const char *const *lines)
{
    for (; *lines != NULL; lines++) {
        cr_expect(has_line(text, *lines), "not there: %s", *lines);
    }
}

static void expect_no(const char *text, const char *part)
{
    cr_expect_null(strstr(text, part), "there: %s", part);
}

Test(metrics_text, counts_with_names_and_labels)
{
    static const char *const lines[] = {
        "# TYPE sluice_decisions_total counter",
        "sluice_decisions_total{limit=\"\",outcome=\"allowed\"} 1",
        "sluice_decisions_total{limit=\"login\",outcome=\"allowed\"} 2",
        "sluice_decisions_total{limit=\"login\",outcome=\"refused\"} 0",
        "sluice_decisions_total{limit=\"login\",outcome=\"would_refuse\"} 1",
        "sluice_decisions_total{limit=\"login\",outcome=\"cost_exceeds\"} 1",
        "sluice_decisions_total{limit=\"login\",outcome=\"blocked\"} 1",
        "sluice_decisions_total{limit=\"login\",outcome=\"unlimited\"} 1",
        "sluice_decisions_total{limit=\"login\",outcome=\"store_full\"} 1",
        "sluice_decisions_total{limit=\"login\",outcome=\"shadow_error\"} 1",
        "# TYPE sluice_no_limit_total counter",
        "sluice_no_limit_total 1",
        "# TYPE sluice_requests_total counter",
        "sluice_requests_total{protocol=\"native\",kind=\"should_allow\"} 4",
        "sluice_requests_total{protocol=\"http\",kind=\"batch\"} 1",
        "sluice_requests_total{protocol=\"grpc\",kind=\"refund\"} 1",
        "sluice_requests_total{protocol=\"resp\",kind=\"reset\"} 1",
        "# TYPE sluice_request_errors_total counter",
        "sluice_request_errors_total{protocol=\"admin\",code=\"INVALID_ARGUMENT\"} 1",
        "sluice_request_errors_total{protocol=\"admin\",code=\"PERMISSION_DENIED\"} 1",
        "sluice_request_errors_total{protocol=\"admin\",code=\"UNAUTHENTICATED\"} 1",
        "# TYPE sluice_counters_evicted_total counter",
        "sluice_counters_evicted_total{limit=\"login\"} 1",
        "# TYPE sluice_counters_refused_total counter",
        "sluice_counters_refused_total{limit=\"login\"} 1",
        "# TYPE sluice_connections gauge",
        "sluice_connections{protocol=\"native\"} 1",
        "sluice_connections{protocol=\"http\"} 0",
        "# TYPE sluice_connections_total counter",
        "sluice_connections_total{protocol=\"native\"} 1",
        "sluice_connections_total{protocol=\"http\"} 1",
        "# TYPE sluice_connections_refused_total counter",
        "sluice_connections_refused_total{protocol=\"resp\"} 1",
        NULL,
    };
    struct metrics *metrics = metrics_create(2);
    struct metrics_worker *worker = metrics_worker(metrics, 1);
    uint32_t login = metrics_limit(metrics, slice_text("login"));
    metrics_decision(metrics_worker(metrics, 0), login, METRICS_ALLOWED);
    metrics_decision(worker, METRICS_NO_LIMIT, METRICS_ALLOWED);
    for (int i = 0; i < METRICS_OUTCOMES; i++) {
        if (i != METRICS_REFUSED) {
            metrics_decision(worker, login, (enum metrics_outcome)i);
        }
    }
    metrics_no_limit(worker);
    metrics_request(worker, METRICS_NATIVE, METRICS_SHOULD_ALLOW, 4);
    metrics_request(worker, METRICS_HTTP, METRICS_BATCH, 1);
    metrics_request(worker, METRICS_GRPC, METRICS_REFUND, 1);
    metrics_request(worker, METRICS_RESP, METRICS_RESET, 1);
    metrics_request_error(worker, METRICS_ADMIN, 3);
    metrics_request_error(worker, METRICS_ADMIN, 7);
    metrics_request_error(worker, METRICS_ADMIN, 16);
    metrics_counter_evicted(worker, login);
    metrics_counter_refused(worker, login);
    metrics_connection_opened(worker, METRICS_NATIVE);
    metrics_connection_opened(worker, METRICS_HTTP);
    metrics_connection_closed(worker, METRICS_HTTP);
    metrics_connection_refused(worker, METRICS_RESP);
    char *text = render(metrics, &quiet);
    expect_lines(text, lines);
    expect_no(text, "sluice_decisions_total{limit=\"\",outcome=\"refused\"}");
    expect_no(text, "protocol=\"grpc\",kind=\"batch\"");
    expect_no(text, "sluice_connections{protocol=\"resp\"}");
    free(text);
    metrics_destroy(&metrics);
}

Test(metrics_text, gauges)
{
    static const char *const lines[] = {
        "sluice_counters 11",
        "# TYPE sluice_counters gauge",
        "sluice_counters_swept_total 12",
        "# TYPE sluice_counters_swept_total counter",
        "sluice_memory_bytes{what=\"counters\"} 13",
        "sluice_memory_bytes{what=\"connections\"} 14",
        "sluice_memory_bytes{what=\"policies\"} 15",
        "sluice_snapshots_total 16",
        "sluice_snapshot_failures_total 17",
        "sluice_snapshot_last_success_timestamp_seconds 1767225601.500000000",
        "sluice_snapshot_duration_seconds 0.012345678",
        "sluice_snapshot_bytes 18",
        "# TYPE sluice_snapshot_bytes gauge",
        "sluice_reloads_total{result=\"ok\"} 1",
        "sluice_reloads_total{result=\"error\"} 0",
        "sluice_reload_last_success_timestamp_seconds 1767225602.000000000",
        "# TYPE sluice_reload_last_failure_timestamp_seconds gauge",
        "sluice_build_info{version=\"1.2.3\"} 1",
        "sluice_start_time_seconds 1767225600.000000000",
        "process_resident_memory_bytes 19",
        "process_open_fds 20",
        NULL,
    };
    struct metrics_text_gauges gauges = quiet;
    gauges.counters = 11;
    gauges.counters_swept = 12;
    gauges.counters_memory_bytes = 13;
    gauges.connections_memory_bytes = 14;
    gauges.policies_memory_bytes = 15;
    gauges.has_state = true;
    gauges.snapshots = 16;
    gauges.snapshot_failures = 17;
    gauges.snapshot_last_success_ns = INT64_C(1767225601500000000);
    gauges.snapshot_duration_ns = 12345678;
    gauges.snapshot_bytes = 18;
    gauges.resident_bytes = 19;
    gauges.open_fds = 20;
    struct metrics *metrics = metrics_create(1);
    metrics_reload(metrics, true, INT64_C(1767225602000000000));
    char *text = render(metrics, &gauges);
    expect_lines(text, lines);
    expect_no(text, "\nsluice_reload_last_failure_timestamp_seconds ");
    free(text);
    text = render(metrics, &quiet);
    expect_no(text, "snapshot");
    expect_no(text, "process_");
    free(text);
    metrics_destroy(&metrics);
}

Test(metrics_text, a_histogram_accumulates)
{
    static const char *const lines[] = {
        "# TYPE sluice_decision_duration_seconds histogram",
        "sluice_decision_duration_seconds_bucket{protocol=\"native\",le=\"1e-06\"} 1",
        "sluice_decision_duration_seconds_bucket{protocol=\"native\",le=\"2e-06\"} 3",
        "sluice_decision_duration_seconds_bucket{protocol=\"native\",le=\"5e-05\"} 3",
        "sluice_decision_duration_seconds_bucket{protocol=\"native\",le=\"0.0005\"} 3",
        "sluice_decision_duration_seconds_bucket{protocol=\"native\",le=\"0.5\"} 4",
        "sluice_decision_duration_seconds_bucket{protocol=\"native\",le=\"1\"} 4",
        "sluice_decision_duration_seconds_bucket{protocol=\"native\",le=\"+Inf\"} 5",
        "sluice_decision_duration_seconds_sum{protocol=\"native\"} 2.300004000",
        "sluice_decision_duration_seconds_count{protocol=\"native\"} 5",
        NULL,
    };
    struct metrics *metrics = metrics_create(2);
    metrics_duration(metrics_worker(metrics, 0), METRICS_NATIVE, 1000, 1);
    metrics_duration(metrics_worker(metrics, 1), METRICS_NATIVE, 1500, 2);
    metrics_duration(metrics_worker(metrics, 1), METRICS_NATIVE, 300000000, 1);
    metrics_duration(metrics_worker(metrics, 0), METRICS_NATIVE, 2000000000, 1);
    char *text = render(metrics, &quiet);
    expect_lines(text, lines);
    expect_no(text, "protocol=\"http\"");
    free(text);
    metrics_destroy(&metrics);
}

Test(metrics_text, label_values_are_escaped)
{
    struct metrics *metrics = metrics_create(1);
    (void)metrics_limit(metrics, slice_text("a\"b\\c\nd\xff\u00e9"));
    char *text = render(metrics, &quiet);
    cr_expect(has_line(text, "sluice_decisions_total{limit=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD\u00e9\","
                             "outcome=\"allowed\"} 0"));
    free(text);
    metrics_destroy(&metrics);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Each line is a HELP, a TYPE or a sample of the family announced just above it; no series comes
 * twice; the text ends in a newline. */
Test(metrics_text, the_format_holds)
{
    struct metrics *metrics = metrics_create(1);
    struct metrics_worker *worker = metrics_worker(metrics, 0);
    char name[80] = "";
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof(name), "limit.%d", i);
        uint32_t limit = metrics_limit(metrics, slice_text(name));
        metrics_counter_evicted(worker, limit);
        metrics_decision(worker, limit, (enum metrics_outcome)(i % METRICS_OUTCOMES));
    }
    for (int i = 0; i < METRICS_PROTOCOLS; i++) {
        metrics_duration(worker, (enum metrics_protocol)i, i * 1000000, 1);
        metrics_connection_opened(worker, (enum metrics_protocol)i);
    }
    struct metrics_text_gauges gauges = quiet;
    gauges.has_state = true;
    char *text = render(metrics, &gauges);
    cr_assert_eq(text[strlen(text) - 1], '\n');

    regex_t sample;
    cr_assert_eq(regcomp(&sample,
                         "^[a-z_]+(\\{[a-z]+=\"[^\"\n]*\"(,[a-z]+=\"[^\"\n]*\")*\\})? "
                         "[0-9]+(\\.[0-9]+)?$",
                         REG_EXTENDED | REG_NOSUB), 0);
    static char *series[4000];
    size_t count = 0;
    char family[80] = "";
    char type[256] = "";
    int families = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            cr_assert_eq(sscanf(line + 7, "%79s", family), 1);
            (void)snprintf(type, sizeof(type), "# TYPE %s ", family);
            families++;
            continue;
        }
        if (line[0] == '#') {
            cr_assert_eq(strncmp(line, type, strlen(type)), 0, "%s", line);
            bool counter = strstr(line, " counter") != NULL;
            bool total = strcmp(family + strlen(family) - 6, "_total") == 0;
            cr_expect_eq(counter, total, "%s", line);
            continue;
        }
        cr_assert_eq(strncmp(line, family, strlen(family)), 0, "%s under %s", line, family);
        cr_assert_eq(regexec(&sample, line, 0, NULL, 0), 0, "%s", line);
        cr_assert_lt(count, sizeof(series) / sizeof(series[0]));
        *strrchr(line, ' ') = '\0';
        series[count++] = line;
    }
    qsort(series, count, sizeof(series[0]), compare_texts);
    for (size_t i = 1; i < count; i++) {
        cr_assert_str_neq(series[i - 1], series[i]);
    }
    cr_expect_eq(families, 23);
    regfree(&sample);
    free(text);
    metrics_destroy(&metrics);
}
