/* What client libraries send before their first question. */
#include "resp_script.h"

/* What follows `before` in a reply, as a number. */
static long long number_behind(struct fixture *f, const char *said, const char *before)
{
    struct buf out;
    buf_init(&out, 0);
    cr_assert_eq(resp_fixture_feed(f, slice_text(said), &out), WIRE_MORE);
    buf_append_byte(&out, '\0');
    const char *at = strstr((const char *)buf_slice(&out).data, before);
    cr_assert_not_null(at, "%s: %s", said, (const char *)buf_slice(&out).data);
    long long number = atoll(at + strlen(before));
    buf_deinit(&out);
    return number;
}

Test(resp_greeting, hello_in_both_versions)
{
    struct fixture f;
    char reply[512];
    resp_fixture_init(&f);
    long long id = number_behind(&f, "CLIENT ID\r\n", ":");
    cr_expect_gt(id, 0);
    cr_expect_lt(id, (1LL << 53) + 1);
    for (int version = 2; version <= 3; version++) {
        char line[16];
        (void)snprintf(line, sizeof(line), "hello %d", version);
        (void)snprintf(reply, sizeof(reply),
                       "%s\r\n$6\r\nserver\r\n$6\r\nsluice\r\n$7\r\nversion\r\n$%zu\r\n%s\r\n"
                       "$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n:%lld\r\n$4\r\nmode\r\n"
                       "$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
                       "$7\r\nmodules\r\n*0\r\n",
                       version == 3 ? "%7" : "*14", strlen(SLUICE_VERSION), SLUICE_VERSION,
                       version, id);
        resp_script_say(&f, line, reply);
        resp_script_say(&f, "HELLO", reply); /* keeps the version */
    }
    resp_script_say(&f, "HELLO 4", "-NOPROTO unsupported protocol version\r\n");
    resp_script_say(&f, "HELLO x", "-NOPROTO unsupported protocol version\r\n");
    resp_script_say(&f, "HELLO 2 WHAT", "-ERR Syntax error in HELLO: expected AUTH user token or "
                                        "SETNAME name behind the version\r\n");
    resp_script_say(&f, "HELLO", reply); /* and nothing of those changed it */
    resp_fixture_deinit(&f);
}

Test(resp_greeting, hello_with_a_name)
{
    struct fixture f;
    resp_fixture_init(&f);
    cr_expect_eq(number_behind(&f, "HELLO 3 AUTH default x SETNAME me\r\n", "proto\r\n:"), 3);
    resp_script_say(&f, "CLIENT GETNAME", "$2\r\nme\r\n");
    resp_script_say(&f, "HELLO 3 SETNAME \"a b\"", "-ERR Client names cannot contain spaces, "
                                                   "newlines or special characters.\r\n");
    resp_script_say(&f, "CLIENT GETNAME", "$2\r\nme\r\n");
    resp_script_say(&f, "RESET", "+RESET\r\n");
    resp_script_say(&f, "CLIENT GETNAME", "$-1\r\n");
    cr_expect_eq(number_behind(&f, "HELLO\r\n", "proto\r\n:"), 2);
    resp_fixture_deinit(&f);
}

Test(resp_greeting, small_commands)
{
    static const char *const rows[][2] = {
        {"PING", "+PONG\r\n"},
        {"ping hello", "$5\r\nhello\r\n"},
        {"PING a b", "-ERR wrong number of arguments for 'ping' command\r\n"},
        {"ECHO x", "$1\r\nx\r\n"},
        {"ECHO", "-ERR wrong number of arguments for 'echo' command\r\n"},
        {"AUTH secret", "+OK\r\n"},
        {"AUTH user secret", "+OK\r\n"},
        {"SELECT 0", "+OK\r\n"},
        {"SELECT 1", "-ERR DB index is out of range; there is only 0\r\n"},
        {"SELECT a", "-ERR invalid DB index\r\n"},
        {"CLIENT SETINFO LIB-NAME redis-py", "+OK\r\n"},
        {"CLIENT SETINFO LIB-VER 8.1", "+OK\r\n"},
        {"CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type none", "+OK\r\n"},
        {"client setname worker-1", "+OK\r\n"},
        {"CLIENT GETNAME", "$8\r\nworker-1\r\n"},
        {"CLIENT SETNAME \"\"", "+OK\r\n"},
        {"CLIENT GETNAME", "$-1\r\n"},
        {"CLIENT KILL x", "-ERR unknown subcommand or wrong number of arguments for CLIENT: "
                          "expected SETNAME, GETNAME, ID, INFO or SETINFO\r\n"},
        {"CLIENT", "-ERR wrong number of arguments for 'client' command\r\n"},
        {"COMMAND COUNT", ":16\r\n"},
        {"COMMAND DOCS", "*0\r\n"},
        {"COMMAND INFO cl.throttle nothing", "*2\r\n*6\r\n$11\r\ncl.throttle\r\n:-5\r\n*1\r\n"
                                             "+write\r\n:1\r\n:1\r\n:1\r\n$-1\r\n"},
        {"COMMAND INFO echo", "*1\r\n*6\r\n$4\r\necho\r\n:2\r\n*1\r\n+fast\r\n:0\r\n:0\r\n:0\r\n"},
        {"CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"},
        {"CONFIG GET appendonly", "*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"},
        {"CONFIG GET maxmemory", "*0\r\n"},
        {"CONFIG SET a b", "-ERR unknown subcommand or wrong number of arguments for CONFIG: "
                           "expected GET and names\r\n"},
    };
    struct fixture f;
    resp_fixture_init(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        resp_script_say(&f, rows[i][0], rows[i][1]);
    }
    resp_fixture_deinit(&f);
}

Test(resp_greeting, the_third_version_has_maps_and_nil)
{
    struct fixture f;
    resp_fixture_init(&f);
    cr_expect_eq(number_behind(&f, "HELLO 3\r\n", "proto\r\n:"), 3);
    resp_script_say(&f, "CLIENT GETNAME", "_\r\n");
    resp_script_say(&f, "COMMAND DOCS", "%0\r\n");
    resp_script_say(&f, "COMMAND INFO nothing", "*1\r\n_\r\n");
    resp_script_say(&f, "CONFIG GET save appendonly x",
                    "%2\r\n$4\r\nsave\r\n$0\r\n\r\n$10\r\nappendonly\r\n$2\r\nno\r\n");
    resp_script_say(&f, "CL.THROTTLE k 4 10 50", "*5\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:5\r\n");
    resp_script_say(&f, "SLUICE.ALLOW k fw", "*8\r\n:1\r\n:3\r\n:2\r\n:-1\r\n:60000\r\n:0\r\n"
                                             "$2\r\nfw\r\n$11\r\nUNDER_LIMIT\r\n");
    resp_fixture_deinit(&f);
}

Test(resp_greeting, all_commands_are_described)
{
    struct fixture f;
    struct buf out;
    uint32_t rows = 0;
    buf_init(&out, 0);
    resp_fixture_init(&f);
    cr_assert_eq(resp_fixture_feed(&f, slice_text("COMMAND\r\nINFO\r\ninfo server\r\n"), &out),
                 WIRE_MORE);
    buf_append_byte(&out, '\0');
    const char *text = (const char *)buf_slice(&out).data;
    for (const char *at = text; (at = strstr(at, "*6\r\n")) != NULL; at++) {
        rows++;
    }
    cr_expect_eq(rows, 16);
    cr_expect_not_null(strstr(text, "\r\nloading:0\r\n"));
    resp_fixture_deinit(&f);
    buf_deinit(&out);
}
