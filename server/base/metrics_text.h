/* The metrics in Prometheus' text format: what `sluice stats` and the admin listener's /metrics
 * show. Names and labels are fixed (README, "Metrics"). */
#ifndef BASE_METRICS_TEXT_H
#define BASE_METRICS_TEXT_H

#include "base/metrics.h"

/* What the program knows and no worker counts; the caller gathers it for each rendering. */
struct metrics_text_gauges {
    uint64_t counters;       /* in the store now */
    uint64_t counters_swept; /* forgotten as good as never used, since start */
    uint64_t counters_memory_bytes;
    uint64_t connections_memory_bytes;
    uint64_t policies_memory_bytes;

    bool has_state; /* a state directory is kept: the snapshot metrics exist */
    uint64_t snapshots;
    uint64_t snapshot_failures;
    int64_t snapshot_last_success_ns; /* an instant; 0: none yet, nor its duration and size */
    int64_t snapshot_duration_ns;     /* of the latest write */
    uint64_t snapshot_bytes;

    const char *version;
    int64_t start_ns;        /* an instant */
    uint64_t resident_bytes; /* 0: not known */
    uint64_t open_fds;       /* 0: not known */
};

/* Appends every metric with its HELP and TYPE; of labelled ones the series that exist: what a
 * limit allowed and refused from the start, the rest from its first event. */
void metrics_text_render(const struct metrics *metrics, const struct metrics_text_gauges *gauges,
                         struct buf *out);

#endif
