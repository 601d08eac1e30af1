/* Which route, which override, which plan: by hand, and against a search of the whole list. */
#include "limits_text.h"

#include "engine/name_index.h"
#include "engine/pattern.h"

#include <arpa/inet.h>

static const char *matched(const struct policy_set *set, const char *route)
{
    const struct policy_route *found = policy_match_route(set, slice_text(route));
    return found == NULL ? "none" : (const char *)found->pattern.data;
}

Test(policy_match, the_order_of_routes)
{
    struct policy_set *set = limits_text_set("limits: {}\n"
                                             "routes:\n"
                                             "  \"*\": []\n"
                                             "  \"GET *\": []\n"
                                             "  \"GET /a/*\": []\n"
                                             "  \"GET /a/*.png\": []\n"
                                             "  \"GET /a/*/c\": []\n"
                                             "  \"GET /a/*/*\": []\n"
                                             "  \"GET /a/b\": []\n"
                                             "  '*/logout': []\n"
                                             "  '*/*/logout': []\n"
                                             "  'a\\*b': []\n"
                                             "  'a\\\\b*': []\n"
                                             "  'x*y': []\n"
                                             "  'x*z*': []\n");
    cr_expect_str_eq(matched(set, "GET /a/b"), "GET /a/b");
    cr_expect_str_eq(matched(set, "GET /a/c"), "GET /a/*");
    cr_expect_str_eq(matched(set, "GET /a/"), "GET /a/*");
    cr_expect_str_eq(matched(set, "GET /a/x.png"), "GET /a/*.png");
    cr_expect_str_eq(matched(set, "GET /a/x/c"), "GET /a/*/c", "of equal length the earlier");
    cr_expect_str_eq(matched(set, "GET /a/x/d"), "GET /a/*/*");
    cr_expect_str_eq(matched(set, "GET /a"), "GET *");
    cr_expect_str_eq(matched(set, "POST /logout"), "*/logout");
    cr_expect_str_eq(matched(set, "POST /x/logout"), "*/*/logout");
    cr_expect_str_eq(matched(set, "GET /x/logout"), "GET *");
    cr_expect_str_eq(matched(set, "a*b"), "a\\*b");
    cr_expect_str_eq(matched(set, "axb"), "*");
    cr_expect_str_eq(matched(set, "a\\bc"), "a\\\\b*");
    cr_expect_str_eq(matched(set, "xy"), "x*y");
    cr_expect_str_eq(matched(set, "xzy"), "x*z*");
    cr_expect_str_eq(matched(set, "?"), "*");
    policy_set_destroy(&set);
}

Test(policy_match, no_route)
{
    struct policy_set *set = limits_text_set("limits: {}\nroutes: {x: [], 'y*': []}\n");
    cr_expect_null(policy_match_route(set, slice_text("z")));
    cr_expect_null(policy_match_route(set, slice_text("xx")));
    policy_set_destroy(&set);
    set = limits_text_set("limits: {}\nroutes: {}\n");
    cr_expect_null(policy_match_route(set, slice_text("z")));
    policy_set_destroy(&set);
}

struct measured {
    bool exact;
    uint32_t before; /* literal bytes before the first star */
    uint32_t length;
};

static struct measured measure(const struct policy_route *route)
{
    uint16_t tokens[64];
    uint8_t literal[64];
    struct measured out;
    cr_assert(pattern_decode(route->pattern, tokens, &out.length));
    out.before = (uint32_t)pattern_literal(tokens, out.length, literal, &out.exact);
    return out;
}

/* The rule of README, entry after entry. */
static const struct policy_route *slow_route(const struct policy_set *set, struct slice text)
{
    const struct policy_route *best = NULL;
    struct measured best_size = {.length = 0};
    for (uint32_t i = 0; i < set->route_count; i++) {
        const struct policy_route *route = &set->routes[i];
        struct measured size = measure(route);
        if (!pattern_matches(route->pattern, text)) {
            continue;
        }
        bool better = best == NULL || (size.exact && !best_size.exact) ||
                      (size.exact == best_size.exact &&
                       (size.before > best_size.before ||
                        (size.before == best_size.before && size.length > best_size.length)));
        if (better) {
            best = route;
            best_size = size;
        }
    }
    return best;
}

