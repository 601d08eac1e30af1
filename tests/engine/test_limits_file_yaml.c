/* The YAML under a limits file: places in bytes, what breaks off, aliases, and their bounds. */
#include "limits_text.h"

#include "base/clock.h"

#define A "  a: {algorithm: fixed_window, limit: 5, window: 60s}\n"
#define ROUTES "routes: {x: [a]}\n"

static void accepted_bytes(const char *bytes, size_t size)
{
    struct policy_set *set = NULL;
    char *said = limits_text_read(slice_make(bytes, size), &set);
    cr_expect_not_null(set, "%s", said);
    cr_expect_str_empty(said);
    policy_set_destroy(&set);
    free(said);
}

static void refused_bytes(const char *bytes, size_t size, const char *expected)
{
    struct policy_set *set = NULL;
    char *said = limits_text_read(slice_make(bytes, size), &set);
    cr_expect_null(set);
    cr_expect_str_eq(said, expected, "said:\n%sexpected:\n%s", said, expected);
    free(said);
}

Test(limits_file_yaml, marks_and_line_ends)
{
    static const char text[] = "\xef\xbb\xbflimits:\r\n  a: {algorithm: fixed_window, limit: 5, "
                               "window: 60s}\r\nroutes: {x: [a]}\r\n";
    static const char bad[] = "\xef\xbb\xbflimits:\r\n  a: {algorithm: fixed_window, limit: x, "
                              "window: 60s}\r\nroutes: {x: [b]}\r\n";
    static const char old[] = "limits: {}\rroutes: {x: [b]}\r";
    accepted_bytes(text, sizeof(text) - 1);
    accepted_bytes(text, sizeof(text) - 3);
    refused_bytes(bad, sizeof(bad) - 1,
                  "l.yaml:2:39: limit \"a\": limit: \"x\" is no number; expected a whole number "
                  "from 0 to 999999999999999\n"
                  "l.yaml:3:14: route \"x\": unknown limit \"b\"\n");
    refused_bytes(old, sizeof(old) - 1, "l.yaml:2:14: route \"x\": unknown limit \"b\"\n");
    limits_text_accepted("%YAML 1.2\n---\nlimits: {}\nroutes: {}\n...\n", "");
}

Test(limits_file_yaml, columns_count_bytes)
{
    limits_text_refused("limits: {}\nroutes: {\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\": [b]}\n",
                        "l.yaml:2:24: route \"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\": unknown "
                        "limit \"b\"\n");
    limits_text_refused("# \xe2\x80\xa8# no line ends here\nlimits: {}\nroutes: {x: [b]}\n",
                        "l.yaml:3:14: route \"x\": unknown limit \"b\"\n");
}

Test(limits_file_yaml, what_is_no_text)
{
    static const char bad[] = "limits:\n  \xff: 1\n";
    static const char cut[] = "limits:\n  a\xe2\x82";
    static const char control[] = "limits: {}\nroutes: {}\n# \x01\n";
    static const char nul[] = "limits: {}\0\nroutes: {}\n";
    static const char utf16[] = "\xff\xfel\0i\0";
    refused_bytes(bad, sizeof(bad) - 1, "l.yaml:2:3: not UTF-8 text\n");
    refused_bytes(cut, sizeof(cut) - 1, "l.yaml:2:4: not UTF-8 text\n");
    refused_bytes(control, sizeof(control) - 1,
                  "l.yaml:3:3: a control character cannot stand in a limits file\n");
    refused_bytes(nul, sizeof(nul) - 1,
                  "l.yaml:1:11: a control character cannot stand in a limits file\n");
    refused_bytes(utf16, sizeof(utf16) - 1, "l.yaml:1:1: not UTF-8 text\n");
}

Test(limits_file_yaml, errors_before_bad_text_are_told_first)
{
    static const char bad[] = "limits:\n  a: {algorithm: nope, limit: 5, window: 60s}\nroutes:\n"
                              "  x: [a]\n  \xff: 1\n";
    refused_bytes(bad, sizeof(bad) - 1,
                  "l.yaml:2:18: limit \"a\": unknown algorithm \"nope\"; expected token_bucket, "
                  "leaky_bucket, fixed_window, sliding_window_log or sliding_window_counter\n"
                  "l.yaml:5:3: not UTF-8 text\n");
}

