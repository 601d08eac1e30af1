/* Each kind of error, with its place and its words. */
#include "limits_text.h"

#define A "  a: {algorithm: fixed_window, limit: 5, window: 60s}\n"
#define BUCKET "  a: {algorithm: token_bucket, limit: 5, window: 60s, "
#define ROUTES "routes: {x: [a]}\n"
#define WHOLE "; expected a whole number from 0 to 999999999999999\n"

Test(limits_file_errors, fields)
{
    limits_text_refused("limits:\n  a: {algorithm: fixed_window, limt: 5, window: 60s}\n" ROUTES,
                        "l.yaml:2:32: limit \"a\": unknown field \"limt\"; did you mean "
                        "\"limit\"?\n");
    limits_text_refused("limits:\n  a: {algorithm: fixed_window, limit: 5, window: 60s, wibble: "
                        "3}\n" ROUTES,
                        "l.yaml:2:55: limit \"a\": unknown field \"wibble\"\n");
    limits_text_refused("limits:\n  a: {}\n" ROUTES,
                        "l.yaml:2:3: limit \"a\": missing field \"algorithm\"\n"
                        "l.yaml:2:3: limit \"a\": missing field \"limit\"\n");
    limits_text_refused("limits:\n  a: {algorithm: fixed_window, limit: 5}\n" ROUTES,
                        "l.yaml:2:3: limit \"a\": missing field \"window\"\n");
    limits_text_refused("limits:\n  a: {algorithm: fixed_window, limit: 5, window: 1s, limit: "
                        "6}\n" ROUTES,
                        "l.yaml:2:54: limit \"a\": field \"limit\" stands here twice, first in "
                        "line 2\n");
    limits_text_refused("limits:\n  a: [5]\n" ROUTES,
                        "l.yaml:2:6: limit \"a\": expected a mapping with algorithm, limit and "
                        "window\n");
    limits_text_refused("limits:\n  a:\n" ROUTES,
                        "l.yaml:2:5: limit \"a\": expected a mapping with algorithm, limit and "
                        "window\n");
    limits_text_refused("limits:\n  a: {algorithm: fixed_window, limit: 5, window: 60s, [x]: "
                        "1}\n" ROUTES,
                        "l.yaml:2:55: limit \"a\": the name of a field is plain text\n");
}

Test(limits_file_errors, algorithms)
{
    limits_text_refused("limits:\n  a: {algorithm: fixed_windows, limit: 5, window: 60s}\n" ROUTES,
                        "l.yaml:2:18: limit \"a\": unknown algorithm \"fixed_windows\"; did you "
                        "mean \"fixed_window\"?\n");
    limits_text_refused("limits:\n  a: {algorithm: nope, limit: 5, window: 60s}\n" ROUTES,
                        "l.yaml:2:18: limit \"a\": unknown algorithm \"nope\"; expected "
                        "token_bucket, leaky_bucket, fixed_window, sliding_window_log or "
                        "sliding_window_counter\n");
    limits_text_refused("limits:\n  slots: {algorithm: concurrency, limit: 3, lease: 30s}\n"
                        "routes: {x: [slots]}\n",
                        "l.yaml:2:22: limit \"slots\": concurrency is not in this build\n");
    limits_text_refused("limits:\n  slots: {algorithm: concurrency, limit: 3, window: 30s}\n"
                        "routes: {x: [slots]}\n",
                        "l.yaml:2:3: limit \"slots\": missing field \"lease\"\n"
                        "l.yaml:2:22: limit \"slots\": concurrency is not in this build\n"
                        "l.yaml:2:45: limit \"slots\": concurrency has no window\n");
}

