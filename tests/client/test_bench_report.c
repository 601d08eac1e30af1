#include "bench_report.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct bench_run_options options = {
    .server = "unix:/a\"b", .connections = 4, .in_flight = 2, .threads = 2, .batch = 10};

/* Two seconds, a thousand answers, 1 … 1000 µs. */
static struct bench_result *make(int64_t cpu_ns, double share)
{
    struct bench_result *result = malloc(sizeof *result);
    bench_result_init(result);
    result->started = true;
    result->start_ns = 1000000000;
    result->last_ns = 3000000000;
    result->cpu_ns = cpu_ns;
    result->cpu_share_max = share;
    result->allowed = 700;
    result->refused = 200;
    result->errors = 100;
    result->codes[3] = 60;
    result->codes[BENCH_RESULT_CODES - 1] = 40;
    for (uint64_t i = 1; i <= 1000; i++) {
        histogram_record(&result->latency_ns, i * 1000);
        bench_result_bin(result, result->start_ns + (int64_t)i * 2000000 - 1, 1);
    }
    return result;
}

static char *print(void (*report)(struct buf *, const struct bench_run_options *,
                                  const struct bench_result *),
                   const struct bench_result *result)
{
    struct buf out;
    buf_init(&out, 0);
    report(&out, &options, result);
    buf_append_byte(&out, '\0');
    cr_assert_not(out.failed);
    char *text = strdup((const char *)buf_slice(&out).data);
    buf_deinit(&out);
    return text;
}

static void drop(struct bench_result *result, char *text)
{
    bench_result_deinit(result);
    free(result);
    free(text);
}

Test(bench_report, in_words)
{
    struct bench_result *result = make(1000000000, 0.94);
    char *text = print(bench_report_text, result);
    cr_expect(strncmp(text,
                      "requests: 1000\nallowed: 700\nrefused: 200\nerrors: 100\n"
                      "  INVALID_ARGUMENT: 60\n  UNKNOWN: 40\n"
                      "seconds: 2.000\nrequests/s: 500\nlatency p50: ",
                      130) == 0,
              "%s", text);
    cr_expect(strstr(text, "latency max: 1000.0 µs\nclient CPU: 25 %\n") != NULL, "%s", text);
    cr_expect(strstr(text, "bottleneck") == NULL);
    cr_expect(strstr(text, "wrong") == NULL);
    drop(result, text);
}

Test(bench_report, the_client_was_the_bottleneck)
{
    struct bench_result *result = make(3900000000, 0.96);
    char *text = print(bench_report_text, result);
    cr_expect(strstr(text, "the client was the bottleneck") != NULL);
    free(text);
    text = print(bench_report_json, result);
    cr_expect(strstr(text, "\"client_cpu\":0.9750,\"bottleneck\":\"client\"}") != NULL, "%s", text);
    drop(result, text);
}

Test(bench_report, what_is_wrong_is_shown)
{
    struct bench_result *result = make(0, 0);
    result->wrong = 3;
    result->missing = 4;
    char *text = print(bench_report_text, result);
    cr_expect(strstr(text, "wrong: 3\nmissing: 4\n") != NULL);
    free(text);
    text = print(bench_report_json, result);
    cr_expect(strstr(text, "\"errors\":100,\"wrong\":3,\"missing\":4,"
                           "\"error_codes\":{\"INVALID_ARGUMENT\":60,\"UNKNOWN\":40}") != NULL,
              "%s", text);
    cr_expect(strstr(text, "{\"server\":\"unix:/a\\\"b\",\"connections\":4,") == text);
    drop(result, text);
}

Test(bench_report, nothing_measured)
{
    struct bench_result *result = malloc(sizeof *result);
    bench_result_init(result);
    char *text = print(bench_report_json, result);
    cr_expect(strstr(text, "\"requests\":0,") != NULL);
    cr_expect(strstr(text, "nan") == NULL && strstr(text, "inf") == NULL, "%s", text);
    free(text);
    text = print(bench_report_svg, result);
    cr_expect(strstr(text, "nan") == NULL && strstr(text, "inf") == NULL, "%s", text);
    drop(result, text);
}

/* 20 bins of 50 questions: 500 a second all along. */
Test(bench_report, throughput_over_time)
{
    struct bench_result *result = make(0, 0);
    char *text = print(bench_report_svg, result);
    cr_expect_eq(result->bin_count, 20);
    for (size_t i = 0; i < result->bin_count; i++) {
        cr_expect_eq(result->bins[i], 50);
    }
    cr_expect(strstr(text, ">500<") != NULL && strstr(text, ">99 %<") != NULL, "%s", text);
    drop(result, text);
}
