#include "base/metrics_family.h"

static const struct metrics_family metrics_families[METRICS_FAMILIES] = {
    [METRICS_FAMILY_DECISIONS] =
        {"sluice_decisions_total", "counter", "limit, outcome",
         "Decisions, by the limit shown in the answer."},
    [METRICS_FAMILY_NO_LIMIT] =
        {"sluice_no_limit_total", "counter", "",
         "Requests that no route matched."},
    [METRICS_FAMILY_REQUESTS] =
        {"sluice_requests_total", "counter", "protocol, kind",
         "Requests read, by protocol and kind."},
    [METRICS_FAMILY_REQUEST_ERRORS] =
        {"sluice_request_errors_total", "counter", "protocol, code",
         "Requests answered with an error, by protocol and code."},
    [METRICS_FAMILY_COUNTERS] =
        {"sluice_counters", "gauge", "",
         "Counters in the store."},
    [METRICS_FAMILY_SWEPT] =
        {"sluice_counters_swept_total", "counter", "",
         "Counters forgotten because they were as if never used."},
    [METRICS_FAMILY_EVICTED] =
        {"sluice_counters_evicted_total", "counter", "limit",
         "Counters given up to make room, by limit."},
    [METRICS_FAMILY_REFUSED] =
        {"sluice_counters_refused_total", "counter", "limit",
         "New counters refused for want of room, by limit."},
    [METRICS_FAMILY_MEMORY] =
        {"sluice_memory_bytes", "gauge", "what",
         "Memory held, by what for."},
    [METRICS_FAMILY_RELOADS] =
        {"sluice_reloads_total", "counter", "result",
         "Reloads of the limits file, by result."},
    [METRICS_FAMILY_RELOAD_SUCCESS] =
        {"sluice_reload_last_success_timestamp_seconds", "gauge", "",
         "When the limits file was last read with success."},
    [METRICS_FAMILY_RELOAD_FAILURE] =
        {"sluice_reload_last_failure_timestamp_seconds", "gauge", "",
         "When a reload of the limits file last failed."},
    [METRICS_FAMILY_SNAPSHOTS] =
        {"sluice_snapshots_total", "counter", "",
         "Snapshots written."},
    [METRICS_FAMILY_SNAPSHOT_FAILURES] =
        {"sluice_snapshot_failures_total", "counter", "",
         "Snapshots that could not be written."},
    [METRICS_FAMILY_SNAPSHOT_SUCCESS] =
        {"sluice_snapshot_last_success_timestamp_seconds", "gauge", "",
         "When a snapshot was last written."},
    [METRICS_FAMILY_SNAPSHOT_DURATION] =
        {"sluice_snapshot_duration_seconds", "gauge", "",
         "How long the latest write of a snapshot took."},
    [METRICS_FAMILY_SNAPSHOT_BYTES] =
        {"sluice_snapshot_bytes", "gauge", "",
         "Size of the latest snapshot."},
    [METRICS_FAMILY_CONNECTIONS] =
        {"sluice_connections", "gauge", "protocol",
         "Open connections, by protocol."},
    [METRICS_FAMILY_CONNECTIONS_TOTAL] =
        {"sluice_connections_total", "counter", "protocol",
         "Connections accepted, by protocol."},
    [METRICS_FAMILY_CONNECTIONS_REFUSED] =
        {"sluice_connections_refused_total", "counter", "protocol",
         "Connections refused for their number, by protocol."},
    [METRICS_FAMILY_DURATION] =
        {"sluice_decision_duration_seconds", "histogram", "protocol",
         "From the last byte of a request read to its answer handed to the kernel."},
    [METRICS_FAMILY_BUILD_INFO] =
        {"sluice_build_info", "gauge", "version",
         "1, with the version as label."},
    [METRICS_FAMILY_START_TIME] =
        {"sluice_start_time_seconds", "gauge", "",
         "When the daemon started."},
    [METRICS_FAMILY_RESIDENT] =
        {"process_resident_memory_bytes", "gauge", "",
         "Resident memory."},
    [METRICS_FAMILY_OPEN_FDS] =
        {"process_open_fds", "gauge", "",
         "Open file descriptors."},
};

const struct metrics_family *metrics_family_of(enum metrics_family_id id)
{
    return &metrics_families[id];
}

void metrics_family_describe(struct buf *out)
{
    buf_append_text(out, "| name | type | labels | meaning |\n|---|---|---|---|\n");
    for (int i = 0; i < METRICS_FAMILIES; i++) {
        const struct metrics_family *family = &metrics_families[i];
        buf_printf(out, "| `%s` | %s | %s | %s |\n", family->name, family->type, family->labels,
                   family->help);
    }
}
