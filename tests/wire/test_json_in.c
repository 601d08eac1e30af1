/* The bodies of the HTTP API: what is taken, with which values, and what is refused and why. */
#include "wire/json_in.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define ALL (JSON_IN_KEY | JSON_IN_ROUTE | JSON_IN_COST | JSON_IN_ATTRIBUTES | JSON_IN_DETAILS)

struct reading {
    struct arena arena;
    struct request request;
    struct request_error error;
    enum json_in_result result;
};

static void read_slice(struct reading *reading, struct slice text, unsigned members)
{
    struct request_error error;
    struct json_in in;
    json_in_init(&in, text, &reading->arena);
    reading->result = json_in_request(&in, members, &reading->request, &reading->error);
    if (reading->result == JSON_IN_OK) {
        reading->result = json_in_end(&in, &error);
        reading->error = error;
    }
}

static void read_text(struct reading *reading, const char *text)
{
    read_slice(reading, slice_text(text), ALL);
}

static void reading_init(struct reading *reading)
{
    arena_init(&reading->arena, 4096, 0);
}

Test(json_in, every_member_is_read)
{
    struct reading reading;
    reading_init(&reading);
    read_text(&reading, " {\"details\" :true,\"attributes\":{\"ip\":\"192.0.2.7\",\"\":\"\"},"
                        "\"cost\":12,\t\"route\":\"POST /login\",\r\n\"key\":\"alice\"} \n");
    cr_assert_eq(reading.result, JSON_IN_OK);
    cr_expect(slice_equal_text(reading.request.key, "alice"));
    cr_expect(slice_equal_text(reading.request.route, "POST /login"));
    cr_expect(reading.request.has_cost && !reading.request.cost_invalid);
    cr_expect_eq(reading.request.cost, 12);
    cr_expect(reading.request.details && reading.request.utf8);
    cr_assert_eq(reading.request.attribute_count, 2);
    cr_expect(slice_equal_text(reading.request.attributes[0].name, "ip"));
    cr_expect(slice_equal_text(reading.request.attributes[0].value, "192.0.2.7"));
    read_text(&reading, "{}");
    cr_expect_eq(reading.result, JSON_IN_OK);
    cr_expect_eq(reading.request.key.size, 0);
    cr_expect_not(reading.request.has_cost);
    arena_deinit(&reading.arena);
}

Test(json_in, escapes_stand_for_their_characters)
{
    static const char expected[] = "\"\\/\b\f\n\r\t\0\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80.";
    struct reading reading;
    reading_init(&reading);
    read_text(&reading, "{\"key\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u00e4\\u20AC"
                        "\\uD83D\\ude00.\"}");
    cr_assert_eq(reading.result, JSON_IN_OK, "%s", reading.error.message);
    cr_expect_eq(reading.request.key.size, sizeof(expected) - 1);
    cr_expect(slice_equal(reading.request.key, slice_make(expected, sizeof(expected) - 1)));
    arena_deinit(&reading.arena);
}

Test(json_in, costs_are_exact_or_refused)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t cost;
    } costs[] = {
        {"0", true, 0},
        {"1", true, 1},
        {"9007199254740993", true, UINT64_C(9007199254740993)},
        {"9223372036854775807", true, INT64_MAX},
        {"\"9223372036854775807\"", true, INT64_MAX},
        {"18446744073709551615", true, UINT64_MAX}, /* request_check's to refuse */
        {"\"\\u0031\"", true, 1},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999999", false, 0},
        {"-1", false, 0},
        {"-0", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"1E+3", false, 0},
        {"\"\"", false, 0},
        {"\" 1\"", false, 0},
        {"\"+1\"", false, 0},
        {"\"01\"", false, 0},
        {"\"1e3\"", false, 0},
        {"null", false, 0},
        {"true", false, 0},
        {"[1]", false, 0},
        {"{}", false, 0},
    };
    struct reading reading;
    reading_init(&reading);
    for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
        char text[80];
        (void)snprintf(text, sizeof(text), "{\"cost\":%s}", costs[i].text);
        read_text(&reading, text);
        cr_expect_eq(reading.result, JSON_IN_OK, "%s", text);
        cr_expect(reading.request.has_cost, "%s", text);
        cr_expect_eq(reading.request.cost_invalid, !costs[i].good, "%s", text);
        cr_expect(!costs[i].good || reading.request.cost == costs[i].cost, "%s", text);
    }
    arena_deinit(&reading.arena);
}

