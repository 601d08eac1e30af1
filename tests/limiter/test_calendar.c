/* Calendar windows: dates written out by hand, and a scan that walks through time step by step,
 * keeps the latest local date that it has met, and so finds every window's first instant without
 * any of the arithmetic under test. */
#include "counter.h"

#include <criterion/criterion.h>

#define HOUR 3600
#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof(a)[0]))
#define ZONE(shifts_) ((struct calendar_zone){.shifts = (shifts_), .count = COUNT(shifts_)})

static const struct calendar_shift utc[] = {{INT64_MIN, 0}};

/* Europe/Berlin: local mean time until 1893, then +1, +2 in summer. */
static const struct calendar_shift berlin[] = {
    {INT64_MIN, 3208},        {-2422054408, HOUR},     {1743296400, 2 * HOUR},
    {1761440400, HOUR},       {1774746000, 2 * HOUR},  {1792890000, HOUR},
    {1806195600, 2 * HOUR},   {1824944400, HOUR}};

/* America/Sao_Paulo: on 2018-11-04 the clock went from 00:00 to 01:00, on 2019-02-17 from 00:00
 * back to 23:00. */
static const struct calendar_shift sao_paulo[] = {
    {INT64_MIN, -3 * HOUR}, {1541300400, -2 * HOUR}, {1550368800, -3 * HOUR}};

/* America/St_Johns: on 2006-10-29 the clock went from 00:01 back to 23:01. */
static const struct calendar_shift st_johns[] = {
    {INT64_MIN, -9000}, {1162089060, -12600}, {1173583860, -9000}};

/* Pacific/Apia: there was no 2011-12-30. */
static const struct calendar_shift apia[] = {{INT64_MIN, -10 * HOUR}, {1325239200, 14 * HOUR}};

/* The other way over the date line: 2011-12-30 comes twice. */
static const struct calendar_shift twice[] = {{INT64_MIN, 14 * HOUR}, {1325239200, -10 * HOUR}};

static void check_window(struct calendar_zone zone, enum calendar_unit unit, int64_t at_s,
                         int64_t start_s, int64_t end_s)
{
    struct calendar calendar = {.unit = unit, .zone = zone};
    const int64_t instants_ns[] = {SECONDS(at_s), SECONDS(start_s), SECONDS(end_s) - 1};
    for (int i = 0; i < 3; i++) {
        int64_t start_ns;
        int64_t end_ns;
        calendar_window(&calendar, instants_ns[i], &start_ns, &end_ns);
        cr_assert_eq(start_ns, SECONDS(start_s), "start %lld, not %lld",
                     (long long)(start_ns / 1000000000), (long long)start_s);
        cr_assert_eq(end_ns, SECONDS(end_s), "end %lld, not %lld",
                     (long long)(end_ns / 1000000000), (long long)end_s);
    }
}

Test(calendar, utc)
{
    int64_t at_s = 1772323199; /* 2026-02-28T23:59:59Z, a Saturday */
    check_window(ZONE(utc), CALENDAR_DAY, at_s, 1772236800, 1772323200);
    check_window(ZONE(utc), CALENDAR_WEEK, at_s, 1771804800, 1772409600);
    check_window(ZONE(utc), CALENDAR_MONTH, at_s, 1769904000, 1772323200);
    check_window(ZONE(utc), CALENDAR_YEAR, at_s, 1767225600, 1798761600);
}

Test(calendar, leap_years)
{
    check_window(ZONE(utc), CALENDAR_MONTH, 1835308800, 1832976000, 1835481600); /* 2028-02 */
    check_window(ZONE(utc), CALENDAR_MONTH, 951782400, 949363200, 951868800);    /* 2000-02 */
    check_window(ZONE(utc), CALENDAR_MONTH, 4107456000, 4105123200, 4107542400); /* 2100-02 */
    check_window(ZONE(utc), CALENDAR_YEAR, 4107456000, 4102444800, 4133980800);
}

Test(calendar, before_the_epoch)
{
    check_window(ZONE(utc), CALENDAR_DAY, -1, -86400, 0);
    check_window(ZONE(utc), CALENDAR_WEEK, -1, -259200, 345600);
    check_window(ZONE(utc), CALENDAR_YEAR, -1, -31536000, 0);
    check_window(ZONE(utc), CALENDAR_MONTH, -2203977600, -2206310400, -2203891200); /* 1900-02 */
}

Test(calendar, days_of_23_and_25_hours)
{
    check_window(ZONE(berlin), CALENDAR_DAY, 1774746000, 1774738800, 1774821600);
    cr_assert_eq(1774821600 - 1774738800, 23 * HOUR);
    check_window(ZONE(berlin), CALENDAR_DAY, 1792890000, 1792879200, 1792969200);
    cr_assert_eq(1792969200 - 1792879200, 25 * HOUR);
    check_window(ZONE(berlin), CALENDAR_MONTH, 1774746000, 1772319600, 1774994400);
    check_window(ZONE(berlin), CALENDAR_YEAR, 1774746000, 1767222000, 1798758000);
}

