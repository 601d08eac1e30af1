#include "bench_report.h"

#include "base/text.h"
#include "sluice.h"
#include "svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BOTTLENECK_SHARE 0.95
#define PLOT_PERCENTILES 300u
#define PLOT_POINTS 300u

bool bench_report_is_bottleneck(const struct bench_result *result)
{
    return result->cpu_share_max >= BOTTLENECK_SHARE;
}

static double per_second(const struct bench_result *result)
{
    double seconds = bench_result_seconds(result);
    return seconds > 0 ? (double)bench_result_answered(result) / seconds : 0.0;
}

static double us_at(const struct bench_result *result, double share)
{
    return (double)histogram_at(&result->latency_ns, share) / 1e3;
}

static double cpu_share(const struct bench_run_options *options, const struct bench_result *result)
{
    double seconds = bench_result_seconds(result) * options->threads;
    return seconds > 0 ? (double)result->cpu_ns / 1e9 / seconds : 0.0;
}

static const char *code_text(uint32_t code)
{
    return code == BENCH_RESULT_CODES - 1 ? "UNKNOWN" : sluice_code_text((enum sluice_code)code);
}

void bench_report_text(struct buf *out, const struct bench_run_options *options,
                       const struct bench_result *result)
{
    buf_printf(out, "requests: %" PRIu64 "\nallowed: %" PRIu64 "\nrefused: %" PRIu64 "\n",
               bench_result_answered(result), result->allowed, result->refused);
    buf_printf(out, "errors: %" PRIu64 "\n", result->errors);
    for (uint32_t i = 0; i < BENCH_RESULT_CODES; i++) {
        if (result->codes[i] > 0) {
            buf_printf(out, "  %s: %" PRIu64 "\n", code_text(i), result->codes[i]);
        }
    }
    if (result->wrong > 0 || result->missing > 0) {
        buf_printf(out, "wrong: %" PRIu64 "\nmissing: %" PRIu64 "\n", result->wrong,
                   result->missing);
    }
    buf_printf(out, "seconds: %.3f\nrequests/s: %.0f\n", bench_result_seconds(result),
               per_second(result));
    buf_printf(out, "latency p50: %.1f µs\nlatency p90: %.1f µs\n", us_at(result, 0.5),
               us_at(result, 0.9));
    buf_printf(out, "latency p99: %.1f µs\nlatency p99.9: %.1f µs\n", us_at(result, 0.99),
               us_at(result, 0.999));
    buf_printf(out, "latency max: %.1f µs\nclient CPU: %.0f %%\n", us_at(result, 1.0),
               100 * cpu_share(options, result));
    if (bench_report_is_bottleneck(result)) {
        buf_append_text(out, "the client was the bottleneck: the daemon can do more than this\n");
    }
}

static void json_codes(struct buf *out, const struct bench_result *result)
{
    const char *before = "";
    buf_append_text(out, ",\"error_codes\":{");
    for (uint32_t i = 0; i < BENCH_RESULT_CODES; i++) {
        if (result->codes[i] > 0) {
            buf_printf(out, "%s\"%s\":%" PRIu64, before, code_text(i), result->codes[i]);
            before = ",";
        }
    }
    buf_append_byte(out, '}');
}

void bench_report_json(struct buf *out, const struct bench_run_options *options,
                       const struct bench_result *result)
{
    buf_append_text(out, "{\"server\":");
    text_append_json_string(out, slice_text(options->server));
    buf_printf(out, ",\"connections\":%u,\"in_flight\":%u,\"threads\":%u", options->connections,
               options->in_flight, options->threads);
    buf_printf(out, ",\"batch\":%u,\"rate\":%" PRIu64, options->batch, options->rate);
    buf_printf(out, ",\"requests\":%" PRIu64 ",\"allowed\":%" PRIu64 ",\"refused\":%" PRIu64,
               bench_result_answered(result), result->allowed, result->refused);
    buf_printf(out, ",\"errors\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"missing\":%" PRIu64,
               result->errors, result->wrong, result->missing);
    json_codes(out, result);
    buf_printf(out, ",\"seconds\":%.6f,\"requests_per_second\":%.1f",
               bench_result_seconds(result), per_second(result));
    buf_printf(out, ",\"latency_us\":{\"mean\":%.3f,\"p50\":%.3f,\"p90\":%.3f",
               histogram_mean(&result->latency_ns) / 1e3, us_at(result, 0.5),
               us_at(result, 0.9));
    buf_printf(out, ",\"p99\":%.3f,\"p99_9\":%.3f,\"max\":%.3f}", us_at(result, 0.99),
               us_at(result, 0.999), us_at(result, 1.0));
    buf_printf(out, ",\"client_cpu\":%.4f,\"bottleneck\":%s}\n", cpu_share(options, result),
               bench_report_is_bottleneck(result) ? "\"client\"" : "null");
}

