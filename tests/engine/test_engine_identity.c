/* Who is counted, and which faults of a request are named. */
#include "engine_fixture.h"

static struct request bytes_request(const void *key, size_t key_size, const void *route,
                                    size_t route_size)
{
    return (struct request){.key = slice_make(key, key_size),
                            .route = slice_make(route, route_size)};
}

#define PAIR_FILE                                                                                 \
    "limits:\n"                                                                                   \
    "  pair: {algorithm: fixed_window, limit: 1, window: 60s, count_by: [key, route]}\n"          \
    "  a: {algorithm: fixed_window, limit: 1, window: 60s}\n"                                     \
    "  a-b: {algorithm: fixed_window, limit: 1, window: 60s}\n"                                   \
    "routes:\n"                                                                                   \
    "  \"*\": [pair]\n"                                                                           \
    "  one: [a]\n"                                                                                \
    "  two: [a-b]\n"

/* RB-34 */
Test(engine_identity, two_different_pairs_never_share_a_counter)
{
    static const struct {
        const char *bytes[4]; /* left key, left route, right key, right route */
        size_t sizes[4];
    } pairs[] = {
        {{"a:b", "c", "a", "b:c"}, {3, 1, 1, 3}},
        {{"ab", "c", "a", "bc"}, {2, 1, 1, 2}},
        {{"u|1", "r", "u", "1|r"}, {3, 1, 1, 3}},
        {{"a/b", "c", "a", "b/c"}, {3, 1, 1, 3}},
        {{"k\0x", "r", "k", "x\0r"}, {3, 1, 1, 3}},
        {{"1", "11", "11", "1"}, {1, 2, 2, 1}},
        {{"{a}", "r", "a", "r"}, {3, 1, 1, 1}},
        {{"x\1\0\0\0y", "z", "x", "y\1\0\0\0z"}, {6, 1, 1, 6}},
        {{"x\0\0\0\0y", "z", "x", "y\0\0\0\0z"}, {6, 1, 1, 6}},
    };
    for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        struct fixture f;
        fixture_open(&f, PAIR_FILE);
        struct request left = bytes_request(pairs[i].bytes[0], pairs[i].sizes[0],
                                            pairs[i].bytes[1], pairs[i].sizes[1]);
        struct request right = bytes_request(pairs[i].bytes[2], pairs[i].sizes[2],
                                             pairs[i].bytes[3], pairs[i].sizes[3]);
        EXPECT_ALLOWED(fixture_decide(&f, AT(0), &left), 0);
        EXPECT_ALLOWED(fixture_decide(&f, AT(0), &right), 0);
        EXPECT_REFUSED(fixture_decide(&f, AT(0), &left), 0, SECONDS(60));
        EXPECT_REFUSED(fixture_decide(&f, AT(0), &right), 0, SECONDS(60));
        fixture_close(&f);
    }
}

Test(engine_identity, a_limits_name_is_not_glued_to_the_key)
{
    struct fixture f;
    fixture_open(&f, PAIR_FILE);
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "b-c", "one"), 0);
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "c", "two"), 0);
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "same", "one"), 0);
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "same", "two"), 0);
    EXPECT_REFUSED(fixture_ask(&f, AT(0), "same", "one"), 0, SECONDS(60));
    fixture_close(&f);
}