Test(calendar, a_midnight_that_does_not_exist)
{
    check_window(ZONE(sao_paulo), CALENDAR_DAY, 1541300400, 1541300400, 1541383200);
    check_window(ZONE(sao_paulo), CALENDAR_DAY, 1541300399, 1541214000, 1541300400);
}

Test(calendar, a_clock_set_back_at_midnight)
{
    /* 23:00 to 24:00 of 2019-02-16 comes twice; the 17th begins once. */
    check_window(ZONE(sao_paulo), CALENDAR_DAY, 1550368800, 1550282400, 1550372400);
    check_window(ZONE(sao_paulo), CALENDAR_DAY, 1550372400, 1550372400, 1550458800);
}

Test(calendar, a_clock_set_back_over_midnight)
{
    /* The 29th begins a minute before the clock goes back to the 28th, and only then. */
    check_window(ZONE(st_johns), CALENDAR_DAY, 1162089000, 1162089000, 1162179000);
    check_window(ZONE(st_johns), CALENDAR_DAY, 1162089060, 1162089000, 1162179000);
    check_window(ZONE(st_johns), CALENDAR_DAY, 1162088999, 1162002600, 1162089000);
}

Test(calendar, a_date_that_does_not_exist)
{
    check_window(ZONE(apia), CALENDAR_DAY, 1325239199, 1325152800, 1325239200);
    check_window(ZONE(apia), CALENDAR_DAY, 1325239200, 1325239200, 1325325600);
    check_window(ZONE(apia), CALENDAR_YEAR, 1325239200, 1293876000, 1325325600);
}

Test(calendar, a_date_that_comes_twice)
{
    /* At the end of the 30th the clock goes back to its beginning. */
    check_window(ZONE(twice), CALENDAR_DAY, 1325239200, 1325152800, 1325325600);
}

Test(calendar, held_at_the_ends_of_time)
{
    for (int unit = CALENDAR_DAY; unit <= CALENDAR_YEAR; unit++) {
        struct calendar calendar = {.unit = (enum calendar_unit)unit, .zone = ZONE(berlin)};
        int64_t start_ns;
        int64_t end_ns;
        calendar_window(&calendar, INT64_MIN, &start_ns, &end_ns);
        cr_assert_eq(start_ns, INT64_MIN);
        cr_assert_gt(end_ns, INT64_MIN);
        cr_assert_leq(end_ns, INT64_MIN + DAYS(366));
        calendar_window(&calendar, INT64_MAX, &start_ns, &end_ns);
        cr_assert_eq(end_ns, INT64_MAX);
        cr_assert_geq(start_ns, INT64_MAX - DAYS(366));
    }
}

/* A date, found by counting years and months from 1970 on or back. */
struct date {
    int year;
    int month;
    int day; /* of the month */
};

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

static struct date date_of(int64_t day)
{
    struct date date = {.year = 1970, .month = 1};
    while (day < 0) {
        date.month = date.month == 1 ? 12 : date.month - 1;
        date.year -= date.month == 12;
        day += days_in(date.year, date.month);
    }
    while (day >= days_in(date.year, date.month)) {
        day -= days_in(date.year, date.month);
        date.year += date.month == 12;
        date.month = date.month == 12 ? 1 : date.month + 1;
    }
    date.day = (int)day + 1;
    return date;
}

/* A number that is the same for all dates of one window; Thursday 1970-01-01 is day 0. */
static int64_t period_number(enum calendar_unit unit, int64_t day)
{
    struct date date = date_of(day);
    switch (unit) {
    case CALENDAR_WEEK:
        return (day + 3 + 7 * 100000) / 7;
    case CALENDAR_MONTH:
        return date.year * 12 + date.month;
    case CALENDAR_YEAR:
        return date.year;
    case CALENDAR_DAY:
        break;
    }
    return day;
}

static int64_t local_day(struct calendar_zone zone, int64_t at_s)
{
    uint32_t i = zone.count - 1;
    while (zone.shifts[i].from_s > at_s) {
        i--;
    }
    int64_t local_s = at_s + zone.shifts[i].offset_s + INT64_C(86400) * 1000000;
    return local_s / 86400 - 1000000;
}

#define STARTS 1024

/* First instants of the windows that begin in [from_s, to_s), by steps. The walk begins earlier,
 * so that it knows the latest date before from_s. */
