/* One address, both versions of HTTP: the first bytes tell. */
#include "wire/web.h"

#include "native_fixture.h"

#include <criterion/criterion.h>

Test(web, the_first_bytes_tell)
{
    struct fixture fixture;
    struct buf out;
    buf_init(&out, 0);
    static const char *const plain[] = {
        "POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        "PUT /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        "PRINT /nope HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /nope HTTP/1.1\r\nHost: x\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        fixture_init_as(&fixture, &web_protocol);
        for (const char *at = plain[i]; *at != '\0'; at++) {
            (void)fixture_feed(&fixture, slice_make(at, 1), &out);
        }
        cr_expect_eq(memcmp(out.data + out.start, "HTTP/1.1 404 ", 13), 0, "%s", plain[i]);
        buf_clear(&out);
        fixture_deinit(&fixture);
    }
    fixture_init_as(&fixture, &web_protocol);
    cr_expect(!web_protocol.is_waiting(fixture.session, 0));
    cr_expect_eq(fixture_feed(&fixture, slice_text("PRI "), NULL), WIRE_MORE);
    cr_expect(web_protocol.is_waiting(fixture.session, 4));
    cr_expect(web_protocol.shutdown(fixture.session, &out), "nothing was asked: close");
    fixture_deinit(&fixture);
    buf_deinit(&out);
}
