/* Time zones: against the C library over the system's database, written-out rules, damage. */
#include "engine/zone.h"

#include "base/limits.h"
#include "engine/zone_rule.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DAY_S 86400

static int32_t zone_offset_at(const struct calendar_zone *zone, int64_t at_s)
{
    uint32_t low = 0;
    uint32_t high = zone->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (zone->shifts[middle].from_s <= at_s) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return zone->shifts[low].offset_s;
}

static void expect_in_order(const struct calendar_zone *zone, const char *name)
{
    cr_assert_geq(zone->count, 1);
    cr_assert_eq(zone->shifts[0].from_s, INT64_MIN, "%s", name);
    for (uint32_t i = 1; i < zone->count; i++) {
        cr_assert_lt(zone->shifts[i - 1].from_s, zone->shifts[i].from_s, "%s", name);
        cr_assert_neq(zone->shifts[i - 1].offset_s, zone->shifts[i].offset_s, "%s", name);
    }
}

static void load_zone(const char *name, struct arena *arena, struct calendar_zone *zone)
{
    char why[LIMITS_MESSAGE_BYTES_MAX] = "";
    enum status status = zone_load(NULL, slice_text(name), arena, zone, why, sizeof(why));
    cr_assert_eq(status, STATUS_OK, "%s %s", name, why);
}

/* The C library reads the same files by code of its own, to far beyond what they write down. */
Test(zone, offsets_are_the_c_librarys)
{
    static const char *const names[] = {
        "Europe/Berlin",       "America/New_York",    "America/St_Johns",  "America/Sao_Paulo",
        "Africa/Casablanca",   "Africa/Cairo",        "Europe/Dublin",     "Asia/Kolkata",
        "Asia/Kathmandu",      "Asia/Tehran",         "Asia/Gaza",         "Australia/Lord_Howe",
        "Pacific/Chatham",     "Pacific/Apia",        "Pacific/Kiritimati", "America/Nuuk",
        "America/Santiago",    "Antarctica/Troll",    "Asia/Jerusalem",    "America/Havana",
        "Pacific/Easter",      "Atlantic/Azores",     "EST5EDT",           "Etc/GMT+12",
        "Etc/GMT-14",          "America/Asuncion",    "Asia/Pyongyang",    "Australia/Sydney",
        "America/Argentina/ComodRivadavia", NULL};
    struct arena arena;
    arena_init(&arena, 65536, 0);
    for (int i = 0; names[i] != NULL; i++) {
        struct calendar_zone zone;
        unsigned seed = (unsigned)i + 1;
        load_zone(names[i], &arena, &zone);
        expect_in_order(&zone, names[i]);
        cr_assert_eq(setenv("TZ", names[i], 1), 0);
        tzset();
        for (int j = 0; j < 20000; j++) {
            /* 1850 … 2290 */
            int64_t day = -43800 + (int64_t)(rand_r(&seed) % 160000);
            time_t at_s = day * DAY_S + rand_r(&seed) % DAY_S;
            struct tm local;
            cr_assert_not_null(localtime_r(&at_s, &local));
            cr_assert_eq(zone_offset_at(&zone, at_s), local.tm_gmtoff, "%s at %lld: %d, not %ld",
                         names[i], (long long)at_s, zone_offset_at(&zone, at_s), local.tm_gmtoff);
        }
    }
    arena_deinit(&arena);
}

/* Every change, at its very second and the one before. */
Test(zone, changes_happen_at_their_second)
{
    static const char *const names[] = {"Europe/Berlin", "America/New_York", "Pacific/Apia",
                                        "Australia/Lord_Howe", "Africa/Casablanca", NULL};
    struct arena arena;
    arena_init(&arena, 65536, 0);
    for (int i = 0; names[i] != NULL; i++) {
        struct calendar_zone zone;
        load_zone(names[i], &arena, &zone);
        cr_assert_eq(setenv("TZ", names[i], 1), 0);
        tzset();
        for (uint32_t j = 1; j < zone.count; j++) {
            for (int64_t before = 0; before < 2; before++) {
                time_t at_s = zone.shifts[j].from_s - before;
                struct tm local;
                cr_assert_not_null(localtime_r(&at_s, &local));
                cr_assert_eq(zone_offset_at(&zone, at_s), local.tm_gmtoff, "%s at %lld", names[i],
                             (long long)at_s);
            }
        }
    }
    arena_deinit(&arena);
}