static int scan_starts(struct calendar_zone zone, enum calendar_unit unit, int64_t from_s,
                       int64_t to_s, int64_t step_s, int64_t starts[STARTS])
{
    int64_t walk_s = from_s - 4 * INT64_C(86400);
    int64_t latest_day = local_day(zone, walk_s);
    int64_t period = period_number(unit, latest_day);
    int count = 0;
    for (; walk_s < to_s; walk_s += step_s) {
        int64_t day = local_day(zone, walk_s);
        if (day <= latest_day) {
            continue;
        }
        latest_day = day;
        if (period_number(unit, day) != period && walk_s >= from_s) {
            cr_assert_lt(count, STARTS);
            starts[count++] = walk_s;
        }
        period = period_number(unit, day);
    }
    return count;
}

static int scan(struct calendar_zone zone, enum calendar_unit unit, int64_t from_s, int64_t to_s,
                int64_t step_s)
{
    static int64_t starts[STARTS];
    struct calendar calendar = {.unit = unit, .zone = zone};
    int count = scan_starts(zone, unit, from_s, to_s, step_s, starts);
    for (int i = 0; i + 1 < count; i++) {
        check_window(zone, unit, starts[i], starts[i], starts[i + 1]);
        for (int64_t at_s = starts[i]; at_s < starts[i + 1]; at_s += step_s) {
            int64_t start_ns;
            int64_t end_ns;
            calendar_window(&calendar, SECONDS(at_s), &start_ns, &end_ns);
            cr_assert(start_ns == SECONDS(starts[i]) && end_ns == SECONDS(starts[i + 1]),
                      "unit %d, at %lld: %lld to %lld, not %lld to %lld", (int)unit,
                      (long long)at_s, (long long)start_ns, (long long)end_ns,
                      (long long)starts[i], (long long)starts[i + 1]);
        }
    }
    return count;
}

/* Second by second through the days around each shift. */
Test(calendar, scan_days_by_second)
{
    const struct calendar_zone zones[] = {ZONE(berlin), ZONE(sao_paulo), ZONE(st_johns),
                                          ZONE(apia), ZONE(twice)};
    for (int z = 0; z < 5; z++) {
        for (uint32_t i = 1; i < zones[z].count && i < 4; i++) {
            int64_t from_s = zones[z].shifts[i].from_s - 2 * 86400;
            int count = scan(zones[z], CALENDAR_DAY, from_s, from_s + 5 * 86400, 1);
            cr_assert_geq(count, 3);
        }
    }
}

Test(calendar, scan_long_units)
{
    int64_t from_s = 1735689600; /* 2025-01-01 */
    int64_t to_s = from_s + INT64_C(1200) * 86400;
    cr_assert_geq(scan(ZONE(berlin), CALENDAR_WEEK, from_s, to_s, HOUR), 170);
    cr_assert_geq(scan(ZONE(berlin), CALENDAR_MONTH, from_s, to_s, HOUR), 38);
    cr_assert_geq(scan(ZONE(berlin), CALENDAR_YEAR, from_s, to_s, HOUR), 3);
    from_s = 1320000000 - 1320000000 % HOUR;
    to_s = from_s + INT64_C(500) * 86400;
    cr_assert_geq(scan(ZONE(apia), CALENDAR_WEEK, from_s, to_s, HOUR), 70);
    cr_assert_geq(scan(ZONE(twice), CALENDAR_MONTH, from_s, to_s, HOUR), 16);
}

/* Four hundred years of the calendar itself. */
Test(calendar, every_month_of_64_bits)
{
    int64_t day = -106700;
    day -= date_of(day).day - 1;
    while (day < 106700) {
        struct date date = date_of(day);
        int64_t next = day + days_in(date.year, date.month);
        check_window(ZONE(utc), CALENDAR_MONTH, day * 86400 + 86399, day * 86400, next * 86400);
        day = next;
    }
}

/* Zones that no government has thought of yet: a shift every few hours to days, anywhere between
 * -25 and +26 hours, in quarters of an hour. */
Test(calendar, scan_random_zones)
{
    static struct calendar_shift shifts[40];
    uint64_t random = 88172645463325252;
    for (int round = 0; round < 150; round++) {
        int64_t at_s = 1767225600 - 50 * 86400;
        uint64_t most_quarters = round % 2 == 0 ? 20 * 96 : 200;
        for (int i = 0; i < 40; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            shifts[i].from_s = i == 0 ? INT64_MIN : at_s;
            shifts[i].offset_s = ((int32_t)(random % 201) - 100) * 900;
            at_s += 900 * (int64_t)(1 + (random >> 32) % most_quarters);
        }
        for (int unit = CALENDAR_DAY; unit <= CALENDAR_YEAR; unit++) {
            scan(ZONE(shifts), (enum calendar_unit)unit, 1767225600 - 60 * 86400,
                 1767225600 + INT64_C(400) * 86400, 900);
        }
    }
}