Test(policy_match, routes_as_a_search_of_all_entries_finds_them)
{
    unsigned seed = 3;
    uint32_t found = 0;
    for (int round = 0; round < 200; round++) {
        struct buf text;
        struct arena arena;
        struct name_index names;
        buf_init(&text, 0);
        arena_init(&arena, 4096, 0);
        cr_assert_eq(name_index_init(&names, &arena, 0), STATUS_OK);
        buf_append_text(&text, "limits: {}\nroutes:\n");
        for (uint32_t i = 0; i < 60; i++) {
            char pattern[12];
            size_t size = 1 + (size_t)rand_r(&seed) % 7;
            for (size_t at = 0; at < size; at++) {
                pattern[at] = "ab*"[rand_r(&seed) % 3];
            }
            pattern[size] = '\0';
            uint32_t before = 0;
            const char *kept = arena_copy(&arena, slice_text(pattern));
            cr_assert_eq(name_index_add(&names, 0, slice_text(kept), i, &before), STATUS_OK);
            if (before == NAME_INDEX_NONE) {
                buf_printf(&text, "  '%s': []\n", pattern);
            }
        }
        buf_append_byte(&text, '\0');
        struct policy_set *set = limits_text_set((const char *)buf_slice(&text).data);
        for (int i = 0; i < 300; i++) {
            uint8_t route[9];
            size_t size = 1 + (size_t)rand_r(&seed) % 8;
            for (size_t at = 0; at < size; at++) {
                route[at] = "ab"[rand_r(&seed) % 2];
            }
            const struct policy_route *expected = slow_route(set, slice_make(route, size));
            const struct policy_route *got = policy_match_route(set, slice_make(route, size));
            found += expected != NULL;
            cr_assert_eq(got, expected, "%.*s: %s, not %s in\n%s", (int)size, (char *)route,
                         got == NULL ? "none" : (const char *)got->pattern.data,
                         expected == NULL ? "none" : (const char *)expected->pattern.data,
                         (const char *)buf_slice(&text).data);
        }
        policy_set_destroy(&set);
        arena_deinit(&arena);
        buf_deinit(&text);
    }
    cr_assert_gt(found, 1000);
}

Test(policy_match, routes_are_normalised_in_the_file)
{
    struct policy_set *set = limits_text_set("limits: {}\n"
                                             "routes: {'GET //A/*/?q=1': [], 'PUT /b/': []}\n"
                                             "normalize_routes: [strip_query, merge_slashes, "
                                             "strip_trailing_slash, lowercase]\n");
    cr_expect_str_eq(matched(set, "get /a/x"), "get /a/*");
    cr_expect_str_eq(matched(set, "put /b"), "put /b");
    policy_set_destroy(&set);
}

#define LIMIT_OF(overrides)                                                                       \
    "limits:\n  a:\n    algorithm: token_bucket\n    limit: 5\n    window: 1m\n"                   \
    "    plans: {by: plan, values: {free: {limit: 100}, \"\": {limit: 101}}}\n"                    \
    "    overrides:\n" overrides "routes: {x: [a]}\n"

static struct request request_of(const char *key, const char *name, const char *value)
{
    struct request request = {.key = slice_text(key), .route = slice_text("x")};
    if (name != NULL) {
        request.attributes[request.attribute_count++] =
            (struct request_attribute){slice_text(name), slice_text(value)};
    }
    return request;
}

/* The limit in force, 0 where unlimited or blocked. */
static uint64_t in_force(const struct policy_set *set, const struct request *request,
                         int64_t now_ns)
{
    const struct policy_variant *variant =
        policy_match_variant(&set->limits[0], request, request->route, now_ns);
    return variant->kind == POLICY_NUMBERS ? limits_text_numbers(set, variant)->limit : 0;
}

static uint64_t in_force_of(const struct policy_set *set, const char *key, const char *name,
                            const char *value)
{
    struct request request = request_of(key, name, value);
    return in_force(set, &request, LIMITS_TEXT_NOW_NS);
}

Test(policy_match, overrides_in_file_order_and_before_plans)
{
    struct policy_set *set =
        limits_text_set(LIMIT_OF("    - {match: {key: 'k*', plan: free}, limit: 1}\n"
                                 "    - {match: {key: k2}, limit: 2}\n"
                                 "    - {match: {key: k2}, limit: 3}\n"
                                 "    - {match: {key: '*2'}, limit: 4}\n"
                                 "    - {match: {key: z}, blocked: true}\n"
                                 "    - {match: {team: '*'}, limit: 6}\n"));
    cr_expect_eq(in_force_of(set, "k1", "plan", "free"), 1);
    cr_expect_eq(in_force_of(set, "k2", "plan", "free"), 1);
    cr_expect_eq(in_force_of(set, "k2", "plan", "pro"), 2);
    cr_expect_eq(in_force_of(set, "k2", NULL, NULL), 2);
    cr_expect_eq(in_force_of(set, "x2", "plan", "free"), 4);
    cr_expect_eq(in_force_of(set, "z", "plan", "free"), 0);
    cr_expect_eq(in_force_of(set, "q", "plan", "free"), 100);
    cr_expect_eq(in_force_of(set, "q", "plan", ""), 101, "an empty value is a value");
    cr_expect_eq(in_force_of(set, "q", "plan", "gold"), 5);
    cr_expect_eq(in_force_of(set, "q", NULL, NULL), 5, "an absent attribute matches nothing");
    cr_expect_eq(in_force_of(set, "q", "team", ""), 6);
    policy_set_destroy(&set);
}