Test(limits_file_errors, fields_that_an_algorithm_lacks)
{
    limits_text_refused("limits:\n  a: {algorithm: fixed_window, limit: 5, burst: 3, window: "
                        "60s}\n" ROUTES,
                        "l.yaml:2:42: limit \"a\": fixed_window has no burst\n");
    limits_text_refused("limits:\n" BUCKET "lease: 3s}\n" ROUTES,
                        "l.yaml:2:55: limit \"a\": token_bucket has no lease\n");
    limits_text_refused("limits:\n" BUCKET "timezone: UTC}\n" ROUTES,
                        "l.yaml:2:55: limit \"a\": timezone needs a calendar window: day, week, "
                        "month or year\n");
    limits_text_refused("limits:\n  a: {algorithm: token_bucket, limit: 5, window: day}\n" ROUTES,
                        "l.yaml:2:50: limit \"a\": window: \"day\" is a calendar window, which "
                        "only fixed_window has\n");
    limits_text_refused("limits:\n  a: {algorithm: fixed_window, limit: 5, window: 60s, plans: "
                        "{by: p, values: {x: {burst: 5}}}}\n" ROUTES,
                        "l.yaml:2:83: limit \"a\": plan \"x\": fixed_window has no burst\n");
}

Test(limits_file_errors, bursts)
{
    limits_text_refused("limits:\n" BUCKET "burst: 0}\n" ROUTES,
                        "l.yaml:2:62: limit \"a\": burst: \"0\" is too small; expected a whole "
                        "number from 1 to 999999999999999\n");
    limits_text_refused("limits:\n  a: {algorithm: token_bucket, limit: 0, window: 60s, burst: "
                        "3}\n" ROUTES,
                        "l.yaml:2:55: limit \"a\": burst beside limit 0: what is closed has no "
                        "burst\n");
    limits_text_refused("limits:\n" BUCKET "plans: {by: p, values: {x: {limit: 0, burst: 1}}}}\n"
                        ROUTES,
                        "l.yaml:2:93: limit \"a\": plan \"x\": burst beside limit 0: what is "
                        "closed has no burst\n");
}

Test(limits_file_errors, zones)
{
    limits_text_refused("limits:\n  a: {algorithm: fixed_window, limit: 5, window: day, timezone: "
                        "Europe/Atlantis}\n" ROUTES,
                        "l.yaml:2:65: limit \"a\": timezone: \"Europe/Atlantis\" is unknown to "
                        "the time zone database in /usr/share/zoneinfo\n");
    limits_text_refused("limits:\n  a: {algorithm: fixed_window, limit: 5, window: day, timezone: "
                        "../../../etc/passwd}\n" ROUTES,
                        "l.yaml:2:65: limit \"a\": timezone: \"../../../etc/passwd\" is no name "
                        "of a time zone, such as Europe/Berlin\n");
}

Test(limits_file_errors, names)
{
    char name[70];
    char text[300];
    char expected[300];
    limits_text_refused("limits:\n  a b: {algorithm: fixed_window, limit: 5, window: 60s}\n"
                        "routes: {x: [a b]}\n",
                        "l.yaml:2:3: limit \"a b\": a limit's name is 1 to 64 of A-Z a-z 0-9 _ . "
                        "-\n");
    limits_text_refused("limits:\n" A A ROUTES,
                        "l.yaml:3:3: limit \"a\" is defined twice, first in line 2\n");
    for (size_t size = 64; size <= 65; size++) {
        memset(name, 'n', size);
        name[size] = '\0';
        (void)snprintf(text, sizeof(text),
                       "limits: {%s: {algorithm: fixed_window, limit: 5, window: 60s}}\n"
                       "routes: {x: [%s]}\n",
                       name, name);
        (void)snprintf(expected, sizeof(expected),
                       "l.yaml:1:10: limit \"%s\": a limit's name is 1 to 64 of A-Z a-z 0-9 _ . "
                       "-\n",
                       name);
        if (size == 64) {
            limits_text_accepted(text, "");
        } else {
            limits_text_refused(text, expected);
        }
    }
}

