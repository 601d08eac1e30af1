/* Commands as bytes: whole, in pieces, glued, broken. Each script is played in one piece and a byte
 * at a time. */
#include "resp_script.h"

#define THROTTLE "*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n4\r\n$2\r\n10\r\n$2\r\n50\r\n"
#define FIRST "*5\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:5\r\n"
#define SECOND "*5\r\n:0\r\n:5\r\n:3\r\n:-1\r\n:10\r\n"
#define BROKEN(why) "-ERR Protocol error: " why "\r\n"

Test(resp_frames, commands_in_any_case_and_form)
{
    RESP_SCRIPT(THROTTLE, FIRST, WIRE_MORE);
    RESP_SCRIPT("*6\r\n$11\r\ncl.throttle\r\n$1\r\nk\r\n$1\r\n4\r\n$2\r\n10\r\n$2\r\n50\r\n"
                "$1\r\n1\r\n",
                FIRST, WIRE_MORE);
    RESP_SCRIPT("cL.tHrOtTlE k 4 10 50\r\n", FIRST, WIRE_MORE);
    RESP_SCRIPT("CL.THROTTLE k 4 10 50\n", FIRST, WIRE_MORE);
    RESP_SCRIPT(THROTTLE "PING\r\n" THROTTLE, FIRST "+PONG\r\n" SECOND, WIRE_MORE);
}

Test(resp_frames, a_wrong_one_between_two_good)
{
    RESP_SCRIPT(THROTTLE "*3\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n4\r\n" THROTTLE,
                FIRST "-ERR wrong number of arguments for 'cl.throttle' command\r\n" SECOND,
                WIRE_MORE);
    RESP_SCRIPT("*1\r\n$3\r\nFLY\r\n" THROTTLE,
                "-ERR unknown command 'FLY', with args beginning with:\r\n" FIRST, WIRE_MORE);
    RESP_SCRIPT("*3\r\n$3\r\nF\r\n\r\n$2\r\na\n\r\n$1\r\n\x01\r\n",
                "-ERR unknown command 'F\\r\\n', with args beginning with: 'a\\n' '\\x01'\r\n",
                WIRE_MORE);
    RESP_SCRIPT("*1\r\n$0\r\n\r\n",
                "-ERR unknown command '', with args beginning with:\r\n", WIRE_MORE);
}

Test(resp_frames, arrays_that_say_nothing)
{
    RESP_SCRIPT("*0\r\n*-1\r\n*-5\r\n\r\n  \r\nPING\r\n", "+PONG\r\n", WIRE_MORE);
}

