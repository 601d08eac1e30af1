/* The summary for programs: one JSON object, durations exact in nanoseconds. */
#ifndef SIMULATE_JSON_H
#define SIMULATE_JSON_H

#include "simulate_summary.h"

void simulate_json_append(struct buf *out, const struct simulate_summary *summary);

#endif
