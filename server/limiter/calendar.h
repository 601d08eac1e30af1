/* Calendar windows: days, weeks (from Monday), months, years in a time zone.
 *
 * A window starts at the first instant whose local date is the day (the Monday, the 1st,
 * 1 January), or lies after it where the zone skips that date. So a day lasts 23, 24 or 25 hours
 * (or, rarely, something else), windows touch, and none is counted twice when a clock is set back
 * over midnight.
 *
 * Pure: the zone's table is read elsewhere (engine/zone.h) and passed in. */
#ifndef LIMITER_CALENDAR_H
#define LIMITER_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

enum calendar_unit { CALENDAR_DAY, CALENDAR_WEEK, CALENDAR_MONTH, CALENDAR_YEAR };

/* From `from_s` (seconds since the epoch, UTC) on, local time is UTC + offset_s. */
struct calendar_shift {
    int64_t from_s;
    int32_t offset_s;
};

/* A zone's whole history and foreseeable future, ascending. shifts[0].from_s is INT64_MIN. The
 * rules that hold "from then on" are written out to the year 2300. */
struct calendar_zone {
    const struct calendar_shift *shifts;
    uint32_t count; /* >= 1 */
};

struct calendar {
    enum calendar_unit unit;
    struct calendar_zone zone; /* not owned */
};

/* The window that contains now_ns: *start_ns <= now_ns < *end_ns. Held at the ends of int64. */
void calendar_window(const struct calendar *calendar, int64_t now_ns, int64_t *start_ns,
                     int64_t *end_ns);

/* Do both cut time into the same windows? (Two spellings of one zone do.) */
bool calendar_equal(const struct calendar *a, const struct calendar *b);

#endif
