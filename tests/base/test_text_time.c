#include "base/text.h"

#include <criterion/criterion.h>
#include <time.h>

static const int64_t second_ns = 1000000000;

static void expect_time(const char *text, int64_t expected_ns)
{
    int64_t ns = -1;
    cr_expect_eq(text_parse_time_ns(slice_text(text), &ns), STATUS_OK, "%s", text);
    cr_expect_eq(ns, expected_ns, "%s: %ld, expected %ld", text, ns, expected_ns);
}

Test(text_time, instants)
{
    expect_time("1970-01-01T00:00:00Z", 0);
    expect_time("2026-01-01T00:00:00Z", INT64_C(1767225600) * second_ns);
    expect_time("2026-01-01t00:00:00z", INT64_C(1767225600) * second_ns);
    expect_time("2026-01-01T01:00:00+01:00", INT64_C(1767225600) * second_ns);
    expect_time("2025-12-31T16:30:00-07:30", INT64_C(1767225600) * second_ns);
    expect_time("2026-01-01T00:00:00-00:00", INT64_C(1767225600) * second_ns);
    expect_time("2026-01-01T00:00:00.5Z", INT64_C(1767225600) * second_ns + 500000000);
    expect_time("2026-01-01T00:00:00.123456789Z", INT64_C(1767225600123456789));
    expect_time("2024-02-29T12:00:00Z", INT64_C(1709208000) * second_ns);
    expect_time("2000-02-29T00:00:00Z", INT64_C(951782400) * second_ns);
    expect_time("1969-12-31T23:59:59.75Z", -250000000);
    expect_time("1677-09-21T00:12:43.145224192Z", INT64_MIN);
    expect_time("2262-04-11T23:47:16.854775807Z", INT64_MAX);
}

Test(text_time, leap_seconds_are_the_next_second)
{
    expect_time("2016-12-31T23:59:60Z", INT64_C(1483228800) * second_ns);
    expect_time("2016-12-31T23:59:60.9Z", INT64_C(1483228800) * second_ns);
    expect_time("2017-01-01T00:59:60+01:00", INT64_C(1483228800) * second_ns);
}

Test(text_time, what_is_no_instant)
{
    static const char *const bad[] = {
        "",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00Z",
        "2026-1-01T00:00:00Z",
        "26-01-01T00:00:00Z",
        "02026-01-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01T12:59:60Z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.1234567890Z",
        "2026-01-01T00:00:00,5Z",
        "2026-01-01T00:00:00+0100",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+01:60",
        "2026-01-01T00:00:00+01",
        "2026-01-01T00:00:00ZZ",
        "2026-01-01T00:00:00Z ",
        " 2026-01-01T00:00:00Z",
        "-026-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "9999-12-32T23:59:59Z",
        "1767225600",
        "tomorrow",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t ns = 77;
        cr_expect_eq(text_parse_time_ns(slice_text(bad[i]), &ns), STATUS_INVALID, "%s", bad[i]);
        cr_expect_eq(ns, 77, "%s: a failure stores nothing", bad[i]);
    }
}

static void expect_beyond(const char *text, int64_t nearest_ns)
{
    int64_t ns = 77;
    cr_expect_eq(text_parse_time_ns(slice_text(text), &ns), STATUS_TOO_LARGE, "%s", text);
    cr_expect_eq(ns, nearest_ns, "%s", text);
}

Test(text_time, what_64_bits_do_not_hold_is_told_and_held_at_their_ends)
{
    expect_beyond("0001-01-01T00:00:00Z", INT64_MIN);
    expect_beyond("1677-09-21T00:12:43.145224191Z", INT64_MIN);
    expect_beyond("2262-04-11T23:47:16.854775808Z", INT64_MAX);
    expect_beyond("9999-12-31T23:59:59Z", INT64_MAX);
}

static void expect_written(int64_t ns, const char *expected)
{
    struct buf buf;
    buf_init(&buf, 0);
    text_append_time(&buf, ns);
    cr_expect(slice_equal_text(buf_slice(&buf), expected), "got %.*s, expected %s", (int)buf.size,
              (const char *)buf.data, expected);
    buf_deinit(&buf);
}

Test(text_time, written)
{
    expect_written(0, "1970-01-01T00:00:00Z");
    expect_written(INT64_C(1767225600) * second_ns, "2026-01-01T00:00:00Z");
    expect_written(INT64_C(1767225600120000000), "2026-01-01T00:00:00.12Z");
    expect_written(-1, "1969-12-31T23:59:59.999999999Z");
    expect_written(INT64_MAX, "2262-04-11T23:47:16.854775807Z");
    expect_written(INT64_MIN, "1677-09-21T00:12:43.145224192Z");
}

Test(text_time, written_is_read_back)
{
    struct buf buf;
    buf_init(&buf, 0);
    uint64_t state = 7;
    for (int i = 0; i < 200000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int64_t ns = (int64_t)state;
        int64_t again = 0;
        buf_clear(&buf);
        text_append_time(&buf, ns);
        cr_assert_eq(text_parse_time_ns(buf_slice(&buf), &again), STATUS_OK);
        cr_assert_eq(again, ns);
    }
    buf_deinit(&buf);
}

/* Every day of the range, read and compared with libc's calendar. */
Test(text_time, every_day)
{
    for (int64_t day = -106751; day <= 106751; day++) {
        time_t at_s = day * 86400;
        struct tm at;
        char text[32];
        int64_t ns = 0;
        cr_assert_not_null(gmtime_r(&at_s, &at));
        cr_assert_gt(strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &at), 0);
        cr_assert_eq(text_parse_time_ns(slice_text(text), &ns), STATUS_OK, "%s", text);
        cr_assert_eq(ns, day * 86400 * second_ns, "%s", text);
    }
}