Test(policy_match, an_override_ends_at_its_until)
{
    struct policy_set *set =
        limits_text_set(LIMIT_OF("    - {match: {key: k}, limit: 1, until: 2026-01-01T00:00:10Z}\n"
                                 "    - {match: {key: k}, limit: 2, until: 2026-01-01T00:00:20Z}\n"
                                 "    - {match: {key: '*'}, limit: 3, until: "
                                 "2026-01-01T00:00:30Z}\n"));
    struct request request = request_of("k", NULL, NULL);
    static const uint64_t expected[4] = {1, 2, 3, 5};
    for (int i = 0; i < 4; i++) {
        int64_t start_ns = LIMITS_TEXT_NOW_NS + i * INT64_C(10000000000);
        cr_expect_eq(in_force(set, &request, start_ns), expected[i]);
        cr_expect_eq(in_force(set, &request, start_ns + INT64_C(9999999999)), expected[i]);
    }
    policy_set_destroy(&set);
}

Test(policy_match, an_exact_key_may_need_its_escapes)
{
    struct policy_set *set =
        limits_text_set(LIMIT_OF("    - {match: {key: 'a\\*'}, limit: 1}\n"
                                 "    - {match: {route: x, key: 'b'}, limit: 2}\n"));
    cr_expect_eq(in_force_of(set, "a*", NULL, NULL), 1);
    cr_expect_eq(in_force_of(set, "ab", NULL, NULL), 5);
    cr_expect_eq(in_force_of(set, "b", NULL, NULL), 2);
    policy_set_destroy(&set);
}

Test(policy_match, networks)
{
    struct policy_set *set = limits_text_set(
        LIMIT_OF("    - {match: {ip: {cidr: 10.0.0.0/8}}, limit: 1}\n"
                 "    - {match: {ip: {cidr: '2001:db8::/33'}}, limit: 2}\n"
                 "    - {match: {ip: {cidr: '::ffff:192.0.2.0/120'}}, limit: 3}\n"
                 "    - {match: {ip: {cidr: 198.51.100.7/32}}, limit: 4}\n"
                 "    - {match: {ip: {cidr: '::/0'}}, limit: 6}\n"
                 "    - {match: {key: {cidr: 0.0.0.0/0}}, limit: 7}\n"));
    cr_expect_eq(in_force_of(set, "k", "ip", "10.255.0.1"), 1);
    cr_expect_eq(in_force_of(set, "k", "ip", "::ffff:10.255.0.1"), 1);
    cr_expect_eq(in_force_of(set, "k", "ip", "11.0.0.1"), 5);
    cr_expect_eq(in_force_of(set, "k", "ip", "2001:db8:7fff::1"), 2);
    cr_expect_eq(in_force_of(set, "k", "ip", "2001:db8:8000::1"), 6);
    cr_expect_eq(in_force_of(set, "k", "ip", "192.0.2.9"), 3);
    cr_expect_eq(in_force_of(set, "k", "ip", "198.51.100.7"), 4);
    cr_expect_eq(in_force_of(set, "k", "ip", "198.51.100.8"), 5, "::/0 holds no IPv4 address");
    cr_expect_eq(in_force_of(set, "k", "ip", "fe80::1"), 6);
    cr_expect_eq(in_force_of(set, "k", "ip", "fe80::1%eth0"), 5);
    cr_expect_eq(in_force_of(set, "k", "ip", "10.0.0.1 "), 5);
    cr_expect_eq(in_force_of(set, "k", "ip", ""), 5);
    cr_expect_eq(in_force_of(set, "k", NULL, NULL), 5);
    cr_expect_eq(in_force_of(set, "1.2.3.4", NULL, NULL), 7);
    policy_set_destroy(&set);
}