Test(limits_file_yaml, tabs)
{
    limits_text_refused("limits:\n\ta: {algorithm: fixed_window, limit: 5, window: 60s}\n" ROUTES,
                        "l.yaml:2:1: a tab cannot stand here; indent with spaces\n");
    limits_text_refused("limits:\n  a: {algorithm: fixed_window,\n\tlimit: 5,\n  \twindow: 60s}\n"
                        ROUTES,
                        "l.yaml:3:1: a tab cannot indent; use spaces\n"
                        "l.yaml:4:3: a tab cannot indent; use spaces\n");
    limits_text_accepted("limits:\t{}\nroutes:\t{}\t# a tab between words is none\n", "");
}

Test(limits_file_yaml, a_syntax_error_is_the_last)
{
    limits_text_refused("limits:\n"
                        "  a: {algorithm: fixed_window, limit: -1, window: 60s}\n"
                        "routes:\n"
                        "  \"*\": [a]\n"
                        "  ]\n",
                        "l.yaml:2:39: limit \"a\": limit: \"-1\" is negative; expected a whole "
                        "number from 0 to 999999999999999\n"
                        "l.yaml:5:3: not valid YAML: did not find expected key while "
                        "parsing a block mapping\n");
}

/* Of half a file nothing is said but that it breaks off, wherever it does. */
Test(limits_file_yaml, half_a_file_is_refused_without_inventions)
{
    static const char whole[] =
        "limits:\n"
        "  a: {algorithm: token_bucket, limit: 5, window: 60s, plans: {by: p, values: {x: {limit: "
        "1}}}, overrides: [{match: {key: \"k\"}, blocked: true}]}\n"
        "routes: {\"*\": [a], \"x\": {limits: [a], cost: 3}}\n";
    size_t size = strlen(whole);
    size_t flow = (size_t)(strstr(whole, "{algo") - whole) + 1;
    size_t routes = (size_t)(strstr(whole, "routes") - whole);
    for (size_t cut = 0; cut < size - 1; cut++) {
        struct policy_set *set = NULL;
        char *said = limits_text_read(slice_make(whole, cut), &set);
        cr_expect_null(set, "%zu", cut);
        cr_expect(strncmp(said, "l.yaml:", 7) == 0, "%zu: %s", cut, said);
        bool in_limit = cut >= flow && cut < routes - 1;
        bool in_routes = cut > routes + strlen("routes: ") && cut < size - 2;
        if (in_limit || in_routes) {
            cr_expect_not_null(strstr(said, "not valid YAML"), "%zu: %s", cut, said);
            cr_expect_eq(strchr(said, '\n'), said + strlen(said) - 1, "%zu: %s", cut, said);
        }
        free(said);
    }
}

Test(limits_file_yaml, one_document)
{
    limits_text_refused("limits:\n" A ROUTES "---\nlimits: {}\nroutes: {}\n",
                        "l.yaml:4:1: a second YAML document begins here; a limits file is one\n");
    limits_text_refused("limits:\n  a: {algorithm: fixed_window, limit: x, window: 60s}\n" ROUTES
                        "...\n---\n",
                        "l.yaml:2:39: limit \"a\": limit: \"x\" is no number; expected a whole "
                        "number from 0 to 999999999999999\n"
                        "l.yaml:5:1: a second YAML document begins here; a limits file is one\n");
}

Test(limits_file_yaml, tags)
{
    limits_text_accepted("limits:\n  a: !!map {algorithm: !!str fixed_window, limit: !!int 5, "
                         "window: ! 60s}\n" ROUTES,
                         "");
    limits_text_refused("limits: !include other.yaml\nroutes: {}\n",
                        "l.yaml:1:9: the tag \"!include\" has no meaning in a limits file\n"
                        "l.yaml:1:9: limits: expected a mapping of names to limits\n");
}

