/* The Redis protocol: CL.THROTTLE and SLUICE.* at a set clock. */
#include "resp_script.h"

Test(resp, throttle_counts_a_burst_of_five)
{
    struct fixture f;
    resp_fixture_init(&f);
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 10 50", 0, 5, 4, -1, 5);
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 10 50", 0, 5, 3, -1, 10);
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 10 50 3", 0, 5, 0, -1, 25);
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 10 50", 1, 5, 0, 5, 25);
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 10 50 0", 0, 5, 0, -1, 25);
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 10 50 6", 1, 5, 0, -1, 25);
    RESP_SCRIPT_THROTTLE(&f, 0.5, "k 4 10 50", 1, 5, 0, 5, 25);
    RESP_SCRIPT_THROTTLE(&f, 4.999, "k 4 10 50", 1, 5, 0, 1, 21);
    RESP_SCRIPT_THROTTLE(&f, 5, "k 4 10 50", 0, 5, 0, -1, 25);
    RESP_SCRIPT_THROTTLE(&f, 25, "k 4 10 50 5", 1, 5, 4, 5, 5);
    RESP_SCRIPT_THROTTLE(&f, 55, "k 4 10 50 0", 0, 5, 5, -1, 0);
    resp_fixture_deinit(&f);
}

Test(resp, throttle_dearer_than_its_capacity)
{
    struct fixture f;
    resp_fixture_init(&f);
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 1 1 1", 0, 5, 4, -1, 1);
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 1 1 5", 1, 5, 4, 1, 1);
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 1 1 6", 1, 5, 4, -1, 1);
    RESP_SCRIPT_THROTTLE(&f, 1, "k 4 1 1 5", 0, 5, 0, -1, 5);
    resp_fixture_deinit(&f);
}

/* A wait below a second is a second, never 0. */
Test(resp, throttle_waits_are_rounded_up)
{
    struct fixture f;
    resp_fixture_init(&f);
    RESP_SCRIPT_THROTTLE(&f, 0, "a 0 10 1", 0, 1, 0, -1, 1);
    RESP_SCRIPT_THROTTLE(&f, 0.001, "a 0 10 1", 1, 1, 0, 1, 1);
    RESP_SCRIPT_THROTTLE(&f, 0.099999, "a 0 10 1", 1, 1, 0, 1, 1);
    RESP_SCRIPT_THROTTLE(&f, 0.1, "a 0 10 1", 0, 1, 0, -1, 1);
    RESP_SCRIPT_THROTTLE(&f, 0, "b 0 2000 1", 0, 1, 0, -1, 1);
    RESP_SCRIPT_THROTTLE(&f, 0.0001, "b 0 2000 1", 1, 1, 0, 1, 1);
    resp_fixture_deinit(&f);
}

Test(resp, throttle_1502_times_at_one_instant)
{
    struct fixture f;
    resp_fixture_init(&f);
    for (int64_t i = 0; i < 1501; i++) {
        int64_t reset = ((i + 1) * 60 + 999) / 1000;
        RESP_SCRIPT_THROTTLE(&f, 0, "f 1500 1500 90", 0, 1501, 1500 - i, -1, reset);
    }
    RESP_SCRIPT_THROTTLE(&f, 0, "f 1500 1500 90", 1, 1501, 0, 1, 91);
    RESP_SCRIPT_THROTTLE(&f, 0.06, "f 1500 1500 90", 0, 1501, 0, -1, 91);
    resp_fixture_deinit(&f);
}

Test(resp, throttle_takes_what_it_says_and_no_more)
{
    struct fixture f;
    resp_fixture_init(&f);
    RESP_SCRIPT_THROTTLE(&f, 0, "top 999999999999998 999999999999999 1 1", 0, 999999999999999,
                         999999999999998, -1, 1);
    RESP_SCRIPT_THROTTLE(&f, 0, "far 999999999999998 1 315619200 999999999999999", 0,
                         999999999999999, 0, -1, 9223372037);
    RESP_SCRIPT_THROTTLE(&f, 0, "far 999999999999998 1 315619200", 1, 999999999999999, 0,
                         315619200, 9223372037);
    RESP_SCRIPT_THROTTLE(&f, 0, "most 4 10 50 9223372036854775807", 1, 5, 5, -1, 0);
    resp_fixture_deinit(&f);
}

