/* What there is to measure: the name, type, labels and meaning of every metric, in the order in
 * which they are shown. README's table is printed from it. */
#ifndef BASE_METRICS_FAMILY_H
#define BASE_METRICS_FAMILY_H

#include "base/buf.h"

enum metrics_family_id {
    METRICS_FAMILY_DECISIONS,
    METRICS_FAMILY_NO_LIMIT,
    METRICS_FAMILY_REQUESTS,
    METRICS_FAMILY_REQUEST_ERRORS,
    METRICS_FAMILY_COUNTERS,
    METRICS_FAMILY_SWEPT,
    METRICS_FAMILY_EVICTED,
    METRICS_FAMILY_REFUSED,
    METRICS_FAMILY_MEMORY,
    METRICS_FAMILY_RELOADS,
    METRICS_FAMILY_RELOAD_SUCCESS,
    METRICS_FAMILY_RELOAD_FAILURE,
    METRICS_FAMILY_SNAPSHOTS,
    METRICS_FAMILY_SNAPSHOT_FAILURES,
    METRICS_FAMILY_SNAPSHOT_SUCCESS,
    METRICS_FAMILY_SNAPSHOT_DURATION,
    METRICS_FAMILY_SNAPSHOT_BYTES,
    METRICS_FAMILY_CONNECTIONS,
    METRICS_FAMILY_CONNECTIONS_TOTAL,
    METRICS_FAMILY_CONNECTIONS_REFUSED,
    METRICS_FAMILY_DURATION,
    METRICS_FAMILY_BUILD_INFO,
    METRICS_FAMILY_START_TIME,
    METRICS_FAMILY_RESIDENT,
    METRICS_FAMILY_OPEN_FDS,
    METRICS_FAMILIES
};

struct metrics_family {
    const char *name;
    const char *type;
    const char *labels; /* "limit, outcome"; empty: none */
    const char *help;
};

const struct metrics_family *metrics_family_of(enum metrics_family_id id);

/* Appends a table in Markdown, one row a metric. */
void metrics_family_describe(struct buf *out);

#endif
