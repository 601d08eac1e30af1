/* The one clock: wall time at start plus CLOCK_BOOTTIME since. It never runs backwards, counts
 * while the machine sleeps, and does not follow a wall clock that is stepped.
 * Instants are signed 64-bit nanoseconds since the Unix epoch. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_NS_PER_MS INT64_C(1000000)
#define CLOCK_NS_PER_S INT64_C(1000000000)

/* Takes the anchor. Call once, before any other thread runs. */
void clock_start(void);

int64_t clock_now_ns(void);

/* Monotonic nanoseconds for measuring how long something took; no relation to clock_now_ns. */
int64_t clock_ticks_ns(void);

#endif
