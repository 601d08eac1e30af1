/* A bench's numbers for people, for programs, as a picture. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench_run.h"

void bench_report_text(struct buf *out, const struct bench_run_options *options,
                       const struct bench_result *result);
void bench_report_json(struct buf *out, const struct bench_run_options *options,
                       const struct bench_result *result);
/* An SVG: latency by percentile, throughput over time. */
void bench_report_svg(struct buf *out, const struct bench_run_options *options,
                      const struct bench_result *result);

/* The client's threads had no time left: the server can do more than this. */
bool bench_report_is_bottleneck(const struct bench_result *result);

#endif
