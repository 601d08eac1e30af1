/* How many things happened when, in bounded memory, over a span that nobody knows beforehand:
 * bins of one width, and whenever the span outgrows them, wider ones. */
#ifndef SIMULATE_SERIES_H
#define SIMULATE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIMULATE_SERIES_BINS ((size_t)1024)

/* The time axis that several series share. */
struct simulate_axis {
    bool used;
    uint32_t width;  /* index into the widths */
    int64_t first;   /* number of bin 0: instants from first * width on */
    int64_t low_ns;  /* the span so far */
    int64_t high_ns;
};

/* One count a bin. All series of an axis change together. */
struct simulate_series {
    uint64_t bins[SIMULATE_SERIES_BINS];
};

/* The bin of an instant; widens or shifts the axis, and all `count` series with it, where needed
 * (entries that are NULL are skipped). */
size_t simulate_series_bin(struct simulate_axis *axis, struct simulate_series *const *series,
                           size_t count, int64_t at_ns);

int64_t simulate_series_width_ns(const struct simulate_axis *axis);

/* Makes the axis coarse enough for at most `bins` bins over the span. */
void simulate_series_coarsen(struct simulate_axis *axis, struct simulate_series *const *series,
                             size_t count, size_t bins);

#endif
