/* Patterns against a slow matcher that is evidently right, and normalising against itself. */
#include "engine/pattern.h"

#include "engine/policy.h"

#include <criterion/criterion.h>

#include <stdlib.h>

/* One alternative after the other. */
static bool slow_match(const uint16_t *tokens, uint32_t count, struct slice text)
{
    if (count == 0) {
        return text.size == 0;
    }
    struct slice rest = text.size == 0 ? text : slice_make(text.data + 1, text.size - 1);
    if (tokens[0] == PATTERN_STAR) {
        return slow_match(tokens + 1, count - 1, text) ||
               (text.size > 0 && slow_match(tokens, count, rest));
    }
    return text.size > 0 && text.data[0] == tokens[0] && slow_match(tokens + 1, count - 1, rest);
}

static struct slice random_text(unsigned *seed, const char *letters, uint8_t *out, size_t most)
{
    size_t size = (size_t)rand_r(seed) % (most + 1);
    for (size_t i = 0; i < size; i++) {
        out[i] = (uint8_t)letters[(size_t)rand_r(seed) % strlen(letters)];
    }
    return slice_make(out, size);
}

Test(pattern, matches_like_the_slow_matcher)
{
    unsigned seed = 7;
    uint32_t matched = 0;
    for (int i = 0; i < 200000; i++) {
        uint8_t pattern_bytes[12];
        uint8_t text_bytes[12];
        uint16_t tokens[12];
        uint32_t count = 0;
        struct slice pattern = random_text(&seed, "ab*\\/", pattern_bytes, 9);
        struct slice text = random_text(&seed, "ab*\\/", text_bytes, 9);
        if (!pattern_decode(pattern, tokens, &count)) {
            continue;
        }
        bool expected = slow_match(tokens, count, text);
        matched += expected;
        cr_assert_eq(pattern_matches(pattern, text), expected, "%.*s against %.*s",
                     (int)pattern.size, (const char *)pattern.data, (int)text.size,
                     (const char *)text.data);
        uint32_t collapsed = pattern_collapse_stars(tokens, count);
        cr_assert_eq(slow_match(tokens, collapsed, text), expected);
    }
    cr_assert_gt(matched, 1000);
}

Test(pattern, many_stars_take_no_exponential_time)
{
    uint8_t text[1024];
    uint8_t pattern[1024];
    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i < sizeof(pattern); i++) {
        pattern[i] = i % 2 == 0 ? 'a' : '*';
    }
    pattern[1022] = 'b';
    cr_expect_not(
        pattern_matches(slice_make(pattern, sizeof(pattern)), slice_make(text, sizeof(text))));
}

Test(pattern, comes_back_as_it_was_written)
{
    static const char *const patterns[] = {"", "a", "*", "a*b", "\\*", "\\\\", "a\\**\\\\*", NULL};
    for (int i = 0; patterns[i] != NULL; i++) {
        uint16_t tokens[16];
        uint8_t out[32];
        uint32_t count = 0;
        cr_assert(pattern_decode(slice_text(patterns[i]), tokens, &count));
        size_t size = pattern_encode(tokens, count, out);
        cr_expect(slice_equal_text(slice_make(out, size), patterns[i]), "%s", patterns[i]);
    }
}

Test(pattern, literal_start_and_count)
{
    uint16_t tokens[16];
    uint8_t literal[16];
    uint32_t count = 0;
    bool exact = true;
    cr_assert(pattern_decode(slice_text("a\\*b*c"), tokens, &count));
    cr_expect_eq(count, 5);
    cr_expect_eq(pattern_literal_count(tokens, count), 4);
    size_t size = pattern_literal(tokens, count, literal, &exact);
    cr_expect_not(exact);
    cr_expect(slice_equal_text(slice_make(literal, size), "a*b"));
    cr_assert(pattern_decode(slice_text("a\\\\b"), tokens, &count));
    size = pattern_literal(tokens, count, literal, &exact);
    cr_expect(exact);
    cr_expect(slice_equal_text(slice_make(literal, size), "a\\b"));
}

Test(pattern, a_backslash_stands_before_a_star_or_another)
{
    static const char *const bad[] = {"\\", "a\\", "\\a", "\\\\\\", "*\\/", NULL};
    for (int i = 0; bad[i] != NULL; i++) {
        uint16_t tokens[16];
        uint32_t count = 0;
        cr_expect_not(pattern_decode(slice_text(bad[i]), tokens, &count), "%s", bad[i]);
    }
}

/* A pattern without stars and a route are normalised in two functions: they must agree. */
Test(pattern, is_normalised_like_a_route)
{
    unsigned seed = 11;
    uint32_t changed = 0;
    for (int i = 0; i < 200000; i++) {
        uint8_t bytes[16];
        uint8_t scratch[16];
        uint8_t out[32];
        uint16_t tokens[16];
        uint32_t count = 0;
        bool exact = false;
        struct policy_set set = {.normalise = (unsigned)rand_r(&seed) % 16};
        struct slice route = random_text(&seed, "aB/?/ ", bytes, 12);
        struct slice normal = policy_normalise_route(&set, route, scratch);
        cr_assert(pattern_decode(route, tokens, &count));
        count = pattern_normalise(tokens, count, set.normalise);
        size_t size = pattern_literal(tokens, count, out, &exact);
        cr_assert(exact && slice_equal(slice_make(out, size), normal), "%.*s with %u: %.*s",
                  (int)route.size, (const char *)route.data, set.normalise, (int)normal.size,
                  (const char *)normal.data);
        cr_assert_eq(normal.data == route.data, slice_equal(route, normal),
                     "unchanged bytes are the caller's own");
        changed += !slice_equal(route, normal);
    }
    cr_assert_gt(changed, 10000);
}

static void expect_normal(unsigned normalise, const char *route, const char *expected)
{
    uint8_t scratch[64];
    struct policy_set set = {.normalise = normalise};
    struct slice normal = policy_normalise_route(&set, slice_text(route), scratch);
    cr_expect(slice_equal_text(normal, expected), "%s: %.*s", route, (int)normal.size,
              (const char *)normal.data);
}

Test(pattern, the_steps_of_normalising)
{
    const unsigned all = POLICY_STRIP_QUERY | POLICY_MERGE_SLASHES | POLICY_STRIP_TRAILING_SLASH |
                         POLICY_LOWERCASE;
    expect_normal(0, "GET //A/?b", "GET //A/?b");
    expect_normal(all, "GET //A//?b/?c", "get /a");
    expect_normal(all, "GET /?", "get /");
    expect_normal(all, "GET ///", "get /");
    expect_normal(POLICY_STRIP_QUERY, "GET /a/?b?c", "GET /a/");
    expect_normal(POLICY_STRIP_QUERY, "?", "");
    expect_normal(POLICY_MERGE_SLASHES, "GET //a///b/", "GET /a/b/");
    expect_normal(POLICY_STRIP_TRAILING_SLASH, "GET /a/", "GET /a");
    expect_normal(POLICY_STRIP_TRAILING_SLASH, "GET /", "GET /");
    expect_normal(POLICY_STRIP_TRAILING_SLASH, "/", "/");
    expect_normal(POLICY_STRIP_TRAILING_SLASH, "GET /a/?b", "GET /a/?b");
    expect_normal(POLICY_STRIP_TRAILING_SLASH | POLICY_STRIP_QUERY, "GET /a/?b", "GET /a");
    expect_normal(POLICY_LOWERCASE, "GET /\xc3\x84\x5a", "get /\xc3\x84z");
}