/* RB-35 */
Test(engine_identity, keys_are_bytes)
{
    char long_key[LIMITS_KEY_BYTES_MAX];
    char long_twin[LIMITS_KEY_BYTES_MAX];
    memset(long_key, 'x', sizeof(long_key));
    memset(long_twin, 'x', sizeof(long_twin));
    long_twin[sizeof(long_twin) - 1] = 'y';
    const struct slice keys[] = {
        slice_make("a", 1),           slice_make("a ", 2),         slice_make(" a", 2),
        slice_make("A", 1),           slice_make("a\t", 2),        slice_make("a\r\n", 3),
        slice_make("a\0", 2),         slice_make("\0", 1),         slice_make("\xc3\xa9", 2),
        slice_make("e\xcc\x81", 3),   slice_make("\xff\xfe", 2),   slice_make("\xe2\x80\x8b", 3),
        slice_text("unlimited"),      slice_text("null"),          slice_text("-"),
        slice_text("*"),              slice_make(long_key, 1024),  slice_make(long_twin, 1024),
        slice_make(long_key, 1023),   slice_text("undefined"),
    };
    unsigned count = sizeof(keys) / sizeof(keys[0]);
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  k: {algorithm: fixed_window, limit: 1, window: 60s}\n"
                     "routes:\n"
                     "  \"*\": [k]\n");
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < count; i++) {
            struct request request = {.key = keys[i], .route = slice_text("r")};
            struct decision decision = fixture_decide(&f, AT(0), &request);
            cr_expect_eq(decision.shown.allowed, round == 0, "key %u", i);
        }
    }
    fixture_close(&f);
}

#define ADDRESS_FILE                                                                              \
    "limits:\n"                                                                                   \
    "  net: {algorithm: fixed_window, limit: 2, window: 60s, ip_prefix: {}}\n"                    \
    "  wide: {algorithm: fixed_window, limit: 1, window: 60s, count_by: [key, ip],\n"             \
    "         ip_prefix: {of: ip, v4: 20, v6: 45}}\n"                                             \
    "  dark: {algorithm: fixed_window, limit: 1, window: 60s, count_by: [ip], shadow: true,\n"    \
    "         ip_prefix: {of: ip}}\n"                                                             \
    "routes:\n"                                                                                   \
    "  r: [net]\n"                                                                                \
    "  wide: [wide]\n"                                                                            \
    "  dark: [dark]\n"

/* RB-37 */
Test(engine_identity, addresses_as_keys)
{
    static const struct {
        const char *key;
        bool allowed;
    } steps[] = {
        {"2001:db8:0:1::1", true},
        {"2001:db8:0:1:ffff:ffff:ffff:ffff", true},
        {"2001:DB8:0:1:0:0:0:5", false},
        {"2001:db8:0:2::1", true},
        {"192.0.2.1", true},
        {"::ffff:192.0.2.1", true},
        {"::ffff:c000:201", false},
        {"192.0.2.2", true},
    };
    struct fixture f;
    fixture_open(&f, ADDRESS_FILE);
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct decision decision = fixture_ask(&f, AT(0), steps[i].key, "r");
        cr_expect_eq(decision.shown.allowed, steps[i].allowed, "%s", steps[i].key);
    }
    static const char *const bad[] = {"fe80::1%eth0", "not-an-address", "[::1]",  "192.0.2.1:80",
                                      "192.0.2",      "192.0.2.1 ",     "1.2.3.4.5"};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct request request = fixture_request(bad[i], "r");
        struct request_error error = fixture_error(&f, &request);
        cr_expect_eq(error.code, REQUEST_INVALID_ARGUMENT);
        cr_expect_str_eq(error.field, "key");
    }
    fixture_close(&f);
}

static bool wide_allows(struct fixture *f, const char *key, const char *ip)
{
    struct request request = fixture_request(key, "wide");
    fixture_attribute(&request, "ip", ip);
    return fixture_decide(f, AT(0), &request).shown.allowed;
}

Test(engine_identity, prefixes_that_end_inside_a_byte)
{
    struct fixture f;
    fixture_open(&f, ADDRESS_FILE);
    cr_expect(wide_allows(&f, "k", "10.1.16.0"));
    cr_expect(!wide_allows(&f, "k", "10.1.31.255"));
    cr_expect(wide_allows(&f, "k", "10.1.32.0"));
    cr_expect(wide_allows(&f, "other", "10.1.31.255"));
    cr_expect(wide_allows(&f, "k", "2001:db8:8::"));
    cr_expect(!wide_allows(&f, "k", "2001:db8:f:ffff::1"));
    cr_expect(wide_allows(&f, "k", "2001:db8:10::"));
    fixture_close(&f);
}

