#include "engine/request.h"

#include <criterion/criterion.h>

#include <stdio.h>

static struct request request_of(struct slice key, struct slice route)
{
    return (struct request){.key = key, .route = route, .utf8 = true};
}

static struct request good(void)
{
    return request_of(slice_text("alice"), slice_text("GET /"));
}

static void add(struct request *request, struct slice name, struct slice value)
{
    request->attributes[request->attribute_count++] = (struct request_attribute){name, value};
}

static void expect_fault(const struct request *request, const char *field)
{
    struct request_error error = {0};
    cr_assert(!request_check(request, &error), "%s was not refused", field);
    cr_expect_eq(error.code, REQUEST_INVALID_ARGUMENT);
    cr_expect_str_eq(error.field, field);
    cr_expect(strlen(error.message) > 10);
}

static void expect_good(const struct request *request)
{
    struct request_error error = {0};
    cr_expect(request_check(request, &error), "%s: %s", error.field, error.message);
}

Test(request, key_and_route_have_one_to_1024_bytes)
{
    char bytes[LIMITS_KEY_BYTES_MAX + 1];
    memset(bytes, 'k', sizeof(bytes));
    struct request request = good();
    expect_good(&request);

    request.key = slice_make(bytes, LIMITS_KEY_BYTES_MAX);
    request.route = slice_make(bytes, LIMITS_KEY_BYTES_MAX);
    expect_good(&request);
    request.route = slice_make(bytes, LIMITS_KEY_BYTES_MAX + 1);
    expect_fault(&request, "route");
    request.route = slice_make(NULL, 0);
    expect_fault(&request, "route");
    request.key = slice_make(bytes, LIMITS_KEY_BYTES_MAX + 1);
    expect_fault(&request, "key");
    request.key = slice_make(NULL, 0);
    expect_fault(&request, "key");
}

Test(request, text_is_utf8_only_where_the_protocol_says_so)
{
    struct request request = good();
    request.key = slice_make("\xff\xfe", 2);
    expect_fault(&request, "key");
    request.utf8 = false;
    expect_good(&request);

    request = good();
    request.route = slice_make("\xed\xa0\x80", 3); /* a surrogate */
    expect_fault(&request, "route");

    request = good();
    add(&request, slice_text("ip"), slice_make("\xc0\x80", 2));
    expect_fault(&request, "attributes.ip");
    request.utf8 = false;
    expect_good(&request);

    request = good();
    request.key = slice_make("a\0b", 3);
    request.route = slice_text("\xf0\x9f\x98\x80");
    expect_good(&request);
}

Test(request, cost_is_at_most_the_largest_signed_number)
{
    struct request request = good();
    request.cost = UINT64_MAX; /* absent: does not count */
    expect_good(&request);
    request.has_cost = true;
    expect_fault(&request, "cost");
    request.cost = (uint64_t)INT64_MAX + 1;
    expect_fault(&request, "cost");
    request.cost = INT64_MAX;
    expect_good(&request);
    request.cost = 0;
    expect_good(&request);
    request.cost_invalid = true;
    expect_fault(&request, "cost");
}

Test(request, attributes_have_good_names_and_values)
{
    char bytes[LIMITS_KEY_BYTES_MAX + 1];
    memset(bytes, 'v', sizeof(bytes));
    struct request request = good();
    add(&request, slice_make(bytes, LIMITS_ATTRIBUTE_NAME_BYTES_MAX),
        slice_make(bytes, LIMITS_KEY_BYTES_MAX));
    add(&request, slice_text("plan"), slice_make(NULL, 0)); /* an empty value is a value */
    expect_good(&request);

    struct request bad = good();
    add(&bad, slice_make(bytes, LIMITS_ATTRIBUTE_NAME_BYTES_MAX + 1), slice_text("v"));
    expect_fault(&bad, "attributes");
    bad = good();
    add(&bad, slice_make(NULL, 0), slice_text("v"));
    expect_fault(&bad, "attributes");
    bad = good();
    add(&bad, slice_text("key"), slice_text("v"));
    expect_fault(&bad, "attributes");
    bad = good();
    add(&bad, slice_text("route"), slice_text("v"));
    expect_fault(&bad, "attributes");
    bad = good();
    add(&bad, slice_text("a"), slice_text("1"));
    add(&bad, slice_text("a"), slice_text("2"));
    expect_fault(&bad, "attributes");
    bad = good();
    add(&bad, slice_text("user"), slice_make(bytes, LIMITS_KEY_BYTES_MAX + 1));
    expect_fault(&bad, "attributes.user");
    bad = good();
    add(&bad, slice_make("\xff", 1), slice_text("v"));
    expect_fault(&bad, "attributes");
}

