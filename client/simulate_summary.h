/* What a finished simulation has to say, and the three ways to say it. */
#ifndef SIMULATE_SUMMARY_H
#define SIMULATE_SUMMARY_H

#include "simulate_compare.h"
#include "simulate_tally.h"

struct simulate_summary {
    const char *limits_path;
    const char *traffic_path;
    const char *format;
    const struct simulate_tally *tally;
    const struct policy_set *set; /* in force at the end */
    uint64_t unreadable;          /* lines */
    uint64_t counters_held;       /* at the end */
    const char *compare_path;     /* NULL: nothing was compared */
    const struct simulate_compare *compare;
    bool colour;
};

#endif