Test(limits_file_yaml, anchors_aliases_and_merge_keys)
{
    struct policy_set *set =
        limits_text_set("limits:\n"
                        "  a: &a {algorithm: token_bucket, limit: &five 5, window: 60s}\n"
                        "  b: *a\n"
                        "  c: {<<: *a, limit: 6}\n"
                        "  d: {<<: [{limit: 7, burst: 2}, *a]}\n"
                        "  e: {<<: {<<: *a, burst: *five}, limit: 9}\n"
                        "routes: {x: [a, b, c, d, e]}\n");
    static const uint64_t expected[5][2] = {{5, 5}, {5, 5}, {6, 6}, {7, 2}, {9, 5}};
    cr_assert_eq(set->limit_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        cr_expect_eq(set->limits[i].limit, expected[i][0], "%u", i);
        cr_expect_eq(set->limits[i].burst, expected[i][1], "%u", i);
        cr_expect_eq(set->limits[i].window_ns, INT64_C(60000000000));
    }
    policy_set_destroy(&set);
}

Test(limits_file_yaml, bad_aliases_and_merges)
{
    limits_text_refused("limits: {}\nroutes: {x: *y}\n",
                        "l.yaml:2:13: no anchor of this name was set before; text that "
                        "begins with * needs quotes\n");
    limits_text_refused("limits: {}\nroutes:\n  *: []\n",
                        "l.yaml:3:3: text that begins with * needs quotes\n");
    limits_text_refused("limits: &x {a: *x}\nroutes: {}\n",
                        "l.yaml:1:16: an alias stands inside what it repeats\n");
    limits_text_refused("limits: {<<: 5}\nroutes: {}\n",
                        "l.yaml:1:14: <<: expected a mapping or a list of mappings to merge\n");
    limits_text_refused("limits: {<<: [{}, 5]}\nroutes: {}\n",
                        "l.yaml:1:19: <<: expected a mapping or a list of mappings to merge\n");
    limits_text_refused("x: &x {}\nlimits: {<<: *x, <<: *x}\nroutes: {}\n",
                        "l.yaml:1:1: unknown field \"x\"\n"
                        "l.yaml:2:18: << stands here twice; give it a list of mappings\n");
}

/* What an error in a repeated part says names each place that repeats it. */
Test(limits_file_yaml, an_error_in_an_anchor_is_told_for_each_use)
{
    limits_text_refused("limits:\n"
                        "  a: &a {algorithm: token_bucket, limit: x, window: 60s}\n"
                        "  b: *a\n"
                        "routes: {x: [a, b]}\n",
                        "l.yaml:2:42: limit \"a\": limit: \"x\" is no number; expected a whole "
                        "number from 0 to 999999999999999\n"
                        "l.yaml:2:42: limit \"b\": limit: \"x\" is no number; expected a whole "
                        "number from 0 to 999999999999999\n");
}

static void expect_within(int64_t ticks_ns, int64_t most_ms)
{
    int64_t took_ms = (clock_ticks_ns() - ticks_ns) / 1000000;
    cr_expect_leq(took_ms, most_ms, "took %lld ms", (long long)took_ms);
}

Test(limits_file_yaml, an_alias_bomb_is_refused)
{
    struct buf text;
    buf_init(&text, 0);
    buf_append_text(&text, "limits: {}\nroutes: {}\nx0: &x0 [a, a, a, a, a, a, a, a, a, a]\n");
    for (int i = 1; i < 10; i++) {
        buf_printf(&text, "x%d: &x%d [", i, i);
        for (int j = 0; j < 10; j++) {
            buf_printf(&text, "%s*x%d", j == 0 ? "" : ", ", i - 1);
        }
        buf_append_text(&text, "]\n");
    }
    struct policy_set *set = NULL;
    int64_t ticks_ns = clock_ticks_ns();
    char *said = limits_text_read(buf_slice(&text), &set);
    expect_within(ticks_ns, 500);
    cr_expect_null(set);
    cr_expect_not_null(strstr(said, ": anchors and aliases add more than 100000 values\n"), "%s",
                       said);
    free(said);
    buf_deinit(&text);
}