Test(request, at_most_sixteen_attributes)
{
    static char names[LIMITS_ATTRIBUTES_MAX][4];
    struct request request = good();
    for (int i = 0; i < LIMITS_ATTRIBUTES_MAX; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "a%d", i);
        add(&request, slice_text(names[i]), slice_text("v"));
    }
    expect_good(&request);
    request.attribute_count++; /* the seventeenth is counted, not stored */
    expect_fault(&request, "attributes");
    request.attribute_count = UINT32_MAX;
    expect_fault(&request, "attributes");
}

Test(request, of_several_faults_the_first_in_order_is_named)
{
    char bytes[LIMITS_KEY_BYTES_MAX + 1];
    memset(bytes, 'v', sizeof(bytes));
    struct request request = request_of(slice_make(NULL, 0), slice_make(NULL, 0));
    request.cost_invalid = true;
    add(&request, slice_text("key"), slice_text("v"));
    add(&request, slice_text("ip"), slice_make(bytes, sizeof(bytes)));
    expect_fault(&request, "key");
    request.key = slice_text("k");
    expect_fault(&request, "route");
    request.route = slice_text("r");
    expect_fault(&request, "cost");
    request.cost_invalid = false;
    expect_fault(&request, "attributes.ip");
    request.attributes[1].value = slice_text("192.0.2.1");
    expect_fault(&request, "attributes");
    request.attributes[0].name = slice_text("kay");
    expect_good(&request);
}

Test(request, a_peers_bytes_stay_out_of_sentences)
{
    char bytes[LIMITS_KEY_BYTES_MAX + 1];
    struct request_error error;
    memset(bytes, 'v', sizeof(bytes));
    struct request request = good();
    add(&request, slice_text("a\nlevel=error event=forged"), slice_make(bytes, sizeof(bytes)));
    cr_assert(!request_check(&request, &error));
    cr_expect_null(strchr(error.message, '\n'));
    cr_expect_null(strstr(error.message, "forged"));
}

Test(request, the_field_of_an_attribute)
{
    char field[LIMITS_FIELD_BYTES_MAX];
    cr_expect_str_eq(request_attribute_field(slice_text("ip"), field), "attributes.ip");
    cr_expect_str_eq(request_attribute_field(slice_make("a\0b", 3), field), "attributes");
    cr_expect_str_eq(request_attribute_field(slice_make("\xff", 1), field), "attributes");
    cr_expect_str_eq(request_attribute_field(slice_make(NULL, 0), field), "attributes");
}

Test(request, an_error_too_long_for_its_fields_is_cut)
{
    char text[LIMITS_MESSAGE_BYTES_MAX * 2];
    struct request_error error;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    request_error_set(&error, REQUEST_INTERNAL, text, "%s", text);
    cr_expect_eq(error.code, REQUEST_INTERNAL);
    cr_expect_eq(strlen(error.field), LIMITS_FIELD_BYTES_MAX - 1);
    cr_expect_eq(strlen(error.message), LIMITS_MESSAGE_BYTES_MAX - 1);
}

Test(request, names_of_codes_and_reasons)
{
    static const struct {
        enum request_code code;
        const char *name;
    } codes[] = {{0, "OK"},
                 {3, "INVALID_ARGUMENT"},
                 {5, "NOT_FOUND"},
                 {7, "PERMISSION_DENIED"},
                 {8, "RESOURCE_EXHAUSTED"},
                 {12, "UNIMPLEMENTED"},
                 {13, "INTERNAL"},
                 {14, "UNAVAILABLE"},
                 {16, "UNAUTHENTICATED"}};
    static const char *const reasons[] = {
        "UNSPECIFIED", "UNDER_LIMIT",        "UNLIMITED", "NO_LIMIT",  "SHADOWED",
        "OVER_LIMIT",  "COST_EXCEEDS_LIMIT", "BLOCKED",   "STORE_FULL"};
    for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        cr_expect_str_eq(request_code_name(codes[i].code), codes[i].name);
    }
    for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        cr_expect_str_eq(request_reason_name((enum reason)i), reasons[i]);
    }
}