Test(json_in, faults_name_their_field)
{
    static const struct {
        const char *text;
        const char *field;
    } faults[] = {
        {"{\"key\":1}", "key"},
        {"{\"key\":null}", "key"},
        {"{\"route\":[\"a\"]}", "route"},
        {"{\"details\":1}", "details"},
        {"{\"details\":\"true\"}", "details"},
        {"{\"attributes\":[]}", "attributes"},
        {"{\"attributes\":\"a\"}", "attributes"},
        {"{\"attributes\":{\"ip\":1}}", "attributes.ip"},
        {"{\"kost\":1}", "kost"},
        {"{\"KEY\":\"a\"}", "KEY"},
        {"{\"key\":\"a\",\"key\":\"b\"}", "key"},
        {"{\"cost\":1,\"cost\":1}", "cost"},
        {"{\"key\":\"a\",\"\\u006bey\":\"b\"}", "key"},
        {"{\"a\\u0000\":1}", ""},
        {"[]", ""},
        {"\"key\"", ""},
        {"7", ""},
        {"null", ""},
    };
    struct reading reading;
    reading_init(&reading);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        read_text(&reading, faults[i].text);
        cr_expect_eq(reading.result, JSON_IN_FAULT, "%s", faults[i].text);
        cr_expect_str_eq(reading.error.field, faults[i].field, "%s", faults[i].text);
        cr_expect_eq(reading.error.code, REQUEST_INVALID_ARGUMENT);
        cr_expect_gt(strlen(reading.error.message), 10);
    }
    read_slice(&reading, slice_text("{\"cost\":1}"), JSON_IN_KEY | JSON_IN_ROUTE);
    cr_expect_eq(reading.result, JSON_IN_FAULT);
    arena_deinit(&reading.arena);
}

Test(json_in, what_is_no_JSON_is_told_with_its_place)
{
    static const struct {
        const char *text;
        const char *where;
    } broken[] = {
        {"", "at byte 0,"},
        {"{", "at byte 1,"},
        {"{\"key\":\"a\"", "at byte 10,"},
        {"{\"key\":\"a\",}", "at byte 11,"},
        {"{\"key\":\"a\"} x", "at byte 12,"},
        {"{\"key\":\"a\"}{}", "at byte 11,"},
        {"{\"key\" \"a\"}", "at byte 7,"},
        {"{key:\"a\"}", "at byte 1,"},
        {"{'key':'a'}", "at byte 1,"},
        {"{\"key\":\"a", "at byte 9,"},
        {"{\"key\":\"a\n\"}", "control character"},
        {"{\"key\":\"\\n\n\"}", "control character"},
        {"{\"key\":\"\\x\"}", "escape"},
        {"{\"key\":\"\\u12\"}", "hexadecimal"},
        {"{\"key\":\"\\ud83d\"}", "surrogate"},
        {"{\"key\":\"\\ude00\"}", "surrogate"},
        {"{\"key\":\"\\ud83d\\u0041\"}", "surrogate"},
        {"{\"key\":\"\\", "the end of a string"},
        {"{\"cost\":01}", "at byte 9,"},
        {"{\"cost\":1.}", "a digit"},
        {"{\"cost\":.5}", "a value"},
        {"{\"cost\":1e}", "a digit"},
        {"{\"cost\":-}", "a digit"},
        {"{\"cost\":NaN}", "a value"},
        {"{\"cost\":Infinity}", "a value"},
        {"{\"details\":truex}", "at byte 15,"},
        {"{\"details\":True}", "a value"},
        {"{\"x\":[1,]}", "a value"},
        {"{\"x\":[1 2]}", "a comma"},
        {"{\"x\":{1:2}}", "a string"},
        {"{\"attributes\":{\"a\":\"b\",}}", "a string"},
        {"{\"x\":[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}", "less depth"},
        {"// x\n{}", "a value"},
        {"\xef\xbb\xbf{}", "a value"},
    };
    struct reading reading;
    reading_init(&reading);
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        read_text(&reading, broken[i].text);
        cr_expect_eq(reading.result, JSON_IN_BROKEN, "%s", broken[i].text);
        cr_expect_not_null(strstr(reading.error.message, broken[i].where), "%s: %s",
                           broken[i].text, reading.error.message);
    }
    read_slice(&reading, slice_make("{}\0", 3), ALL);
    cr_expect_eq(reading.result, JSON_IN_BROKEN);
    read_slice(&reading, slice_make("{\"key\"\0:\"a\"}", 12), ALL);
    cr_expect_eq(reading.result, JSON_IN_BROKEN);
    arena_deinit(&reading.arena);
}

/* Every prefix of a good text is broken; none is read past its end. */
Test(json_in, every_cut_is_noticed)
{
    static const char text[] =
        "{\"key\":\"a\\u00e4\\ud83d\\ude00\",\"route\":\"b\",\"cost\":1.5e-7,"
        "\"attributes\":{\"c\":\"d\"},\"x\":[true,null,{\"y\":-0.1}],\"details\":false}";
    struct reading reading;
    reading_init(&reading);
    for (size_t size = 0; size < sizeof(text) - 1; size++) {
        uint8_t *copy = malloc(size + (size == 0));
        cr_assert_not_null(copy);
        memcpy(copy, text, size);
        read_slice(&reading, slice_make(copy, size), ALL);
        cr_expect_eq(reading.result, JSON_IN_BROKEN, "%.*s", (int)size, text);
        free(copy);
    }
    read_text(&reading, text);
    cr_expect_eq(reading.result, JSON_IN_FAULT);
    arena_deinit(&reading.arena);
}
