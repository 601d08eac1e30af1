#include "net/address.h"

#include <criterion/criterion.h>

static void expect_text(const char *text, const char *back)
{
    struct address address;
    const char *why = NULL;
    struct buf out;
    buf_init(&out, 0);
    cr_assert_eq(address_parse(text, &address, &why), STATUS_OK, "%s: %s", text, why);
    address_append(&address, &out);
    cr_expect(slice_equal_text(buf_slice(&out), back), "%s became %.*s", text, (int)out.size,
              (const char *)out.data);
    buf_deinit(&out);
}

Test(address, what_is_taken_and_how_it_is_shown)
{
    expect_text("127.0.0.1:7070", "127.0.0.1:7070");
    expect_text("0.0.0.0:0", "0.0.0.0:0");
    expect_text("[::1]:65535", "[::1]:65535");
    expect_text("[2001:db8::1]:80", "[2001:db8::1]:80");
    expect_text("unix:/run/s.sock", "unix:/run/s.sock");
    expect_text("unix:relative", "unix:relative");
}

Test(address, what_is_refused)
{
    static const char *const wrong[] = {
        "", ":", ":7070", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:-1",
        "127.0.0.1:65536", "127.0.0.1:123456", "::1:7070", "[::1]", "[]:1", "unix:",
        "127.0.0.1:7070 ", "[::1:7070", NULL};
    struct address address;
    for (int i = 0; wrong[i] != NULL; i++) {
        const char *why = NULL;
        cr_expect_eq(address_parse(wrong[i], &address, &why), STATUS_INVALID, "%s", wrong[i]);
        cr_expect_not_null(why);
    }
}

Test(address, a_path_is_as_long_as_the_kernel_takes)
{
    char text[128] = "unix:";
    struct address address;
    const char *why = NULL;
    memset(text + 5, 'p', 107);
    cr_expect_eq(address_parse(text, &address, &why), STATUS_OK);
    text[5 + 107] = 'p';
    cr_expect_eq(address_parse(text, &address, &why), STATUS_INVALID);
}

static bool is_local(const char *text)
{
    struct address address;
    const char *why = NULL;
    cr_assert_eq(address_parse(text, &address, &why), STATUS_OK);
    return address_is_local(&address);
}

Test(address, who_is_local)
{
    cr_expect(is_local("127.0.0.1:1"));
    cr_expect(is_local("127.255.0.9:1"));
    cr_expect(is_local("[::1]:1"));
    cr_expect(is_local("[::ffff:127.0.0.1]:1"));
    cr_expect(is_local("unix:/s"));
    cr_expect_not(is_local("128.0.0.1:1"));
    cr_expect_not(is_local("192.0.2.1:1"));
    cr_expect_not(is_local("[::2]:1"));
    cr_expect_not(is_local("[::ffff:192.0.2.1]:1"));
}

Test(address, equality)
{
    struct address a;
    struct address b;
    const char *why = NULL;
    cr_assert_eq(address_parse("127.0.0.1:1", &a, &why), STATUS_OK);
    cr_assert_eq(address_parse("127.0.0.1:1", &b, &why), STATUS_OK);
    cr_expect(address_equal(&a, &b));
    cr_assert_eq(address_parse("127.0.0.1:2", &b, &why), STATUS_OK);
    cr_expect_not(address_equal(&a, &b));
    cr_assert_eq(address_parse("unix:/a", &b, &why), STATUS_OK);
    cr_expect_not(address_equal(&a, &b));
}