Test(resp, throttle_says_which_argument_is_wrong)
{
    static const struct {
        const char *arguments;
        const char *error;
    } rows[] = {
        {"k -1 10 50", "max_burst: a whole number from 0 to 999999999999998 was expected"},
        {"k 999999999999999 1 1", "max_burst: a whole number from 0 to 999999999999998 was "
                                  "expected"},
        {"k 9223372036854775807 1 1", "max_burst: a whole number from 0 to 999999999999998 was "
                                      "expected"},
        {"k a b c", "max_burst: a whole number from 0 to 999999999999998 was expected"},
        {"k 4.5 10 50", "max_burst: a whole number from 0 to 999999999999998 was expected"},
        {"k \" 4\" 10 50", "max_burst: a whole number from 0 to 999999999999998 was expected"},
        {"k \"\" 10 50", "max_burst: a whole number from 0 to 999999999999998 was expected"},
        {"k 4 0 50", "count: a whole number from 1 to 999999999999999 was expected"},
        {"k 4 1000000000000000 50", "count: a whole number from 1 to 999999999999999 was "
                                    "expected"},
        {"k 4 10 0", "period: a whole number from 1 to 315619200 was expected"},
        {"k 4 10 315619201", "period: a whole number from 1 to 315619200 was expected"},
        {"k 4 10 50 -1", "quantity: a whole number from 0 to 9223372036854775807 was expected"},
        {"k 4 10 50 9223372036854775808", "quantity: a whole number from 0 to "
                                          "9223372036854775807 was expected"},
        {"\"\" 4 10 50", "key: 1 to 1024 bytes were expected, not 0"},
        {"k 4 10", "wrong number of arguments for 'cl.throttle' command"},
        {"k 4 10 50 1 1", "wrong number of arguments for 'cl.throttle' command"},
    };
    struct fixture f;
    resp_fixture_init(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[128];
        char reply[160];
        (void)snprintf(line, sizeof(line), "CL.THROTTLE %s", rows[i].arguments);
        (void)snprintf(reply, sizeof(reply), "-ERR %s\r\n", rows[i].error);
        resp_script_say(&f, line, reply);
    }
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 10 50 0", 0, 5, 5, -1, 0);
    cr_expect_eq(metrics_read_request_errors(f.metrics, METRICS_RESP, REQUEST_INVALID_ARGUMENT),
                 sizeof(rows) / sizeof(rows[0]));
    resp_fixture_deinit(&f);
}

Test(resp, del_forgets_throttle_keys_and_nothing_else)
{
    struct fixture f;
    resp_fixture_init(&f);
    RESP_SCRIPT_THROTTLE(&f, 0, "a 4 10 50 5", 0, 5, 0, -1, 25);
    RESP_SCRIPT_THROTTLE(&f, 0, "b 4 10 50 5", 0, 5, 0, -1, 25);
    resp_script_say(&f, "SLUICE.ALLOW a fw 3", "*8\r\n:1\r\n:3\r\n:0\r\n:-1\r\n:60000\r\n:0\r\n"
                                               "$2\r\nfw\r\n$11\r\nUNDER_LIMIT\r\n");
    resp_script_say(&f, "DEL a b a nobody", ":2\r\n");
    RESP_SCRIPT_THROTTLE(&f, 0, "a 4 10 50", 0, 5, 4, -1, 5);
    resp_script_say(&f, "SLUICE.ALLOW a fw 0", "*8\r\n:1\r\n:3\r\n:0\r\n:-1\r\n:60000\r\n:0\r\n"
                                               "$2\r\nfw\r\n$11\r\nUNDER_LIMIT\r\n");
    f.now_ns += INT64_C(5000000000);
    resp_script_say(&f, "DEL a", ":0\r\n"); /* empty again */
    resp_script_say(&f, "DEL", "-ERR wrong number of arguments for 'del' command\r\n");
    resp_script_say(&f, "DEL a \"\"", "-ERR key: 1 to 1024 bytes were expected, not 0\r\n");
    resp_fixture_deinit(&f);
}

