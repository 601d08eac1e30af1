/* Which keys are the same, and which only look so. */
#include "resp_script.h"

static void append_argument(struct buf *out, struct slice argument)
{
    buf_printf(out, "$%zu\r\n", argument.size);
    buf_append_slice(out, argument);
    buf_append_text(out, "\r\n");
}

/* One unit of a burst of one: true the first time. */
static bool throttle(struct fixture *f, struct slice key)
{
    struct buf said;
    struct buf out;
    buf_init(&said, 0);
    buf_init(&out, 0);
    buf_append_text(&said, "*5\r\n$11\r\nCL.THROTTLE\r\n");
    append_argument(&said, key);
    buf_append_text(&said, "$1\r\n0\r\n$1\r\n1\r\n$2\r\n60\r\n");
    cr_assert_eq(resp_fixture_feed(f, buf_slice(&said), &out), WIRE_MORE);
    bool first = slice_equal_text(buf_slice(&out), "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n");
    cr_assert(first || slice_equal_text(buf_slice(&out),
                                        "*5\r\n:1\r\n:1\r\n:0\r\n:60\r\n:60\r\n"));
    buf_deinit(&said);
    buf_deinit(&out);
    return first;
}

#define KEY(text) slice_make((text), sizeof(text) - 1)

Test(resp_keys, bytes_decide)
{
    const struct slice keys[] = {
        KEY("a"),         KEY("a "),     KEY(" a"),        KEY("A"),        KEY("a\t"),
        KEY("a\r\n"),     KEY("a\0"),    KEY("\0"),        KEY("\xc3\xa9"), KEY("e\xcc\x81"),
        KEY("\xf0\x9f\x98\x80"),         KEY("\xe2\x80\x8f"),               KEY("\xe2\x80\x8b"),
        KEY("\xff\xfe"),  KEY("unlimited"), KEY("null"),   KEY("undefined"), KEY("-"), KEY("*"),
        KEY("{a}"),       KEY("a:b"),    KEY("throttlea"),
    };
    struct fixture f;
    resp_fixture_init(&f);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        cr_expect(throttle(&f, keys[i]), "key %zu", i);
        cr_expect_not(throttle(&f, keys[i]), "key %zu", i);
    }
    resp_fixture_deinit(&f);
}

Test(resp_keys, long_ones_are_never_cut)
{
    static uint8_t bytes[1025];
    struct fixture f;
    memset(bytes, 'k', sizeof(bytes));
    resp_fixture_init(&f);
    cr_expect(throttle(&f, slice_make(bytes, 1024)));
    bytes[1023] = 'l';
    cr_expect(throttle(&f, slice_make(bytes, 1024)));
    cr_expect(throttle(&f, slice_make(bytes, 1023)));
    struct buf said;
    buf_init(&said, 0);
    buf_append_text(&said, "*5\r\n$11\r\nCL.THROTTLE\r\n");
    append_argument(&said, slice_make(bytes, 1025));
    buf_append_text(&said, "$1\r\n0\r\n$1\r\n1\r\n$2\r\n60\r\n");
    resp_script_bytes(&f, buf_slice(&said),
                      slice_text("-ERR key: 1 to 1024 bytes were expected, not 1025\r\n"),
                      WIRE_MORE);
    buf_deinit(&said);
    resp_fixture_deinit(&f);
}

/* A throttle key is none of a limit's, whatever both are called. */
Test(resp_keys, limits_and_throttle_do_not_meet)
{
    struct fixture f;
    resp_fixture_init(&f);
    cr_expect(throttle(&f, KEY("k")));
    resp_script_say(&f, "SLUICE.ALLOW k fw 3", "*8\r\n:1\r\n:3\r\n:0\r\n:-1\r\n:60000\r\n:0\r\n"
                                               "$2\r\nfw\r\n$11\r\nUNDER_LIMIT\r\n");
    cr_expect_not(throttle(&f, KEY("k")));
    resp_script_say(&f, "SLUICE.RESET k fw", ":1\r\n");
    cr_expect_not(throttle(&f, KEY("k")));
    resp_script_say(&f, "DEL k", ":1\r\n");
    cr_expect(throttle(&f, KEY("k")));
    resp_fixture_deinit(&f);
}