Test(zone, rules_reach_to_2300)
{
    struct arena arena;
    struct calendar_zone zone;
    arena_init(&arena, 65536, 0);
    load_zone("Europe/Berlin", &arena, &zone);
    int64_t last_s = zone.shifts[zone.count - 1].from_s;
    cr_expect_gt(last_s, INT64_C(10413792000) - 90 * DAY_S, "2299-12-31 less a quarter");
    arena_deinit(&arena);
}

Test(zone, utc_needs_no_database)
{
    struct arena arena;
    struct calendar_zone zone;
    char why[LIMITS_MESSAGE_BYTES_MAX] = "";
    arena_init(&arena, 65536, 0);
    cr_expect_eq(zone_load("/nonexistent", slice_text("UTC"), &arena, &zone, why, sizeof(why)),
                 STATUS_OK);
    cr_expect_eq(zone.count, 1);
    cr_expect_eq(zone.shifts[0].from_s, INT64_MIN);
    cr_expect_eq(zone.shifts[0].offset_s, 0);
    arena_deinit(&arena);
}

static void expect_refused(const char *dir, const char *name, enum status status, const char *said)
{
    struct arena arena;
    struct calendar_zone zone;
    char why[LIMITS_MESSAGE_BYTES_MAX] = "";
    arena_init(&arena, 65536, 0);
    cr_expect_eq(zone_load(dir, slice_text(name), &arena, &zone, why, sizeof(why)), status, "%s",
                 name);
    cr_expect_str_eq(why, said, "%s: %s", name, why);
    arena_deinit(&arena);
}

Test(zone, what_cannot_be_loaded)
{
    static const char *const bad[] = {"", "/etc/passwd", "../passwd", "Europe/../Berlin", "Europe/",
                                      "Europe//Berlin", ".", "..", "a.b", "Europe\\Berlin",
                                      "a b", NULL};
    for (int i = 0; bad[i] != NULL; i++) {
        expect_refused(NULL, bad[i], STATUS_INVALID,
                       "is no name of a time zone, such as Europe/Berlin");
    }
    expect_refused(NULL, "Europe/Atlantis", STATUS_NOT_FOUND,
                   "is unknown to the time zone database in /usr/share/zoneinfo");
    expect_refused(NULL, "Europe", STATUS_NOT_FOUND,
                   "is unknown to the time zone database in /usr/share/zoneinfo");
    expect_refused(NULL, "Europe/Berlin/x", STATUS_NOT_FOUND,
                   "is unknown to the time zone database in /usr/share/zoneinfo");
    expect_refused("/nonexistent", "Europe/Berlin", STATUS_NOT_FOUND,
                   "needs the time zone database, and there is none in /nonexistent");
    expect_refused("/etc", "passwd", STATUS_INVALID,
                   "is damaged in the time zone database in /etc");
}

/* A TZif file in memory. */
struct zone_file {
    uint8_t bytes[1024];
    size_t size;
};

static void put(struct zone_file *file, uint64_t value, size_t bytes)
{
    for (size_t i = bytes; i > 0; i--) {
        file->bytes[file->size++] = (uint8_t)(value >> (8 * (i - 1)));
    }
}

static void put_header(struct zone_file *file, char version, uint32_t leaps, uint32_t times,
                       uint32_t types)
{
    memcpy(file->bytes + file->size, "TZif", 4);
    file->size += 4;
    put(file, (uint8_t)version, 1);
    memset(file->bytes + file->size, 0, 15);
    file->size += 15;
    put(file, 0, 8);
    put(file, leaps, 4);
    put(file, times, 4);
    put(file, types, 4);
    put(file, 4, 4);
}

