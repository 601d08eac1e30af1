/* Numbers, durations, sizes, escaping, spelling. Instants: test_text_time.c. */
#include "base/text.h"

#include "base/utf8.h"

#include <criterion/criterion.h>
#include <limits.h>

static void expect_text(struct buf *buf, const char *expected)
{
    cr_expect(slice_equal_text(buf_slice(buf), expected), "got %.*s, expected %s", (int)buf->size,
              (const char *)buf_slice(buf).data, expected);
    buf_clear(buf);
}

Test(text, whole_numbers)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"7", 7},
                {"60", 60},
                {"9223372036854775808", UINT64_C(9223372036854775808)},
                {"18446744073709551615", UINT64_MAX}};
    static const char *const bad[] = {"",   "-5", "+5", "5.5", "1e3", "010", "00", "0x10", "10k",
                                      " 1", "1 ", "_1", "1_",  "1_0", "NaN", "٣",  "1\n"};
    static const char *const large[] = {"18446744073709551616", "18446744073709551620",
                                        "99999999999999999999", "184467440737095516150",
                                        "1000000000000000000000000000000"};
    uint64_t value;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_expect_eq(text_parse_u64(slice_text(good[i].text), &value), STATUS_OK);
        cr_expect_eq(value, good[i].value, "%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(text_parse_u64(slice_text(bad[i]), &value), STATUS_INVALID, "%s", bad[i]);
    }
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
        cr_expect_eq(text_parse_u64(slice_text(large[i]), &value), STATUS_TOO_LARGE, "%s",
                     large[i]);
    }
    cr_expect_eq(text_parse_u64(slice_text("99999999999999999999x"), &value), STATUS_INVALID);
    cr_expect_eq(text_parse_u64(slice_make("1\0", 2), &value), STATUS_INVALID);
}

Test(text, grouped_whole_numbers)
{
    static const char *const bad[] = {"_", "_1", "1_", "1__0", "0_1", "1_000.0", "-1_0", ""};
    uint64_t value = 0;
    cr_expect_eq(text_parse_grouped_u64(slice_text("1_000_000"), &value), STATUS_OK);
    cr_expect_eq(value, 1000000);
    cr_expect_eq(text_parse_grouped_u64(slice_text("1_2_3"), &value), STATUS_OK);
    cr_expect_eq(value, 123);
    cr_expect_eq(text_parse_grouped_u64(slice_text("999999999999999"), &value), STATUS_OK);
    cr_expect_eq(value, UINT64_C(999999999999999));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(text_parse_grouped_u64(slice_text(bad[i]), &value), STATUS_INVALID, "%s",
                     bad[i]);
    }
}

Test(text, durations)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"0s", 0},
                {"1ns", 1},
                {"1us", 1000},
                {"250ms", 250000000},
                {"10s", INT64_C(10000000000)},
                {"1m", INT64_C(60000000000)},
                {"1h30m", INT64_C(5400000000000)},
                {"7d", INT64_C(604800000000000)},
                {"1w", INT64_C(604800000000000)},
                {"90m", INT64_C(5400000000000)},
                {"1w2d3h4m5s6ms7us8ns", INT64_C(788645006007008)},
                {"1_000ms", 1000000000},
                {"9223372036854775807ns", INT64_MAX},
                {"9223372036s854775807ns", INT64_MAX}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t ns = -1;
        const char *why = NULL;
        cr_expect_eq(text_parse_duration_ns(slice_text(good[i].text), &ns, &why), STATUS_OK, "%s",
                     good[i].text);
        cr_expect_eq(ns, good[i].ns, "%s", good[i].text);
    }
}

Test(text, what_is_no_duration_and_why)
{
    static const struct {
        const char *text;
        const char *why;
        enum status status;
    } bad[] = {
        {"", "is empty; expected a duration such as 10s", STATUS_INVALID},
        {"10", "needs a unit, such as 10s", STATUS_INVALID},
        {"1h30", "needs a unit, such as 10s", STATUS_INVALID},
        {"1.5h", "has a fraction; use a smaller unit: 1h30m, not 1.5h", STATUS_INVALID},
        {"-5s", "must have no sign", STATUS_INVALID},
        {"+5s", "must have no sign", STATUS_INVALID},
        {"s", "must be whole numbers with units, such as 10s or 1h30m", STATUS_INVALID},
        {"1h 30m", "must be whole numbers with units, such as 10s or 1h30m", STATUS_INVALID},
        {"01m", "has a number that is not written plainly, such as 10", STATUS_INVALID},
        {"1__0s", "has a number that is not written plainly, such as 10", STATUS_INVALID},
        {"3mo", "has an unknown unit; the units are w d h m s ms us ns", STATUS_INVALID},
        {"3y", "has an unknown unit; the units are w d h m s ms us ns", STATUS_INVALID},
        {"3S", "has an unknown unit; the units are w d h m s ms us ns", STATUS_INVALID},
        {"30m1h", "units must fall, as in 1h30m", STATUS_INVALID},
        {"1s1s", "names a unit twice", STATUS_INVALID},
        {"9223372036854775808ns", "is longer than 292 years", STATUS_TOO_LARGE},
        {"9223372036s854775808ns", "is longer than 292 years", STATUS_TOO_LARGE},
        {"15251w", "is longer than 292 years", STATUS_TOO_LARGE},
        {"18446744073709551616s", "is longer than 292 years", STATUS_TOO_LARGE},
        {"30500568904944w", "is longer than 292 years", STATUS_TOO_LARGE},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t ns = 77;
        const char *why = "nothing";
        cr_expect_eq(text_parse_duration_ns(slice_text(bad[i].text), &ns, &why), bad[i].status,
                     "%s", bad[i].text);
        cr_expect_str_eq(why, bad[i].why, "%s: %s", bad[i].text, why);
        cr_expect_eq(ns, 77, "a failure stores nothing");
    }
}

