/* The summary for people. */
#ifndef SIMULATE_REPORT_H
#define SIMULATE_REPORT_H

#include "simulate_summary.h"

void simulate_report_append(struct buf *out, const struct simulate_summary *summary);

#endif