/* One block: two types, +1 h and +2 h, and `times` changes to and fro, a day apart. */
static void put_block(struct zone_file *file, char version, size_t time_bytes, uint32_t times,
                      uint32_t leaps)
{
    put_header(file, version, leaps, times, 2);
    for (uint32_t i = 0; i < times; i++) {
        put(file, (uint64_t)i * DAY_S, time_bytes);
    }
    for (uint32_t i = 0; i < times; i++) {
        put(file, i % 2 == 0, 1);
    }
    for (uint32_t i = 1; i <= 2; i++) {
        put(file, i * 3600, 4);
        put(file, 0, 2);
    }
    memcpy(file->bytes + file->size, "ABC", 4);
    file->size += 4;
    for (uint32_t i = 0; i < leaps; i++) {
        put(file, i, time_bytes);
        put(file, i + 1, 4);
    }
}

static void put_rule(struct zone_file *file, const char *rule)
{
    file->size += (size_t)sprintf((char *)file->bytes + file->size, "\n%s\n", rule);
}

static enum status parse_file(const struct zone_file *file, struct arena *arena,
                              struct calendar_zone *zone)
{
    /* Exactly as large as the text, so that a sanitizer sees one byte too many. */
    uint8_t *bytes = malloc(file->size == 0 ? 1 : file->size);
    cr_assert_not_null(bytes);
    memcpy(bytes, file->bytes, file->size);
    enum status status = zone_parse(slice_make(bytes, file->size), arena, zone);
    free(bytes);
    return status;
}

static struct zone_file file_with_rule(uint32_t times, const char *rule)
{
    struct zone_file file = {.size = 0};
    put_block(&file, '3', 4, 0, 0);
    put_block(&file, '3', 8, times, 0);
    put_rule(&file, rule);
    return file;
}

Test(zone, version_one_has_no_rule)
{
    struct zone_file file = {.size = 0};
    struct arena arena;
    struct calendar_zone zone;
    arena_init(&arena, 65536, 0);
    put_block(&file, '\0', 4, 3, 0);
    cr_assert_eq(parse_file(&file, &arena, &zone), STATUS_OK);
    cr_assert_eq(zone.count, 4);
    cr_expect_eq(zone.shifts[0].offset_s, 3600);
    cr_expect_eq(zone.shifts[1].from_s, 0);
    cr_expect_eq(zone.shifts[1].offset_s, 7200);
    cr_expect_eq(zone.shifts[3].from_s, 2 * DAY_S);
    arena_deinit(&arena);
}

Test(zone, leap_seconds_are_refused)
{
    struct zone_file file = {.size = 0};
    struct arena arena;
    struct calendar_zone zone;
    arena_init(&arena, 65536, 0);
    put_block(&file, '\0', 4, 3, 2);
    cr_expect_eq(parse_file(&file, &arena, &zone), STATUS_UNSUPPORTED);
    arena_deinit(&arena);
}

Test(zone, rules_that_are_none)
{
    static const char *const bad[] = {
        "X",         "XYZ",          "XYZ25",        "XYZ1ABC",           "XYZ1ABC,M3.1.0",
        "XYZ1:60",   "XYZ1 ",        "<XYZ1",        "XYZ1ABC,M3.1.7,J1", "XYZ1ABC,M13.1.0,J1",
        "XYZ1ABC,J0,J1", "XYZ1ABC,J366,J1", "XYZ1ABC,366,J1", "XYZ1ABC,M3.6.0,J1",
        "XYZ1ABC,M3.1.0/168,J1", "XYZ1ABC,M3.1.0,J1,", "1", "XYZ99999999999999999999", NULL};
    struct arena arena;
    struct calendar_zone zone;
    arena_init(&arena, 65536, 0);
    for (int i = 0; bad[i] != NULL; i++) {
        struct zone_file file = file_with_rule(2, bad[i]);
        cr_expect_eq(parse_file(&file, &arena, &zone), STATUS_INVALID, "%s", bad[i]);
    }
    arena_deinit(&arena);
}