Test(resp, allow_asks_the_limits_file)
{
    struct fixture f;
    resp_fixture_init(&f);
    resp_script_say(&f, "SLUICE.ALLOW k tb", "*8\r\n:1\r\n:5\r\n:4\r\n:-1\r\n:2000\r\n:0\r\n"
                                             "$2\r\ntb\r\n$11\r\nUNDER_LIMIT\r\n");
    resp_script_say(&f, "sluice.allow k tb 5", "*8\r\n:0\r\n:5\r\n:4\r\n:2000\r\n:2000\r\n:0\r\n"
                                               "$2\r\ntb\r\n$10\r\nOVER_LIMIT\r\n");
    resp_script_say(&f, "SLUICE.ALLOW k tb 6", "*8\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:2000\r\n:0\r\n"
                                               "$2\r\ntb\r\n$18\r\nCOST_EXCEEDS_LIMIT\r\n");
    resp_script_say(&f, "SLUICE.ALLOW k lb 2", "*8\r\n:1\r\n:4\r\n:2\r\n:-1\r\n:1000\r\n:0\r\n"
                                               "$2\r\nlb\r\n$11\r\nUNDER_LIMIT\r\n");
    resp_script_say(&f, "SLUICE.ALLOW k lb", "*8\r\n:1\r\n:4\r\n:1\r\n:-1\r\n:1500\r\n:1000\r\n"
                                             "$2\r\nlb\r\n$11\r\nUNDER_LIMIT\r\n");
    resp_script_say(&f, "SLUICE.ALLOW k ip 1 ATTR ip 192.0.2.1",
                    "*8\r\n:1\r\n:3\r\n:2\r\n:-1\r\n:60000\r\n:0\r\n$2\r\nip\r\n"
                    "$11\r\nUNDER_LIMIT\r\n");
    resp_script_say(&f, "SLUICE.ALLOW other ip attr ip 192.0.2.1",
                    "*8\r\n:1\r\n:3\r\n:1\r\n:-1\r\n:60000\r\n:0\r\n$2\r\nip\r\n"
                    "$11\r\nUNDER_LIMIT\r\n");
    resp_script_say(&f, "SLUICE.ALLOW k nowhere",
                    "*8\r\n:1\r\n:999999999999999\r\n:999999999999999\r\n:-1\r\n:-1\r\n:0\r\n"
                    "$0\r\n\r\n$8\r\nNO_LIMIT\r\n");
    cr_expect_eq(f.answered, 8);
    cr_expect_eq(metrics_read_requests(f.metrics, METRICS_RESP, METRICS_SHOULD_ALLOW), 8);
    resp_fixture_deinit(&f);
}

Test(resp, allow_says_what_is_wrong)
{
    static const char *const rows[][2] = {
        {"SLUICE.ALLOW k", "wrong number of arguments for 'sluice.allow' command"},
        {"SLUICE.ALLOW \"\" fw", "key: key is missing or empty; 1 to 1024 bytes were expected"},
        {"SLUICE.ALLOW k \"\"", "route: route is missing or empty; 1 to 1024 bytes were "
                                "expected"},
        {"SLUICE.ALLOW k fw -1", "cost: cost must be a whole number from 0 to "
                                 "9223372036854775807"},
        {"SLUICE.ALLOW k fw 18446744073709551616", "cost: cost must be a whole number from 0 to "
                                                   "9223372036854775807"},
        {"SLUICE.ALLOW k fw 9223372036854775808", "cost: cost must be a whole number from 0 to "
                                                  "9223372036854775807"},
        {"SLUICE.ALLOW k fw 1 2", "syntax error: expected ATTR, a name and a value behind the "
                                  "cost"},
        {"SLUICE.ALLOW k fw ATTR a", "syntax error: expected ATTR, a name and a value behind "
                                     "the route"},
        {"SLUICE.ALLOW k ip", "attributes.ip: limit \"ip\" counts by an attribute that the "
                              "request lacks"},
        {"SLUICE.ALLOW k fw ATTR \"a\\r\\n+b\" v ATTR \"a\\r\\n+b\" v",
         "attributes: an attribute is given twice"},
    };
    struct fixture f;
    resp_fixture_init(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char reply[256];
        (void)snprintf(reply, sizeof(reply), "-ERR %s\r\n", rows[i][1]);
        resp_script_say(&f, rows[i][0], reply);
    }
    resp_script_say(&f, "SLUICE.ALLOW k fw", "*8\r\n:1\r\n:3\r\n:2\r\n:-1\r\n:60000\r\n:0\r\n"
                                             "$2\r\nfw\r\n$11\r\nUNDER_LIMIT\r\n");
    resp_fixture_deinit(&f);
}