Test(limits_file_errors, identities)
{
    limits_text_refused("limits:\n" BUCKET "count_by: [key, ip, key]}\n" ROUTES,
                        "l.yaml:2:75: limit \"a\": count_by: \"key\" stands here twice\n");
    limits_text_refused("limits:\n" BUCKET "count_by: key}\n" ROUTES,
                        "l.yaml:2:65: limit \"a\": count_by: expected a list such as [key]\n");
    limits_text_refused("limits:\n" BUCKET "count_by: ['']}\n" ROUTES,
                        "l.yaml:2:66: limit \"a\": count_by: \"\" is no name of an attribute; "
                        "expected 1 to 64 bytes\n");
    limits_text_refused("limits:\n" BUCKET "ip_prefix: {v4: 33, v6: 129}}\n" ROUTES,
                        "l.yaml:2:71: limit \"a\": v4: \"33\" is too large; expected a whole "
                        "number from 0 to 32\n"
                        "l.yaml:2:79: limit \"a\": v6: \"129\" is too large; expected a whole "
                        "number from 0 to 128\n");
    limits_text_refused("limits:\n" BUCKET "ip_prefix: {of: ip}}\n" ROUTES,
                        "l.yaml:2:71: limit \"a\": of: \"ip\" is not in count_by\n");
    limits_text_refused("limits:\n" BUCKET "count_by: [key, ip], ip_prefix: {}}\n" ROUTES,
                        "l.yaml:2:87: limit \"a\": ip_prefix: missing field \"of\": count_by has "
                        "several parts\n");
    limits_text_refused("limits:\n" BUCKET "count_by: [], ip_prefix: {}}\n" ROUTES,
                        "l.yaml:2:80: limit \"a\": ip_prefix: missing field \"of\": count_by has "
                        "no part\n");
    limits_text_refused("limits:\n" BUCKET "count_by: [route], ip_prefix: {of: route}}\n" ROUTES,
                        "l.yaml:2:90: limit \"a\": ip_prefix: a route is no address\n");
    limits_text_accepted("limits:\n" BUCKET "count_by: [key, ip], ip_prefix: {of: ip}}\n" ROUTES,
                         "");
}

Test(limits_file_errors, plans)
{
    limits_text_refused("limits:\n" BUCKET "plans: {}}\n" ROUTES,
                        "l.yaml:2:62: limit \"a\": plans: missing field \"by\"\n"
                        "l.yaml:2:62: limit \"a\": plans: missing field \"values\"\n");
    limits_text_refused("limits:\n" BUCKET "plans: {by: key, values: {x: {limit: -1}}}}\n" ROUTES,
                        "l.yaml:2:67: limit \"a\": plans: by: expected the name of an attribute, "
                        "not key\n"
                        "l.yaml:2:92: limit \"a\": plan \"x\": limit: \"-1\" is negative" WHOLE);
    limits_text_refused("limits:\n" BUCKET "plans: {by: p, values: {x: {limit: 1}, x: {}}}}\n"
                        ROUTES,
                        "l.yaml:2:94: limit \"a\": plans: \"x\" stands here twice, first in line "
                        "2\n");
    limits_text_refused("limits:\n" BUCKET "plans: {by: p, values: {x: {limit: 1, unlimited: "
                        "true}}}}\n" ROUTES,
                        "l.yaml:2:83: limit \"a\": plan \"x\": numbers and unlimited exclude each "
                        "other\n");
    limits_text_refused("limits:\n" BUCKET "plans: {by: p, values: {x: {unlimited: true, blocked: "
                        "true}}}}\n" ROUTES,
                        "l.yaml:2:100: limit \"a\": plan \"x\": unlimited and blocked exclude "
                        "each other\n");
    limits_text_refused("limits:\n" BUCKET "plans: {by: p, values: {x: 60}}}\n" ROUTES,
                        "l.yaml:2:82: limit \"a\": plan \"x\": expected a mapping such as {limit: "
                        "60}\n");
}

