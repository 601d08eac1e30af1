/* Sliding window log: every admission counts from its own instant s until s + W. */
#ifndef LIMITER_SLIDING_LOG_H
#define LIMITER_SLIDING_LOG_H

#include "limiter/algorithm.h"

extern const struct algorithm sliding_log_algorithm;

#endif
