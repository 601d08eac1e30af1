/* links: sluice_engine
 *
 * Any bytes as a time zone: refused, or a table in order whose windows touch. */
#include "engine/zone.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_require(bool good)
{
    if (!good) {
        abort();
    }
}

static void fuzz_windows(const struct calendar_zone *zone)
{
    static const int64_t instants[] = {INT64_MIN, -1, 0, INT64_C(1767225600000000000), INT64_MAX};
    for (int unit = CALENDAR_DAY; unit <= CALENDAR_YEAR; unit++) {
        struct calendar calendar = {.unit = (enum calendar_unit)unit, .zone = *zone};
        for (size_t i = 0; i < sizeof(instants) / sizeof(instants[0]); i++) {
            int64_t start_ns = 0;
            int64_t end_ns = 0;
            calendar_window(&calendar, instants[i], &start_ns, &end_ns);
            fuzz_require(start_ns <= instants[i]);
            fuzz_require(end_ns > instants[i] || end_ns == INT64_MAX);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct calendar_zone zone;
    arena_init(&arena, 4096, 0);
    if (zone_parse(slice_make(data, size), &arena, &zone) == STATUS_OK) {
        fuzz_require(zone.count > 0 && zone.shifts[0].from_s == INT64_MIN);
        for (uint32_t i = 1; i < zone.count; i++) {
            fuzz_require(zone.shifts[i - 1].from_s < zone.shifts[i].from_s);
        }
        fuzz_windows(&zone);
    }
    arena_deinit(&arena);
    return 0;
}