/* 100000 values may be added, and not one more. */
Test(limits_file_yaml, aliases_may_add_a_hundred_thousand_values)
{
    for (uint32_t more = 0; more < 2; more++) {
        struct buf text;
        buf_init(&text, 0);
        buf_append_text(&text, "limits: {}\nroutes:\n  ? a\n  : &n []\n");
        for (uint32_t i = 0; i < 100000 + more; i++) {
            buf_printf(&text, "  r%u: *n\n", i);
        }
        struct policy_set *set = NULL;
        char *said = limits_text_read(buf_slice(&text), &set);
        cr_expect_eq(set != NULL, more == 0, "%s", said);
        cr_expect_str_eq(said, more == 0 ? ""
                                         : "l.yaml:100005:12: anchors and aliases add more than "
                                           "100000 values\n");
        policy_set_destroy(&set);
        free(said);
        buf_deinit(&text);
    }
}

Test(limits_file_yaml, depth_is_bounded)
{
    static char text[200100];
    memset(text, '[', sizeof(text));
    memcpy(text, "limits: ", 8);
    int64_t ticks_ns = clock_ticks_ns();
    refused_bytes(text, 200008,
                  "l.yaml:1:9: limits: expected a mapping of names to limits\n"
                  "l.yaml:1:24: lists and mappings are nested more than 16 deep\n");
    expect_within(ticks_ns, 500);
}

static void depth_text(char *out, size_t size, uint32_t lists)
{
    size_t at = (size_t)snprintf(out, size, "limits: {}\nroutes: {}\nx: ");
    for (uint32_t i = 0; i < lists; i++) {
        out[at++] = '[';
    }
    for (uint32_t i = 0; i < lists; i++) {
        out[at++] = ']';
    }
    (void)snprintf(out + at, size - at, "\n");
}

Test(limits_file_yaml, sixteen_deep_is_read)
{
    char text[200];
    depth_text(text, sizeof(text), 15);
    limits_text_refused(text, "l.yaml:3:1: unknown field \"x\"\n");
    depth_text(text, sizeof(text), 16);
    limits_text_refused(text, "l.yaml:3:1: unknown field \"x\"\n"
                              "l.yaml:3:19: lists and mappings are nested more than 16 deep\n");
    limits_text_refused("limits: {}\nroutes: {}\nx: &x [[[[[[[[[]]]]]]]]]\ny: [[[[[[*x]]]]]]\n",
                        "l.yaml:3:1: unknown field \"x\"\nl.yaml:4:1: unknown field \"y\"\n");
    limits_text_refused("limits: {}\nroutes: {}\nx: &x [[[[[[[[[]]]]]]]]]\ny: [[[[[[[*x]]]]]]]\n",
                        "l.yaml:3:1: unknown field \"x\"\n"
                        "l.yaml:4:1: unknown field \"y\"\n"
                        "l.yaml:4:11: lists and mappings are nested more than 16 deep by this "
                        "alias\n");
}

Test(limits_file_yaml, size_is_bounded)
{
    size_t size = LIMITS_FILE_BYTES_MAX + (size_t)1;
    char *text = malloc(size);
    cr_assert_not_null(text);
    memset(text, '\n', size);
    memcpy(text, "limits: {}\nroutes: {}\n", 22);
    refused_bytes(text, size, "l.yaml: larger than a limits file may be (64 MiB)\n");
    accepted_bytes(text, size - 1);
    free(text);
}

Test(limits_file_yaml, directives_are_bounded)
{
    struct buf text;
    buf_init(&text, 0);
    for (uint32_t i = 0; i < 200000; i++) {
        buf_printf(&text, "%%TAG !a%u! x\n", i);
    }
    buf_append_text(&text, "---\nlimits: {}\nroutes: {}\n");
    int64_t ticks_ns = clock_ticks_ns();
    refused_bytes((const char *)buf_slice(&text).data, text.size,
                  "l.yaml:65:1: more %TAG directives than a limits file may have\n");
    expect_within(ticks_ns, 500);
    buf_deinit(&text);
    limits_text_accepted("%TAG !y! tag:yaml.org,2002:\n---\nlimits: !y!map {}\nroutes: {}\n", "");
}