Test(limits_file_errors, overrides)
{
    static const char start[] = "limits:\n" BUCKET "\n    overrides: [";
    static const struct {
        const char *override;
        const char *said;
    } cases[] = {
        {"{limit: 5}", "l.yaml:3:17: limit \"a\": override: missing field \"match\"\n"},
        {"{match: {}, limit: 5}",
         "l.yaml:3:25: limit \"a\": override: match: names nothing that could match\n"},
        {"{match: key, limit: 5}", "l.yaml:3:25: limit \"a\": override: match: expected a mapping "
                                   "such as {key: \"tenant-42\"}\n"},
        {"{match: {key: a, key: b}}", "l.yaml:3:34: limit \"a\": override: match: \"key\" stands "
                                      "here twice, first in line 3\n"},
        {"{match: {ip: {cidr: 10.1.2.3/8}}}",
         "l.yaml:3:37: limit \"a\": override: cidr: \"10.1.2.3/8\" has bits set beyond its "
         "prefix; the network is 10.0.0.0/8\n"},
        {"{match: {ip: {cidr: '2001:db8::1/32'}}}",
         "l.yaml:3:37: limit \"a\": override: cidr: \"2001:db8::1/32\" has bits set beyond its "
         "prefix; the network is 2001:db8:0:0:0:0:0:0/32\n"},
        {"{match: {ip: {cidr: 10.0.0.0/33}}}",
         "l.yaml:3:37: limit \"a\": override: cidr: \"10.0.0.0/33\" is no network; expected such "
         "as 10.0.0.0/8 or 2001:db8::/32\n"},
        {"{match: {ip: {cidr: 10.0.0.0}}}",
         "l.yaml:3:37: limit \"a\": override: cidr: \"10.0.0.0\" is no network; expected such as "
         "10.0.0.0/8 or 2001:db8::/32\n"},
        {"{match: {ip: {cdr: 10.0.0.0/8}}}", "l.yaml:3:31: limit \"a\": override: unknown field "
                                             "\"cdr\"; did you mean \"cidr\"?\n"},
        {"{match: {ip: {}}}",
         "l.yaml:3:30: limit \"a\": override: match: missing field \"cidr\"\n"},
        {"{match: {key: a}, blocked: true, burst: 3}",
         "l.yaml:3:50: limit \"a\": override: numbers and blocked exclude each other\n"},
        {"{match: {key: a}, utnil: 2030-01-01T00:00:00Z}",
         "l.yaml:3:35: limit \"a\": override: unknown field \"utnil\"; did you mean \"until\"?\n"},
        {"5", "l.yaml:3:17: limit \"a\": override: expected a mapping such as {match: {key: a}, "
              "limit: 9}\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];
        (void)snprintf(text, sizeof(text), "%s%s]}\n" ROUTES, start, cases[i].override);
        limits_text_refused(text, cases[i].said);
    }
    limits_text_refused("limits:\n" BUCKET "overrides: {}}\n" ROUTES,
                        "l.yaml:2:66: limit \"a\": override: overrides: expected a list of "
                        "overrides\n");
}

Test(limits_file_errors, routes)
{
    limits_text_refused("limits:\n" A "routes: {x: [a, b]}\n",
                        "l.yaml:3:17: route \"x\": unknown limit \"b\"\n");
    limits_text_refused("limits:\n  abc: {algorithm: fixed_window, limit: 5, window: 60s}\n"
                        "routes: {x: [abd]}\n",
                        "l.yaml:3:14: route \"x\": unknown limit \"abd\"; did you mean "
                        "\"abc\"?\n");
    limits_text_refused("limits:\n" A "routes: {x: [a, a]}\n",
                        "l.yaml:3:17: route \"x\": limit \"a\" stands here twice\n");
    limits_text_refused("limits:\n" A "routes:\n  x: [a]\n  x: []\n",
                        "l.yaml:5:3: route \"x\": the route stands here twice, first in line 4\n");
    limits_text_refused("limits:\n" A "routes: {x: a}\n",
                        "l.yaml:3:13: route \"x\": expected a list of limits such as [a, b], [] "
                        "for none, or {limits: [a], cost: 10}\n");
    limits_text_refused("limits:\n" A "routes: {x: {limits: [a], cost: 0}}\n",
                        "l.yaml:3:33: route \"x\": cost: \"0\" is too small; expected a whole "
                        "number from 1 to 999999999999999\n");
    limits_text_refused("limits:\n" A "routes: {x: {cost: 2}}\n",
                        "l.yaml:3:13: route \"x\": missing field \"limits\"\n");
    limits_text_refused("limits:\n" A "routes: {'a\\b': [a], '': [a]}\n",
                        "l.yaml:3:10: route \"a\\\\b\": in the route a \\ stands before neither * "
                        "nor \\\n"
                        "l.yaml:3:22: route \"\": a route has 1 to 1024 bytes\n");
    limits_text_refused("limits:\n" A "routes: [a]\n",
                        "l.yaml:3:9: routes: expected a mapping of routes to lists of limits, or "
                        "{}\n");
}

Test(limits_file_errors, at_most_sixteen_limits_in_a_route)
{
    for (uint32_t count = 16; count <= 17; count++) {
        struct buf text;
        buf_init(&text, 0);
        buf_append_text(&text, "limits:\n");
        for (uint32_t i = 0; i < 17; i++) {
            buf_printf(&text, "  l%02u: {algorithm: fixed_window, limit: 5, window: 60s}\n", i);
        }
        buf_append_text(&text, "routes:\n  rest: [l16]\n  x: [l00");
        for (uint32_t i = 1; i < count; i++) {
            buf_printf(&text, ", l%02u", i);
        }
        buf_append(&text, "]\n", 3);
        const char *whole = (const char *)buf_slice(&text).data;
        if (count == 16) {
            limits_text_accepted(whole, "");
        } else {
            limits_text_refused(whole,
                                "l.yaml:21:87: route \"x\": more than 16 limits in one route\n");
        }
        buf_deinit(&text);
    }
}

Test(limits_file_errors, lengths_of_routes_and_patterns)
{
    for (size_t size = 1024; size <= 1025; size++) {
        char route[1100];
        char text[2400];
        memset(route, 'r', size);
        route[size] = '\0';
        struct policy_set *set = NULL;
        (void)snprintf(text, sizeof(text), "limits: {}\nroutes:\n  ? \"%s\"\n  : []\n", route);
        char *said = limits_text_read(slice_text(text), &set);
        cr_expect_eq(set != NULL, size == 1024, "%zu: %s", size, said);
        policy_set_destroy(&set);
        free(said);
        (void)snprintf(text, sizeof(text),
                       "limits:\n" BUCKET "overrides: [{match: {k: \"%s*\"}}]}\n" ROUTES, route);
        said = limits_text_read(slice_text(text), &set);
        cr_expect_eq(set != NULL, size == 1024, "%zu: %s", size, said);
        policy_set_destroy(&set);
        free(said);
    }
}

Test(limits_file_errors, normalising)
{
    limits_text_refused("limits:\n" A ROUTES "normalize_routes: [lowercase, upcase]\n",
                        "l.yaml:4:31: normalize_routes: unknown word \"upcase\"; expected "
                        "lowercase, merge_slashes, strip_trailing_slash or strip_query\n");
    limits_text_refused("limits:\n" A ROUTES "normalize_routes: [lowercas]\n",
                        "l.yaml:4:20: normalize_routes: unknown word \"lowercas\"; did you mean "
                        "lowercase\n");
    limits_text_refused("limits:\n" A ROUTES "normalize_routes: lowercase\n",
                        "l.yaml:4:19: normalize_routes: expected a list of lowercase, "
                        "merge_slashes, strip_trailing_slash, strip_query\n");
    limits_text_refused("limits:\n" A ROUTES "normalize_routes: [lowercase, lowercase]\n",
                        "l.yaml:4:31: normalize_routes: \"lowercase\" stands here twice\n");
    limits_text_refused("limits:\n" A "routes:\n  GET /a: [a]\n  get /A: [a]\n"
                        "normalize_routes: [lowercase]\n",
                        "l.yaml:5:3: route \"get /A\": the route stands here twice, first in line "
                        "4, normalised \"get /a\"\n");
}

Test(limits_file_errors, the_top)
{
    limits_text_refused("limits: {}\n", "l.yaml:1:1: missing field \"routes\"; {} says that "
                                        "nothing is limited\n");
    limits_text_refused("routes: {}\n", "l.yaml:1:1: missing field \"limits\"\n");
    limits_text_refused("", "l.yaml:1:1: the file is empty; expected limits and routes\n");
    limits_text_refused("# nothing\n",
                        "l.yaml:1:1: the file is empty; expected limits and routes\n");
    limits_text_refused("- a\n", "l.yaml:1:1: expected a mapping with limits and routes\n");
    limits_text_refused("5\n", "l.yaml:1:1: expected a mapping with limits and routes\n");
    limits_text_refused("limits: [a]\nroutes: {}\n",
                        "l.yaml:1:9: limits: expected a mapping of names to limits\n");
    limits_text_refused("limits:\nroutes: {}\n",
                        "l.yaml:1:8: limits: expected a mapping of names to limits\n");
    limits_text_refused("limits: {}\nroutes: {}\nlimts: {}\n",
                        "l.yaml:3:1: unknown field \"limts\"; did you mean \"limits\"?\n");
    limits_text_refused("limits: {}\nroute: {}\n",
                        "l.yaml:2:1: unknown field \"route\"; did you mean \"routes\"?\n");
    limits_text_refused("limits: {}\nroutes: {}\nlimits: {}\n",
                        "l.yaml:3:1: field \"limits\" stands here twice, first in line 1\n");
}

Test(limits_file_errors, all_are_told_in_file_order)
{
    limits_text_refused("routes:\n"
                        "  x: [b]\n"
                        "limits:\n"
                        "  a: {algorithm: fixed_window, limit: -5, window: 60}\n"
                        "nothing: 1\n",
                        "l.yaml:2:7: route \"x\": unknown limit \"b\"\n"
                        "l.yaml:4:39: limit \"a\": limit: \"-5\" is negative" WHOLE
                        "l.yaml:4:51: limit \"a\": window: \"60\": needs a unit, such as 10s\n"
                        "l.yaml:5:1: unknown field \"nothing\"\n");
}

Test(limits_file_errors, twenty_are_told_and_the_rest_counted)
{
    for (uint32_t count = 20; count <= 27; count += 7) {
        struct buf text;
        struct buf expected;
        buf_init(&text, 0);
        buf_init(&expected, 0);
        buf_append_text(&text, "routes: {}\nlimits:\n");
        for (uint32_t i = 0; i < count; i++) {
            buf_printf(&text, "  l%u: {algorithm: fixed_window, limit: x, window: 60s}\n", i);
            if (i < 20) {
                buf_printf(&expected,
                           "l.yaml:%u:%u: limit \"l%u\": limit: \"x\" is no number" WHOLE, i + 3,
                           i < 10 ? 40 : 41, i);
            }
        }
        buf_append_text(&expected, count == 20 ? "" : "and 7 more\n");
        buf_append_byte(&text, '\0');
        buf_append_byte(&expected, '\0');
        limits_text_refused((const char *)buf_slice(&text).data,
                            (const char *)buf_slice(&expected).data);
        buf_deinit(&text);
        buf_deinit(&expected);
    }
}

Test(limits_file_errors, no_byte_of_the_file_is_shown_raw)
{
    limits_text_refused("limits: {}\nroutes: {}\n\"a\\e[31m\\nx\": 1\n",
                        "l.yaml:3:1: unknown field \"a\\x1b[31m\\nx\"\n");
}