Test(text, durations_written_are_read_back)
{
    struct buf buf;
    buf_init(&buf, 0);
    text_append_duration(&buf, 0);
    expect_text(&buf, "0s");
    text_append_duration(&buf, INT64_C(5400000000000));
    expect_text(&buf, "1h30m");
    text_append_duration(&buf, -250000000);
    expect_text(&buf, "-250ms");
    uint64_t state = 12345;
    for (int i = 0; i < 100000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int64_t ns = (int64_t)(state >> 1 >> (i % 63));
        int64_t again = -1;
        const char *why = "";
        buf_clear(&buf);
        text_append_duration(&buf, ns);
        cr_assert_eq(text_parse_duration_ns(buf_slice(&buf), &again, &why), STATUS_OK, "%s", why);
        cr_assert_eq(again, ns);
    }
    buf_deinit(&buf);
}

Test(text, seconds)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {{0, "0s"},
                {1, "0.000000001s"},
                {INT64_C(6200000000), "6.2s"},
                {1000000000, "1s"},
                {INT64_C(10000000000), "10s"},
                {INT64_C(1010000000), "1.01s"},
                {-1500000000, "-1.5s"},
                {INT64_MAX, "9223372036.854775807s"},
                {INT64_MIN, "-9223372036.854775808s"}};
    struct buf buf;
    buf_init(&buf, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        text_append_seconds(&buf, rows[i].ns);
        expect_text(&buf, rows[i].text);
    }
    buf_deinit(&buf);
}