Test(engine_identity, a_shadow_limit_that_cannot_tell_who_is_skipped_and_counted)
{
    struct fixture f;
    fixture_open(&f, ADDRESS_FILE);
    struct request request = fixture_request("k", "dark");
    request.details = true;
    struct decision decision = fixture_decide(&f, AT(0), &request); /* lacks ip */
    cr_expect_eq(decision.shown.reason, REASON_UNDER_LIMIT);
    cr_expect_eq(decision.row_count, 0);
    fixture_attribute(&request, "ip", "nowhere");
    decision = fixture_decide(&f, AT(0), &request);
    cr_expect(decision.shown.allowed);
    cr_expect_eq(fixture_count(&f, "dark", METRICS_SHADOW_ERROR), 2u);
    cr_expect_eq(fixture_count_unnamed(&f, METRICS_ALLOWED), 2u);
    request.attributes[0].value = slice_text("192.0.2.1");
    decision = fixture_decide(&f, AT(0), &request);
    cr_expect_eq(decision.row_count, 1);
    cr_expect_eq(fixture_count(&f, "dark", METRICS_SHADOW_ERROR), 2u);
    fixture_close(&f);
}

Test(engine_identity, an_empty_list_of_parts_is_one_counter_for_all)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  all: {algorithm: fixed_window, limit: 2, window: 60s, count_by: []}\n"
                     "routes:\n"
                     "  \"*\": [all]\n");
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "a", "r"), 1);
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "b", "s"), 0);
    EXPECT_REFUSED(fixture_ask(&f, AT(0), "c", "t"), 0, SECONDS(60));
    fixture_close(&f);
}

Test(engine_identity, an_empty_attribute_is_a_value_and_a_missing_one_an_error)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  u: {algorithm: fixed_window, limit: 1, window: 60s, count_by: [user]}\n"
                     "routes:\n"
                     "  \"*\": [u]\n");
    struct request empty = fixture_request("k", "r");
    fixture_attribute(&empty, "user", "");
    EXPECT_ALLOWED(fixture_decide(&f, AT(0), &empty), 0);
    EXPECT_REFUSED(fixture_decide(&f, AT(0), &empty), 0, SECONDS(60));
    struct request missing = fixture_request("k", "r");
    fixture_attribute(&missing, "User", "x");
    struct request_error error = fixture_error(&f, &missing);
    cr_expect_eq(error.code, REQUEST_INVALID_ARGUMENT);
    cr_expect_str_eq(error.field, "attributes.user");
    fixture_close(&f);
}

Test(engine_identity, who_is_unlimited_or_blocked_is_still_to_be_named)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  u: {algorithm: fixed_window, limit: 1, window: 60s, count_by: [user],\n"
                     "      overrides: [{match: {key: vip}, unlimited: true},\n"
                     "                  {match: {key: bad}, blocked: true}]}\n"
                     "routes:\n"
                     "  \"*\": [u]\n");
    static const char *const keys[] = {"vip", "bad", "k"};
    for (int i = 0; i < 3; i++) {
        struct request request = fixture_request(keys[i], "r");
        cr_expect_str_eq(fixture_error(&f, &request).field, "attributes.user");
    }
    fixture_close(&f);
}

Test(engine_identity, an_override_sees_the_address_as_sent)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  net: {algorithm: fixed_window, limit: 2, window: 60s, ip_prefix: {},\n"
                     "        overrides: [{match: {key: \"2001:db8::7\"}, limit: 9}]}\n"
                     "routes:\n"
                     "  \"*\": [net]\n");
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "2001:db8::7", "r"), 8);
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "2001:db8::8", "r"), 0); /* the same counter, its own L */
    EXPECT_REFUSED(fixture_ask(&f, AT(0), "2001:DB8::7", "r"), 0, SECONDS(60));
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "2001:db8::7", "r"), 6);
    fixture_close(&f);
}

