#include "histogram.h"

#include <math.h>
#include <string.h>

void histogram_init(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
    histogram->min = UINT64_MAX;
}

void histogram_add(struct histogram *histogram, const struct histogram *other)
{
    histogram->count += other->count;
    histogram->sum += other->sum;
    histogram->max = other->max > histogram->max ? other->max : histogram->max;
    histogram->min = other->min < histogram->min ? other->min : histogram->min;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        histogram->buckets[i] += other->buckets[i];
    }
}

/* The middle of what falls into a bucket. */
static uint64_t bucket_value(uint32_t bucket)
{
    if (bucket < 2u << HISTOGRAM_STEP_BITS) {
        return bucket;
    }
    uint32_t shift = (bucket >> HISTOGRAM_STEP_BITS) - 1;
    uint64_t steps = (bucket & ((1u << HISTOGRAM_STEP_BITS) - 1)) | 1u << HISTOGRAM_STEP_BITS;
    return (steps << shift) + ((UINT64_C(1) << shift) >> 1);
}

uint64_t histogram_at(const struct histogram *histogram, double share)
{
    if (histogram->count == 0) {
        return 0;
    }
    uint64_t rank = (uint64_t)ceil(share * (double)histogram->count);
    if (rank >= histogram->count) {
        return histogram->max;
    }
    uint64_t seen = 0;
    uint32_t bucket = 0;
    while (bucket < HISTOGRAM_BUCKETS - 1) {
        seen += histogram->buckets[bucket];
        if (seen >= rank && seen > 0) {
            break;
        }
        bucket++;
    }
    uint64_t value = bucket_value(bucket);
    value = value > histogram->max ? histogram->max : value;
    return value < histogram->min ? histogram->min : value;
}

double histogram_mean(const struct histogram *histogram)
{
    return histogram->count == 0 ? 0.0 : histogram->sum / (double)histogram->count;
}