Test(text, sizes)
{
    static const struct {
        const char *text;
        enum status status;
        uint64_t bytes;
    } rows[] = {{"0", STATUS_OK, 0},
                {"4096", STATUS_OK, 4096},
                {"64KiB", STATUS_OK, 65536},
                {"512MiB", STATUS_OK, UINT64_C(536870912)},
                {"1GiB", STATUS_OK, UINT64_C(1073741824)},
                {"2TiB", STATUS_OK, UINT64_C(2199023255552)},
                {"16777215TiB", STATUS_OK, UINT64_C(18446742974197923840)},
                {"16777216TiB", STATUS_TOO_LARGE, 0},
                {"18446744073709551616", STATUS_TOO_LARGE, 0},
                {"", STATUS_INVALID, 0},
                {"KiB", STATUS_INVALID, 0},
                {"1KB", STATUS_INVALID, 0},
                {"1k", STATUS_INVALID, 0},
                {"1 KiB", STATUS_INVALID, 0},
                {"1.5GiB", STATUS_INVALID, 0},
                {"-1KiB", STATUS_INVALID, 0},
                {"1kib", STATUS_INVALID, 0},
                {"1KiBKiB", STATUS_INVALID, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t bytes = 0;
        cr_expect_eq(text_parse_size(slice_text(rows[i].text), &bytes), rows[i].status, "%s",
                     rows[i].text);
        cr_expect_eq(bytes, rows[i].bytes, "%s", rows[i].text);
    }
}

static void expect_json(struct slice text, const char *expected)
{
    struct buf buf;
    buf_init(&buf, 0);
    text_append_json_string(&buf, text);
    expect_text(&buf, expected);
    buf_deinit(&buf);
}

Test(text, json_strings)
{
    expect_json(slice_text(""), "\"\"");
    expect_json(slice_text("POST /login"), "\"POST /login\"");
    expect_json(slice_text("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
    expect_json(slice_text("\n\r\t\b\x1f\x7f"), "\"\\n\\r\\t\\u0008\\u001f\\u007f\"");
    expect_json(slice_make("a\0b", 3), "\"a\\u0000b\"");
    expect_json(slice_text("h\u00e9 \u4e2d \U0001F600"), "\"h\u00e9 \u4e2d \U0001F600\"");
    expect_json(slice_text("\u202e\u2028\xc2\x85"), "\"\\u202e\\u2028\\u0085\"");
    expect_json(slice_text("\U000E0041"), "\"\\udb40\\udc41\"");
    expect_json(slice_text("a\xff\xc3"), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
    expect_json(slice_text("\xed\xa0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

static void expect_escaped(struct slice text, size_t max_bytes, const char *expected)
{
    struct buf buf;
    buf_init(&buf, 0);
    text_append_escaped(&buf, text, max_bytes);
    expect_text(&buf, expected);
    buf_deinit(&buf);
}

Test(text, escaping)
{
    expect_escaped(slice_text(""), 10, "");
    expect_escaped(slice_text("plain text"), 10, "plain text");
    expect_escaped(slice_text("a\nb\rc\td\"e\\"), 99, "a\\nb\\rc\\td\\\"e\\\\");
    expect_escaped(slice_make("\0\x1b[31m", 6), 99, "\\x00\\x1b[31m");
    expect_escaped(slice_text("\xff\xc3"), 99, "\\xff\\xc3");
    expect_escaped(slice_text("h\u00e9\u4e2d"), 99, "h\u00e9\u4e2d");
    expect_escaped(slice_text("\u202e"), 99, "\\xe2\\x80\\xae");
    expect_escaped(slice_text("\xc2\x85"), 99, "\\xc2\\x85");
}

Test(text, escaping_cuts_between_characters)
{
    expect_escaped(slice_text("abcdef"), 6, "abcdef");
    expect_escaped(slice_text("abcdef"), 5, "abcde...");
    expect_escaped(slice_text("abcdef"), 0, "...");
    expect_escaped(slice_text("ab\u4e2d"), 5, "ab\u4e2d");
    expect_escaped(slice_text("ab\u4e2d"), 4, "ab...");
    expect_escaped(slice_text("ab\xff\xff"), 3, "ab\\xff...");
}

/* Whatever bytes come in: what goes out is valid UTF-8 without anything that could end a line or
 * a quoted value. */
Test(text, nothing_escapes_escaping)
{
    struct buf buf;
    buf_init(&buf, 0);
    uint64_t state = 99;
    for (int i = 0; i < 100000; i++) {
        uint8_t bytes[16];
        for (size_t j = 0; j < sizeof(bytes); j++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            bytes[j] = (uint8_t)(state >> 56);
        }
        buf_clear(&buf);
        text_append_escaped(&buf, slice_make(bytes, sizeof(bytes)), sizeof(bytes));
        struct slice out = buf_slice(&buf);
        cr_assert(utf8_is_valid(out));
        for (size_t j = 0; j < out.size; j++) {
            bool quote_escaped = j > 0 && out.data[j - 1] == '\\';
            cr_assert(out.data[j] >= ' ' && out.data[j] != 0x7F);
            cr_assert(out.data[j] != '"' || quote_escaped);
        }
    }
    buf_deinit(&buf);
}

Test(text, nearest_word)
{
    static const char *const words[] = {"limit", "window", "burst", "count_by", "ip", NULL};
    static const char *const none[] = {NULL};
    cr_expect_str_eq(text_nearest(slice_text("limt"), words), "limit");
    cr_expect_str_eq(text_nearest(slice_text("limits"), words), "limit");
    cr_expect_str_eq(text_nearest(slice_text("limti"), words), "limit");
    cr_expect_str_eq(text_nearest(slice_text("windows"), words), "window");
    cr_expect_str_eq(text_nearest(slice_text("countby"), words), "count_by");
    cr_expect_str_eq(text_nearest(slice_text("ip"), words), "ip");
    cr_expect_str_eq(text_nearest(slice_text("i"), words), "ip");
    cr_expect_null(text_nearest(slice_text("xy"), words), "as far as the word is long");
    cr_expect_null(text_nearest(slice_text(""), words));
    cr_expect_null(text_nearest(slice_text("algorithm"), words));
    cr_expect_null(text_nearest(slice_text("limit"), none));
    char longer[1000];
    memset(longer, 'a', sizeof(longer));
    cr_expect_null(text_nearest(slice_make(longer, sizeof(longer)), words));
}

Test(text, nearest_of_equals_is_the_first_and_the_nearer_wins)
{
    static const char *const words[] = {"refuse", "refund", "reset", NULL};
    cr_expect_str_eq(text_nearest(slice_text("refun"), words), "refund");
    cr_expect_str_eq(text_nearest(slice_text("refue"), words), "refuse");
    cr_expect_str_eq(text_nearest(slice_text("refuXX"), words), "refuse");
}
