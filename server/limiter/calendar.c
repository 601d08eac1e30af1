/* Dates are counted in days since 1970-01-01, in the proleptic Gregorian calendar. The window of an
 * instant is that of the latest local date reached up to then, so it does not go back where a clock
 * is set back over midnight:
 *
 *   local date    ... D-1 | D |  D-1  |  D ...      the clock goes back at the second bar
 *   window        ... D-1 | D    D       D ...      D began at the first one
 *
 * and a date that the zone skips gives an empty window: the next one begins at the same shift.
 *
 * A zone's offset stays within 26 hours (RFC 9636, 3.2), so an instant whose local time is known is
 * known to within 26 hours, and only the few shifts inside that span need a look. */
#include "limiter/calendar.h"

#include "base/arith.h"

enum {
    DAY_S = 86400,
    OFFSET_S = 26 * 3600, /* no zone is further from UTC */
    DAYS_OF_ERA = 146097, /* 400 years */
    DAYS_TO_EPOCH = 719468 /* from 0000-03-01 to 1970-01-01 */
};
#define SECOND_NS INT64_C(1000000000)

struct period {
    int64_t first_day; /* its first date, in days since the epoch */
    int64_t next_day;  /* the first date of the next one */
};

static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Years begin in March here, so that the leap day is a year's last; and days are counted from
 * 0000-03-01, so that all that 64 bits of nanoseconds can reach is positive and small. */
static inline int64_t day_of(uint32_t year, uint32_t month)
{
    uint32_t shifted = month > 2 ? year : year - 1;
    uint32_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5;
    uint32_t leap_days = shifted / 4 - shifted / 100 + shifted / 400;
    return (int64_t)(shifted * 365 + leap_days + day_of_year) - DAYS_TO_EPOCH;
}

static inline void month_of(int64_t day, uint32_t *year, uint32_t *month)
{
    uint32_t shifted = (uint32_t)(day + DAYS_TO_EPOCH);
    uint32_t era = shifted / DAYS_OF_ERA;
    uint32_t day_of_era = shifted % DAYS_OF_ERA;
    uint32_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint32_t from_march = (5 * day_of_year + 2) / 153;
    *month = from_march < 10 ? from_march + 3 : from_march - 9;
    *year = year_of_era + era * 400 + (*month <= 2);
}

static inline struct period period_of(enum calendar_unit unit, int64_t day)
{
    uint32_t year;
    uint32_t month;
    switch (unit) {
    case CALENDAR_WEEK: {
        /* 1970-01-01 was a Thursday, three days after a Monday. */
        int64_t monday = floor_div(day + 3, 7) * 7 - 3;
        return (struct period){monday, monday + 7};
    }
    case CALENDAR_MONTH:
        month_of(day, &year, &month);
        return (struct period){day_of(year, month),
                               month < 12 ? day_of(year, month + 1) : day_of(year + 1, 1)};
    case CALENDAR_YEAR:
        month_of(day, &year, &month);
        return (struct period){day_of(year, 1), day_of(year + 1, 1)};
    case CALENDAR_DAY:
        break;
    }
    return (struct period){day, day + 1};
}

/* The shift in force at an instant. */
static uint32_t shift_at(const struct calendar_zone *zone, int64_t at_s)
{
    const struct calendar_shift *shift = zone->shifts;
    uint32_t left = zone->count;
    while (left > 1) {
        uint32_t half = left / 2;
        shift += shift[half].from_s <= at_s ? half : 0;
        left -= half;
    }
    return (uint32_t)(shift - zone->shifts);
}

/* The latest local time that any clock of the zone has shown up to at_s. */
static int64_t latest_local_s(const struct calendar_zone *zone, uint32_t index, int64_t at_s)
{
    int64_t latest_s = at_s + zone->shifts[index].offset_s;
    while (index > 0 && zone->shifts[index].from_s > at_s - 2 * OFFSET_S) {
        int64_t shown_s = zone->shifts[index].from_s - 1 + zone->shifts[index - 1].offset_s;
        latest_s = shown_s > latest_s ? shown_s : latest_s;
        index--;
    }
    return latest_s;
}

/* The first instant whose local time is local_s or later. `index` is any shift to start from. */
static int64_t first_instant_s(const struct calendar_zone *zone, uint32_t index, int64_t local_s)
{
    const struct calendar_shift *shifts = zone->shifts;
    while (index > 0 && shifts[index].from_s > local_s - OFFSET_S) {
        index--;
    }
    while (index + 1 < zone->count &&
           shifts[index + 1].from_s + shifts[index].offset_s <= local_s) {
        index++;
    }
    int64_t at_s = local_s - shifts[index].offset_s;
    return at_s > shifts[index].from_s ? at_s : shifts[index].from_s;
}

static int64_t ns_of(int64_t at_s)
{
    int64_t at_ns;
    if (__builtin_mul_overflow(at_s, SECOND_NS, &at_ns)) {
        return at_s < 0 ? INT64_MIN : INT64_MAX;
    }
    return at_ns;
}

void calendar_window(const struct calendar *calendar, int64_t now_ns, int64_t *start_ns,
                     int64_t *end_ns)
{
    const struct calendar_zone *zone = &calendar->zone;
    int64_t now_s = floor_div(now_ns, SECOND_NS);
    uint32_t index = shift_at(zone, now_s);
    int64_t local_s = latest_local_s(zone, index, now_s);
    struct period period = period_of(calendar->unit, floor_div(local_s, DAY_S));
    *start_ns = ns_of(first_instant_s(zone, index, period.first_day * DAY_S));
    *end_ns = ns_of(first_instant_s(zone, index, period.next_day * DAY_S));
}

bool calendar_equal(const struct calendar *a, const struct calendar *b)
{
    if (a->unit != b->unit || a->zone.count != b->zone.count) {
        return false;
    }
    for (uint32_t i = 0; i < a->zone.count && a->zone.shifts != b->zone.shifts; i++) {
        if (a->zone.shifts[i].from_s != b->zone.shifts[i].from_s ||
            a->zone.shifts[i].offset_s != b->zone.shifts[i].offset_s) {
            return false;
        }
    }
    return true;
}
