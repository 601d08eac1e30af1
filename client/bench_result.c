#include "bench_result.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_result_init(struct bench_result *result)
{
    memset(result, 0, sizeof *result);
    histogram_init(&result->latency_ns);
}

void bench_result_deinit(struct bench_result *result)
{
    free(result->bins);
    result->bins = NULL;
}

static bool make_bins(struct bench_result *result, size_t count)
{
    if (count > result->bin_capacity) {
        size_t capacity = result->bin_capacity == 0 ? 128 : result->bin_capacity;
        while (capacity < count) {
            capacity *= 2;
        }
        uint64_t *bins = realloc(result->bins, capacity * sizeof *bins);
        if (bins == NULL) {
            return false;
        }
        result->bins = bins;
        result->bin_capacity = capacity;
    }
    while (result->bin_count < count) {
        result->bins[result->bin_count++] = 0;
    }
    return true;
}

void bench_result_bin(struct bench_result *result, int64_t now_ns, uint64_t questions)
{
    int64_t since = now_ns - result->start_ns;
    size_t bin = since < 0 ? 0 : (size_t)(since / BENCH_RESULT_BIN_NS);
    if (bin < result->bin_count || make_bins(result, bin + 1)) {
        result->bins[bin] += questions;
    }
}

void bench_result_trouble(struct bench_result *result, const char *format, ...)
{
    if (result->trouble[0] == '\0') {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(result->trouble, sizeof result->trouble, format, args);
        va_end(args);
    }
}

void bench_result_add(struct bench_result *result, const struct bench_result *thread)
{
    result->allowed += thread->allowed;
    result->refused += thread->refused;
    result->errors += thread->errors;
    result->wrong += thread->wrong;
    result->missing += thread->missing;
    for (uint32_t i = 0; i < BENCH_RESULT_CODES; i++) {
        result->codes[i] += thread->codes[i];
    }
    if (thread->trouble[0] != '\0') {
        bench_result_trouble(result, "%s", thread->trouble);
    }
    histogram_add(&result->latency_ns, &thread->latency_ns);
    if (!thread->started) {
        return;
    }
    if (!result->started || thread->start_ns < result->start_ns) {
        result->start_ns = thread->start_ns;
    }
    result->started = true;
    result->last_ns = thread->last_ns > result->last_ns ? thread->last_ns : result->last_ns;
    result->cpu_ns += thread->cpu_ns;
    double seconds = bench_result_seconds(thread);
    double share = seconds > 0 ? (double)thread->cpu_ns / 1e9 / seconds : 0;
    result->cpu_share_max = share > result->cpu_share_max ? share : result->cpu_share_max;
    if (make_bins(result, thread->bin_count)) {
        for (size_t i = 0; i < thread->bin_count; i++) {
            result->bins[i] += thread->bins[i];
        }
    }
}

double bench_result_seconds(const struct bench_result *result)
{
    return result->last_ns > result->start_ns ? (double)(result->last_ns - result->start_ns) / 1e9
                                              : 0.0;
}
