/* The summary as a picture: allowed and refused over time, and below it each limit's refusals. */
#ifndef SIMULATE_CHART_H
#define SIMULATE_CHART_H

#include "simulate_summary.h"

/* Makes the tally's time axis as coarse as the picture needs. */
void simulate_chart_append(struct buf *out, struct simulate_tally *tally,
                           const struct simulate_summary *summary);

#endif