/* x is the number of nines: the tail gets as much room as the rest. */
static void add_latency(struct svg_panel *panel, struct svg_series *series,
                        struct svg_point *points, const struct bench_result *result)
{
    static const struct svg_tick ticks[] = {
        {0, "0 %"},    {0.30103, "50 %"}, {1, "90 %"},
        {2, "99 %"},   {3, "99.9 %"},     {4, "99.99 %"},
        {5, "99.999 %"}};
    double nines = result->latency_ns.count < 10
                       ? 1.0
                       : ceil(log10((double)result->latency_ns.count));
    nines = nines > 5 ? 5 : nines;
    for (uint32_t i = 0; i < PLOT_PERCENTILES; i++) {
        double x = nines * i / (PLOT_PERCENTILES - 1);
        points[i] = (struct svg_point){x, us_at(result, 1 - pow(10, -x))};
    }
    *series = (struct svg_series){NULL, points, PLOT_PERCENTILES, SVG_LINE};
    *panel = (struct svg_panel){
        .title = "Latency by percentile",
        .x_label = "percentile",
        .y_label = "µs",
        .series = series,
        .series_count = 1,
        .x_ticks = ticks,
        .x_tick_count = (size_t)nines + 2,
        .y_log = true,
    };
}

/* The last bin is cut short by the end of the run and would look like a fall. */
static void add_throughput(struct svg_panel *panel, struct svg_series *series,
                           struct svg_point *points, const struct bench_result *result)
{
    size_t bins = result->bin_count > 1 ? result->bin_count - 1 : result->bin_count;
    size_t merge = (bins + PLOT_POINTS - 1) / PLOT_POINTS;
    size_t count = 0;
    double bin_s = (double)BENCH_RESULT_BIN_NS / 1e9;
    for (size_t i = 0; i < bins; i += merge) {
        size_t width = bins - i < merge ? bins - i : merge;
        double sum = 0;
        for (size_t j = i; j < i + width; j++) {
            sum += (double)result->bins[j];
        }
        points[count++] = (struct svg_point){(double)i * bin_s, sum / ((double)width * bin_s)};
    }
    if (count > 0) {
        points[count] = (struct svg_point){(double)bins * bin_s, points[count - 1].y};
        count++;
    }
    *series = (struct svg_series){NULL, points, count, SVG_AREA};
    *panel = (struct svg_panel){
        .title = "Throughput over time",
        .x_label = "seconds",
        .y_label = "requests/s",
        .series = series,
        .series_count = 1,
    };
}

void bench_report_svg(struct buf *out, const struct bench_run_options *options,
                      const struct bench_result *result)
{
    struct svg_point *points = calloc(PLOT_PERCENTILES + PLOT_POINTS + 2, sizeof *points);
    struct svg_panel panels[2];
    struct svg_series series[2];
    char subtitle[256];
    if (points == NULL) {
        out->failed = true;
        return;
    }
    add_latency(&panels[0], &series[0], points, result);
    add_throughput(&panels[1], &series[1], points + PLOT_PERCENTILES, result);
    (void)snprintf(subtitle, sizeof subtitle,
                   "%u connections × %u in flight%s · %.0f requests/s · p50 %.0f µs · p99 %.0f µs",
                   options->connections, options->in_flight,
                   options->rate > 0 ? ", open loop" : "", per_second(result),
                   us_at(result, 0.5), us_at(result, 0.99));
    svg_chart(out, "sluice bench", subtitle, panels, 2);
    free(points);
}