/* The index is a short cut: with it and without, every key meets the same override. */
Test(policy_match, exact_keys_as_a_search_of_all_overrides_finds_them)
{
    unsigned seed = 5;
    struct buf text;
    buf_init(&text, 0);
    buf_append_text(&text, "limits:\n  a:\n    algorithm: token_bucket\n    limit: 5\n"
                           "    window: 1m\n    overrides:\n");
    for (uint32_t i = 0; i < 400; i++) {
        static const char *const ends[] = {"", "", "", "*"};
        static const char *const untils[] = {"", ", until: 2026-01-01T00:00:00Z", ""};
        buf_printf(&text, "    - {match: {key: 'k%d%s'}, limit: %u%s}\n", rand_r(&seed) % 150,
                   ends[rand_r(&seed) % 4], 1000 + i, untils[rand_r(&seed) % 3]);
    }
    buf_append(&text, "routes: {x: [a]}\n", 18);
    struct policy_set *set = NULL;
    char *said = limits_text_read(slice_make(buf_slice(&text).data, text.size - 1), &set);
    cr_assert_not_null(set, "%s", said);
    for (uint32_t i = 0; i < 200; i++) {
        char key[12];
        uint64_t expected = 5;
        (void)snprintf(key, sizeof(key), "k%u", i);
        for (uint32_t j = set->limits[0].override_count; j > 0; j--) {
            const struct policy_override *override = &set->limits[0].overrides[j - 1];
            bool in_time = override->until_ns > LIMITS_TEXT_NOW_NS;
            if (in_time && pattern_matches(override->tests[0].pattern, slice_text(key))) {
                expected = limits_text_numbers(set, &override->variant)->limit;
            }
        }
        cr_expect_eq(in_force_of(set, key, NULL, NULL), expected, "%s", key);
    }
    policy_set_destroy(&set);
    free(said);
    buf_deinit(&text);
}

Test(policy_match, parts_have_values)
{
    struct request request = request_of("k", "ip", "1.2.3.4");
    struct slice value;
    struct policy_part part = {.source = POLICY_KEY};
    cr_expect(policy_part_value(&part, &request, slice_text("r"), &value));
    cr_expect(slice_equal_text(value, "k"));
    part.source = POLICY_ROUTE;
    cr_expect(policy_part_value(&part, &request, slice_text("r"), &value));
    cr_expect(slice_equal_text(value, "r"));
    part = (struct policy_part){POLICY_ATTRIBUTE, slice_text("ip")};
    cr_expect(policy_part_value(&part, &request, slice_text("r"), &value));
    cr_expect(slice_equal_text(value, "1.2.3.4"));
    part.attribute = slice_text("i");
    cr_expect_not(policy_part_value(&part, &request, slice_text("r"), &value));
}

static void expect_address(const char *text)
{
    uint8_t expected[16] = {[10] = 0xff, [11] = 0xff};
    uint8_t got[16];
    bool is_v4 = false;
    bool v4 = inet_pton(AF_INET, text, expected + 12) == 1;
    bool any = v4 || inet_pton(AF_INET6, text, expected) == 1;
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    cr_assert_eq(policy_parse_address(slice_text(text), got, &is_v4), any, "%s", text);
    if (any) {
        cr_assert_arr_eq(got, expected, 16, "%s", text);
        cr_assert_eq(is_v4, memcmp(expected, mapped, 12) == 0, "%s", text);
    }
}

Test(policy_match, addresses_are_what_inet_pton_takes)
{
    static const char *const texts[] = {
        "0.0.0.0",          "255.255.255.255", "256.0.0.1",       "1.2.3",        "1.2.3.4.5",
        "01.2.3.4",         "1.2.3.04",        "1.2.3.4 ",        " 1.2.3.4",     "1..2.3",
        "1.2.3.",           ".1.2.3",          "::",              "::1",          "::ffff:1.2.3.4",
        "::ffff:102:304",   "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7",   "fe80::1%eth0", "[::1]",
        "1.2.3.4:80",       "",                "a",               "1e1.2.3.4",    "0x1.2.3.4",
        "::ffff:01.2.3.4",  "::1.2.3.4",       "000.0.0.0",       "1:2:3:4:5:6:1.2.3.4",
        NULL};
    unsigned seed = 13;
    for (int i = 0; texts[i] != NULL; i++) {
        expect_address(texts[i]);
    }
    for (int i = 0; i < 300000; i++) {
        char text[24];
        size_t size = (size_t)rand_r(&seed) % 16;
        for (size_t at = 0; at < size; at++) {
            text[at] = "0125.:f"[rand_r(&seed) % 7];
        }
        text[size] = '\0';
        expect_address(text);
    }
    uint8_t address[16];
    bool is_v4 = false;
    cr_expect_not(policy_parse_address(slice_make("1.2.3.4\0", 8), address, &is_v4));
    cr_expect_not(policy_parse_address(slice_make("::1\0", 4), address, &is_v4));
}
