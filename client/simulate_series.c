#include "simulate_series.h"

#include <string.h>

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* Widths that people know, each a multiple of the one before: bins merge whole. The widest covers
 * all of int64 in fewer bins than there are. */
static const int64_t widths_ns[] = {
    MS,          10 * MS,     100 * MS,  SECOND,  5 * SECOND, 15 * SECOND, MINUTE,    5 * MINUTE,
    15 * MINUTE, HOUR,        6 * HOUR,  DAY,     7 * DAY,    28 * DAY,    364 * DAY,
};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int64_t simulate_series_width_ns(const struct simulate_axis *axis)
{
    return widths_ns[axis->width];
}

static int64_t bin_of(const struct simulate_axis *axis, int64_t at_ns)
{
    return floor_div(at_ns, widths_ns[axis->width]);
}

/* Goes on with the next width, bin 0 at the span's start. */
static void widen(struct simulate_axis *axis, struct simulate_series *const *series, size_t count)
{
    int64_t ratio = widths_ns[axis->width + 1] / widths_ns[axis->width];
    int64_t old_first = axis->first;
    axis->width++;
    axis->first = floor_div(old_first, ratio);
    for (size_t s = 0; s < count; s++) {
        if (series[s] == NULL) {
            continue;
        }
        uint64_t merged[SIMULATE_SERIES_BINS] = {0};
        for (size_t i = 0; i < SIMULATE_SERIES_BINS; i++) {
            int64_t bin = floor_div(old_first + (int64_t)i, ratio) - axis->first;
            merged[bin] += series[s]->bins[i];
        }
        memcpy(series[s]->bins, merged, sizeof(merged));
    }
}

/* Makes bin 0 an earlier one; what is moved out at the end is empty. */
static void shift(struct simulate_axis *axis, struct simulate_series *const *series, size_t count,
                  int64_t first)
{
    size_t by = (size_t)(axis->first - first);
    axis->first = first;
    for (size_t s = 0; s < count; s++) {
        if (series[s] != NULL) {
            uint64_t *bins = series[s]->bins;
            memmove(bins + by, bins, (SIMULATE_SERIES_BINS - by) * sizeof(*bins));
            memset(bins, 0, by * sizeof(*bins));
        }
    }
}

size_t simulate_series_bin(struct simulate_axis *axis, struct simulate_series *const *series,
                           size_t count, int64_t at_ns)
{
    if (!axis->used) {
        *axis = (struct simulate_axis){.used = true, .low_ns = at_ns, .high_ns = at_ns};
        axis->first = bin_of(axis, at_ns);
    }
    axis->low_ns = at_ns < axis->low_ns ? at_ns : axis->low_ns;
    axis->high_ns = at_ns > axis->high_ns ? at_ns : axis->high_ns;
    int64_t most = (int64_t)SIMULATE_SERIES_BINS;
    while (bin_of(axis, axis->high_ns) - bin_of(axis, axis->low_ns) >= most) {
        widen(axis, series, count);
    }
    int64_t low = bin_of(axis, axis->low_ns);
    if (low < axis->first) {
        shift(axis, series, count, low);
    }
    return (size_t)(bin_of(axis, at_ns) - axis->first);
}

void simulate_series_coarsen(struct simulate_axis *axis, struct simulate_series *const *series,
                             size_t count, size_t bins)
{
    size_t last = sizeof(widths_ns) / sizeof(widths_ns[0]) - 1;
    while (axis->used && axis->width < last &&
           bin_of(axis, axis->high_ns) - axis->first >= (int64_t)bins) {
        widen(axis, series, count);
    }
}