Test(engine_identity, limits_that_count_by_the_same_parts_stay_apart)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  a: {algorithm: fixed_window, limit: 9, window: 60s, count_by: [key, ip]}\n"
                     "  b: {algorithm: fixed_window, limit: 8, window: 60s, count_by: [key, ip]}\n"
                     "  c: {algorithm: fixed_window, limit: 7, window: 60s, count_by: [ip, key]}\n"
                     "  d: {algorithm: fixed_window, limit: 6, window: 60s, count_by: [ip, key],\n"
                     "      ip_prefix: {of: ip, v4: 24}}\n"
                     "  e: {algorithm: fixed_window, limit: 5, window: 60s, count_by: [ip, key],\n"
                     "      ip_prefix: {of: ip, v4: 32}}\n"
                     "routes:\n"
                     "  \"*\": [a, b, c, d, e]\n");
    static const char *const addresses[] = {"192.0.2.1", "192.0.2.2"};
    struct decision decision = {0};
    for (int i = 0; i < 2; i++) {
        struct request request = fixture_request("k", "r");
        request.details = true;
        fixture_attribute(&request, "ip", addresses[i]);
        decision = fixture_decide(&f, AT(0), &request);
    }
    cr_assert_eq(decision.row_count, 5);
    cr_expect_eq(decision.rows[4].remaining, 4u);
    cr_expect_eq(decision.rows[0].remaining, 8u);
    cr_expect_eq(decision.rows[1].remaining, 7u);
    cr_expect_eq(decision.rows[2].remaining, 6u);
    cr_expect_eq(decision.rows[3].remaining, 4u); /* both addresses are one network */
    fixture_close(&f);
}

Test(engine_identity, a_route_is_counted_as_it_was_normalised)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  r: {algorithm: fixed_window, limit: 1, window: 60s, count_by: [route]}\n"
                     "routes:\n"
                     "  \"*\": [r]\n"
                     "normalize_routes: [lowercase, strip_query]\n");
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "GET /a?x=1"), 0);
    EXPECT_REFUSED(fixture_ask(&f, AT(0), "k", "get /A"), 0, SECONDS(60));
    EXPECT_ALLOWED(fixture_ask(&f, AT(0), "k", "get /b"), 0);
    fixture_close(&f);
}

#define FAULTS_FILE                                                                               \
    "limits:\n"                                                                                   \
    "  ip: {algorithm: fixed_window, limit: 1, window: 60s, count_by: [ip]}\n"                    \
    "  key: {algorithm: fixed_window, limit: 1, window: 60s, ip_prefix: {of: key}}\n"             \
    "  dark: {algorithm: fixed_window, limit: 1, window: 60s, count_by: [x], shadow: true}\n"     \
    "routes:\n"                                                                                   \
    "  r: [dark, ip, key]\n"

Test(engine_identity, of_several_faults_the_first_in_order_is_named)
{
    struct fixture f;
    fixture_open(&f, FAULTS_FILE);
    struct request request = fixture_request("no-address", "r");
    cr_expect_str_eq(fixture_error(&f, &request).field, "key"); /* before attributes.ip */
    request.has_cost = true;
    request.cost = UINT64_MAX;
    cr_expect_str_eq(fixture_error(&f, &request).field, "key"); /* before cost */
    request.key = slice_text("192.0.2.1");
    cr_expect_str_eq(fixture_error(&f, &request).field, "cost");
    request.cost = 1;
    request.attribute_count = LIMITS_ATTRIBUTES_MAX + 5;
    for (int i = 0; i < LIMITS_ATTRIBUTES_MAX; i++) {
        request.attributes[i] = (struct request_attribute){slice_text("same"), slice_text("v")};
    }
    cr_expect_str_eq(fixture_error(&f, &request).field, "attributes.ip"); /* before attributes */
    request.attributes[0].name = slice_text("ip");
    cr_expect_str_eq(fixture_error(&f, &request).field, "attributes");
    request.route = slice_text("");
    cr_expect_str_eq(fixture_error(&f, &request).field, "route");
    struct store_stats stats;
    store_stats(f.store, &stats);
    cr_expect_eq(stats.counters, 0u);
    fixture_close(&f);
}