/* Rules by the C library, which reads them from the environment in the same language. */
Test(zone, rules_are_the_c_librarys)
{
    static const char *const rules[] = {
        "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "XYZ3ABC,J60/0,J300/0",       "XYZ3ABC,59/0,299/0",     "IST-1GMT0,M10.5.0,M3.5.0/1",
        "XYZ-5:45",                   "XYZ3ABC2:30,M1.2.1/-2,M12.4.6/26", NULL};
    struct arena arena;
    arena_init(&arena, 65536, 0);
    for (int i = 0; rules[i] != NULL; i++) {
        struct calendar_zone zone;
        struct zone_file file = file_with_rule(0, rules[i]);
        unsigned seed = (unsigned)i + 1;
        cr_assert_eq(parse_file(&file, &arena, &zone), STATUS_OK, "%s", rules[i]);
        expect_in_order(&zone, rules[i]);
        cr_assert_eq(setenv("TZ", rules[i], 1), 0);
        tzset();
        for (int j = 0; j < 20000; j++) {
            time_t at_s = (int64_t)(rand_r(&seed) % 115000) * DAY_S + rand_r(&seed) % DAY_S;
            struct tm local;
            cr_assert_not_null(localtime_r(&at_s, &local));
            cr_assert_eq(zone_offset_at(&zone, at_s), local.tm_gmtoff, "%s at %lld: %d, not %ld",
                         rules[i], (long long)at_s, zone_offset_at(&zone, at_s), local.tm_gmtoff);
        }
    }
    arena_deinit(&arena);
}

/* Where summer time ends the instant it begins again, it is summer all year. */
Test(zone, summer_all_year)
{
    struct arena arena;
    struct calendar_zone zone;
    arena_init(&arena, 65536, 0);
    struct zone_file file = file_with_rule(1, "XXX3EDT4,0/0,J365/23");
    cr_assert_eq(parse_file(&file, &arena, &zone), STATUS_OK);
    expect_in_order(&zone, "all year");
    for (int64_t day = 800; day < 100000; day++) {
        cr_assert_eq(zone_offset_at(&zone, day * DAY_S), -4 * 3600, "day %lld", (long long)day);
    }
    arena_deinit(&arena);
}

Test(zone, written_changes_that_make_no_sense)
{
    struct arena arena;
    struct calendar_zone zone;
    arena_init(&arena, 65536, 0);
    struct zone_file file = {.size = 0};
    put_block(&file, '\0', 4, 3, 0);
    struct zone_file bad = file;
    bad.bytes[44 + 3] = 0xff; /* the first change later by 255 s: still before the second */
    cr_expect_eq(parse_file(&bad, &arena, &zone), STATUS_OK);
    bad.bytes[44] = 0x7f; /* now it is later */
    cr_expect_eq(parse_file(&bad, &arena, &zone), STATUS_INVALID);
    bad = file;
    bad.bytes[44 + 12] = 2; /* a type that is not there */
    cr_expect_eq(parse_file(&bad, &arena, &zone), STATUS_INVALID);
    bad = file;
    bad.bytes[44 + 15] = 0x7f; /* an offset of years */
    cr_expect_eq(parse_file(&bad, &arena, &zone), STATUS_INVALID);
    arena_deinit(&arena);
}

Test(zone, cut_anywhere_it_is_refused)
{
    struct zone_file whole = file_with_rule(3, "CET-1CEST,M3.5.0,M10.5.0/3");
    struct arena arena;
    struct calendar_zone zone;
    arena_init(&arena, 65536, 0);
    cr_assert_eq(parse_file(&whole, &arena, &zone), STATUS_OK);
    for (size_t size = 0; size < whole.size; size++) {
        struct zone_file cut = whole;
        cut.size = size;
        cr_expect_eq(parse_file(&cut, &arena, &zone), STATUS_INVALID, "%zu", size);
    }
    arena_deinit(&arena);
}

Test(zone, any_change_of_a_byte_is_survived)
{
    struct zone_file whole = file_with_rule(3, "CET-1CEST,M3.5.0,M10.5.0/3");
    for (size_t at = 0; at < whole.size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            struct zone_file bad = whole;
            struct arena arena;
            struct calendar_zone zone;
            arena_init(&arena, 65536, 0);
            bad.bytes[at] ^= (uint8_t)(1 << bit);
            if (parse_file(&bad, &arena, &zone) == STATUS_OK) {
                expect_in_order(&zone, "damaged");
            }
            arena_deinit(&arena);
        }
    }
}