/* A peer's words in an error are one line, whatever bytes they have. */
Test(resp, allow_escapes_what_it_repeats)
{
    struct fixture f;
    struct buf said;
    buf_init(&said, 0);
    resp_fixture_init(&f);
    buf_append_text(&said, "SLUICE.ALLOW k fw ATTR \"a\\r\\n+b\" ");
    for (int i = 0; i <= LIMITS_KEY_BYTES_MAX; i++) {
        buf_append_byte(&said, 'v');
    }
    buf_append_text(&said, "\r\n");
    resp_script_bytes(&f, buf_slice(&said),
                      slice_text("-ERR attributes.a\\r\\n+b: the attribute's value has 1025 bytes; "
                                 "at most 1024 are taken\r\n"),
                      WIRE_MORE);
    resp_fixture_deinit(&f);
    buf_deinit(&said);
}

/* RB-06: units given back at 0, never above the limit. */
Test(resp, refund_and_reset)
{
    struct fixture f;
    resp_fixture_init(&f);
    resp_script_say(&f, "SLUICE.ALLOW k fw 3", "*8\r\n:1\r\n:3\r\n:0\r\n:-1\r\n:60000\r\n:0\r\n"
                                               "$2\r\nfw\r\n$11\r\nUNDER_LIMIT\r\n");
    resp_script_say(&f, "SLUICE.REFUND k fw 2",
                    "*8\r\n:1\r\n:3\r\n:2\r\n:-1\r\n:60000\r\n:0\r\n"
                    "$2\r\nfw\r\n$11\r\nUNDER_LIMIT\r\n");
    resp_script_say(&f, "SLUICE.REFUND k fw 100",
                    "*8\r\n:1\r\n:3\r\n:3\r\n:-1\r\n:60000\r\n:0\r\n"
                    "$2\r\nfw\r\n$11\r\nUNDER_LIMIT\r\n");
    resp_script_say(&f, "SLUICE.ALLOW k all", "*8\r\n:1\r\n:3\r\n:2\r\n:-1\r\n:60000\r\n:0\r\n"
                                              "$2\r\nfw\r\n$11\r\nUNDER_LIMIT\r\n");
    resp_script_say(&f, "SLUICE.RESET k all", ":3\r\n");
    resp_script_say(&f, "SLUICE.RESET k all", ":0\r\n");
    resp_script_say(&f, "SLUICE.RESET k all 1",
                    "-ERR syntax error: expected ATTR, a name and a value behind the route\r\n");
    resp_script_say(&f, "SLUICE.REFUND k fw -1",
                    "-ERR cost: cost must be a whole number from 0 to 9223372036854775807\r\n");
    cr_expect_eq(metrics_read_requests(f.metrics, METRICS_RESP, METRICS_REFUND), 3);
    cr_expect_eq(metrics_read_requests(f.metrics, METRICS_RESP, METRICS_RESET), 3);
    resp_fixture_deinit(&f);
}

Test(resp, changes_are_the_local_peers)
{
    struct fixture f;
    static const char *const lines[] = {"DEL k", "SLUICE.REFUND k fw 1", "SLUICE.RESET k fw"};
    resp_fixture_init(&f);
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 10 50", 0, 5, 4, -1, 5);
    f.peer.local = false;
    resp_fixture_close(&f);
    resp_fixture_open(&f);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        resp_script_say(&f, lines[i],
                        "-NOPERM this peer may not refund or reset (--allow-changes)\r\n");
    }
    RESP_SCRIPT_THROTTLE(&f, 0, "k 4 10 50", 0, 5, 3, -1, 10);
    f.config.allow_changes = WIRE_CHANGES_ALL;
    resp_script_say(&f, "DEL k", ":1\r\n");
    resp_fixture_deinit(&f);
}

/* Every length of number that a reply can have. */
Test(resp, numbers_of_all_lengths)
{
    struct fixture f;
    resp_fixture_init(&f);
    int64_t number = 1;
    for (int digits = 1; digits <= 15; digits++, number *= 10) {
        for (int64_t burst = number - 1; burst <= number + 1; burst++) {
            char line[80];
            if (burst > 999999999999998) {
                continue;
            }
            (void)snprintf(line, sizeof(line), "CL.THROTTLE %d.%lld %lld 1 1 0", digits,
                           (long long)burst, (long long)burst);
            resp_script_throttle(&f, 0, line,
                                 &(const int64_t[5]){0, burst + 1, burst + 1, -1, 0});
        }
    }
    resp_fixture_deinit(&f);
}
