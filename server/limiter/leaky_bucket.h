/* Leaky bucket as a queue: a token bucket in every answer, and the delay after which a caller
 * sends its call on so that calls leave at exactly L per W. */
#ifndef LIMITER_LEAKY_BUCKET_H
#define LIMITER_LEAKY_BUCKET_H

#include "limiter/algorithm.h"

extern const struct algorithm leaky_bucket_algorithm;

#endif
