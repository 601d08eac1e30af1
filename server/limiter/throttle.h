/* CL.THROTTLE's own algorithm: every request brings its numbers, and what a key keeps is the
 * instant at which it is empty. A key that is asked with other numbers keeps its time until empty.
 *
 * In the words of limiter.h: L is `count`, W the period, B is max_burst + 1. No limits file can
 * name it. */
#ifndef LIMITER_THROTTLE_H
#define LIMITER_THROTTLE_H

#include "limiter/algorithm.h"

extern const struct algorithm throttle_algorithm;

#endif
