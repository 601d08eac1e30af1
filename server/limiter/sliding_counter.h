/* Sliding window counter: what the current window holds, and of the previous one the part that a
 * window ending now would still cover. */
#ifndef LIMITER_SLIDING_COUNTER_H
#define LIMITER_SLIDING_COUNTER_H

#include "limiter/algorithm.h"

extern const struct algorithm sliding_counter_algorithm;

#endif