Test(resp_frames, lengths_that_lead_nowhere)
{
    RESP_SCRIPT("*2\r\n$4\r\nPING\r\n$5\r\nkey1\r\n$1\r\n4\r\n",
                BROKEN("expected CRLF behind an argument; its length may be wrong"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n$3\r\nPING\r\n",
                BROKEN("expected CRLF behind an argument; its length may be wrong"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n$4\r\nPING\rx",
                BROKEN("expected CRLF behind an argument; its length may be wrong"), WIRE_CLOSE);
    RESP_SCRIPT("*2\r\n$4\r\nECHO\r\n$-1\r\n", BROKEN("invalid bulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n$2000000000\r\n", BROKEN("invalid bulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n$65537\r\n", BROKEN("invalid bulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n$\r\n", BROKEN("invalid bulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n$04\r\nPING\r\n", BROKEN("invalid bulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n$4 \r\nPING\r\n", BROKEN("invalid bulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n$4\rPING\r\n", BROKEN("invalid bulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n$4444444444444444444444444\r\n", BROKEN("too big bulk count string"),
                WIRE_CLOSE);
}

Test(resp_frames, arrays_that_lead_nowhere)
{
    RESP_SCRIPT("*2000000000\r\n",
                BROKEN("invalid multibulk length, a command has at most 64 arguments"),
                WIRE_CLOSE);
    RESP_SCRIPT("*65\r\n", BROKEN("invalid multibulk length, a command has at most 64 arguments"),
                WIRE_CLOSE);
    RESP_SCRIPT("*\r\n", BROKEN("invalid multibulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*x\r\n", BROKEN("invalid multibulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*+1\r\n", BROKEN("invalid multibulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*99999999999999999999\r\n", BROKEN("invalid multibulk length"), WIRE_CLOSE);
    RESP_SCRIPT("*1111111111111111111111111", BROKEN("too big mbulk count string"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n*1\r\n*1\r\n", BROKEN("expected '$', got '*'"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n:5\r\n", BROKEN("expected '$', got ':'"), WIRE_CLOSE);
    RESP_SCRIPT("*1\r\n\r\n", BROKEN("expected '$', got '\\x0d'"), WIRE_CLOSE);
}

/* What was answered before the fault stays answered. */
Test(resp_frames, good_commands_before_a_broken_one)
{
    RESP_SCRIPT(THROTTLE THROTTLE "*1\r\n:5\r\n" THROTTLE,
                FIRST SECOND BROKEN("expected '$', got ':'"), WIRE_CLOSE);
    RESP_SCRIPT(THROTTLE "QUIT\r\n" THROTTLE, FIRST "+OK\r\n", WIRE_CLOSE);
}

Test(resp_frames, other_protocols)
{
    RESP_SCRIPT("GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                BROKEN("this address speaks the Redis protocol, not HTTP"), WIRE_CLOSE);
    RESP_SCRIPT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                BROKEN("this address speaks the Redis protocol, not HTTP"), WIRE_CLOSE);
    RESP_SCRIPT("\x16\x03\x01\x02", BROKEN("expected '*' or the name of a command"), WIRE_CLOSE);
    RESP_SCRIPT("\0\0\0", BROKEN("expected '*' or the name of a command"), WIRE_CLOSE);
}

Test(resp_frames, lines_with_quotes)
{
    RESP_SCRIPT("ECHO \"a b\"\r\n", "$3\r\na b\r\n", WIRE_MORE);
    RESP_SCRIPT("ECHO 'it\\'s \\n'\r\n", "$7\r\nit's \\n\r\n", WIRE_MORE);
    RESP_SCRIPT("ECHO \"\\x41\\xfF\\x0\\n\\r\\t\\b\\a\\\\\\\"\"\r\n",
                "$11\r\nA\xffx0\n\r\t\b\a\\\"\r\n", WIRE_MORE);
    RESP_SCRIPT("  ECHO\t\"\"  \r\n", "$0\r\n\r\n", WIRE_MORE);
    RESP_SCRIPT("ECHO a\"b\"\r\nECHO c\r\n", "$2\r\nab\r\n$1\r\nc\r\n", WIRE_MORE);
    RESP_SCRIPT("ECHO \"a\r\n", BROKEN("unbalanced quotes in request"), WIRE_CLOSE);
    RESP_SCRIPT("ECHO 'a\r\n", BROKEN("unbalanced quotes in request"), WIRE_CLOSE);
    RESP_SCRIPT("ECHO \"a\"b\r\n", BROKEN("unbalanced quotes in request"), WIRE_CLOSE);
    RESP_SCRIPT("ECHO \"a\\\"\r\n", BROKEN("unbalanced quotes in request"), WIRE_CLOSE);
}

static void append_many(struct buf *out, const char *text, int times)
{
    for (int i = 0; i < times; i++) {
        buf_append_text(out, text);
    }
}

Test(resp_frames, sixty_four_arguments_and_one_more)
{
    struct fixture f;
    struct buf said;
    buf_init(&said, 0);
    resp_fixture_init(&f);
    buf_append_text(&said, "*64\r\n$3\r\nDEL\r\n");
    append_many(&said, "$1\r\nk\r\n", 63);
    buf_append_text(&said, "DEL");
    append_many(&said, " k", 63);
    buf_append_text(&said, "\r\n");
    resp_script_bytes(&f, buf_slice(&said), slice_text(":0\r\n:0\r\n"), WIRE_MORE);
    buf_clear(&said);
    buf_append_text(&said, "DEL");
    append_many(&said, " k", 64);
    buf_append_text(&said, "\r\n");
    resp_script_bytes(&f, buf_slice(&said),
                      slice_text(BROKEN("too many arguments, a command has at most 64")),
                      WIRE_CLOSE);
    resp_fixture_deinit(&f);
    buf_deinit(&said);
}

Test(resp_frames, commands_up_to_their_bound)
{
    struct fixture f;
    struct buf said;
    struct buf reply;
    buf_init(&said, 0);
    buf_init(&reply, 0);
    resp_fixture_init(&f);
    buf_printf(&said, "*2\r\n$4\r\nECHO\r\n$%d\r\n", 65000);
    append_many(&said, "0123456789", 6500);
    buf_append_text(&said, "\r\n");
    buf_append_text(&reply, "$65000\r\n");
    append_many(&reply, "0123456789", 6500);
    buf_append_text(&reply, "\r\n");
    resp_script_bytes(&f, buf_slice(&said), buf_slice(&reply), WIRE_MORE);
    resp_script_bytes(&f, slice_text("*2\r\n$4\r\nECHO\r\n$65530\r\n"),
                      slice_text(BROKEN("invalid bulk length")), WIRE_CLOSE);
    resp_fixture_close(&f);
    resp_fixture_open(&f);
    buf_clear(&said);
    append_many(&said, "0123456789abcdef", 4096);
    resp_script_bytes(&f, buf_slice(&said), slice_text(BROKEN("too big inline request")),
                      WIRE_CLOSE);
    resp_fixture_deinit(&f);
    buf_deinit(&said);
    buf_deinit(&reply);
}

/* Answered in order, with pauses for the peer to take what is there. */
Test(resp_frames, ten_thousand_in_one_piece)
{
    struct fixture f;
    struct buf said;
    struct buf out;
    buf_init(&said, 0);
    buf_init(&out, 0);
    resp_fixture_init(&f);
    for (int i = 0; i < 10000; i++) {
        bool echo = i % 100 == 7;
        buf_printf(&said, echo ? "ECHO %d\r\n" : "CL.THROTTLE k 99999 1 1 %d\r\n",
                   echo ? i : i % 2);
    }
    cr_assert_eq(resp_fixture_feed(&f, buf_slice(&said), &out), WIRE_MORE);
    cr_assert_gt(out.size, WIRE_OUT_HIGH_BYTES);
    const char *at = (const char *)buf_slice(&out).data;
    int64_t used = 0;
    for (int i = 0; i < 10000; i++) {
        char expected[96];
        used += i % 100 != 7 && i % 2 == 1;
        if (i % 100 == 7) {
            (void)snprintf(expected, sizeof(expected), "$%d\r\n%d\r\n",
                           i < 10 ? 1 : i < 100 ? 2 : i < 1000 ? 3 : 4, i);
        } else {
            (void)snprintf(expected, sizeof(expected),
                           "*5\r\n:0\r\n:100000\r\n:%lld\r\n:-1\r\n:%lld\r\n",
                           (long long)(100000 - used), (long long)used);
        }
        cr_assert_eq(strncmp(at, expected, strlen(expected)), 0, "%d: %.60s", i, at);
        at += strlen(expected);
    }
    cr_expect_eq((size_t)(at - (const char *)buf_slice(&out).data), out.size);
    resp_fixture_deinit(&f);
    buf_deinit(&said);
    buf_deinit(&out);
}

/* The peer's own words about time, room and the end. */
Test(resp_frames, what_the_server_says_by_itself)
{
    struct fixture f;
    struct buf out;
    buf_init(&out, 0);
    resp_fixture_init(&f);
    cr_expect_not(resp_protocol.is_waiting(f.session, 0));
    cr_expect(resp_protocol.is_waiting(f.session, 1));
    resp_protocol.timed_out(f.session, &f.worker, &out);
    cr_expect(slice_equal_text(buf_slice(&out), "-ERR a command was not finished within the "
                                                "request time-out\r\n"));
    buf_clear(&out);
    resp_protocol.refuse(&out);
    cr_expect(slice_equal_text(buf_slice(&out), "-ERR max number of clients reached\r\n"));
    buf_clear(&out);
    cr_expect(resp_protocol.shutdown(f.session, &out));
    cr_expect_eq(out.size, 0);
    resp_fixture_deinit(&f);
    buf_deinit(&out);
}
