/* Counts values by size: exact below 256, then 128 steps to each doubling, so that a value read
 * back is at most 0.4 % off. Fixed memory, one addition a value. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEP_BITS 7
#define HISTOGRAM_BUCKETS ((64u - HISTOGRAM_STEP_BITS + 1) << HISTOGRAM_STEP_BITS)

struct histogram {
    uint64_t count;
    uint64_t max;
    uint64_t min; /* UINT64_MAX when empty */
    double sum;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_init(struct histogram *histogram);

static inline uint32_t histogram_bucket(uint64_t value)
{
    if (value < 2u << HISTOGRAM_STEP_BITS) {
        return (uint32_t)value;
    }
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(value) - HISTOGRAM_STEP_BITS;
    return (shift << HISTOGRAM_STEP_BITS) + (uint32_t)(value >> shift);
}

static inline void histogram_record(struct histogram *histogram, uint64_t value)
{
    histogram->count++;
    histogram->sum += (double)value;
    histogram->max = value > histogram->max ? value : histogram->max;
    histogram->min = value < histogram->min ? value : histogram->min;
    histogram->buckets[histogram_bucket(value)]++;
}

void histogram_add(struct histogram *histogram, const struct histogram *other);

/* The value that a share 0 … 1 of all values does not exceed; 0 when empty, the true maximum for
 * 1. */
uint64_t histogram_at(const struct histogram *histogram, double share);

double histogram_mean(const struct histogram *histogram);

#endif
