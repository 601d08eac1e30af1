/* Fixed window: a count that starts again at every whole multiple of W since the epoch, or at
 * every day, week, month or year of a time zone (calendar.h). */
#ifndef LIMITER_FIXED_WINDOW_H
#define LIMITER_FIXED_WINDOW_H

#include "limiter/algorithm.h"

extern const struct algorithm fixed_window_algorithm;

#endif
