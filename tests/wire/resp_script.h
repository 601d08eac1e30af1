/* What a client says and is told, checked whole and a byte at a time. */
#ifndef TESTS_WIRE_RESP_SCRIPT_H
#define TESTS_WIRE_RESP_SCRIPT_H

#include "resp_fixture.h"

#include <criterion/criterion.h>

/* Both in full; `replies` compares byte for byte. */
static inline void resp_script_bytes(struct fixture *f, struct slice said, struct slice replies,
                                     enum wire_result result)
{
    struct buf out;
    buf_init(&out, 0);
    enum wire_result got = resp_fixture_feed(f, said, &out);
    cr_assert(slice_equal(buf_slice(&out), replies), "\nsaid    %.*s\ntold    %.*s\nexpected %.*s",
              (int)said.size, (const char *)said.data, (int)out.size,
              (const char *)buf_slice(&out).data, (int)replies.size, (const char *)replies.data);
    cr_assert_eq(got, result, "%.*s: result %d", (int)said.size, (const char *)said.data, got);
    buf_deinit(&out);
}

/* One line said, its reply. */
static inline void resp_script_say(struct fixture *f, const char *line, const char *reply)
{
    char said[512];
    int size = snprintf(said, sizeof(said), "%s\r\n", line);
    cr_assert(size > 0 && size < (int)sizeof(said));
    resp_script_bytes(f, slice_make(said, (size_t)size), slice_text(reply), WIRE_MORE);
}

/* A CL.THROTTLE line, its five numbers. */
static inline void resp_script_throttle(struct fixture *f, double at_s, const char *line,
                                        const int64_t (*numbers)[5])
{
    char reply[160];
    (void)snprintf(reply, sizeof(reply), "*5\r\n:%lld\r\n:%lld\r\n:%lld\r\n:%lld\r\n:%lld\r\n",
                   (long long)(*numbers)[0], (long long)(*numbers)[1], (long long)(*numbers)[2],
                   (long long)(*numbers)[3], (long long)(*numbers)[4]);
    f->now_ns = FIXTURE_NOW_NS + (int64_t)(at_s * 1e9 + 0.5);
    resp_script_say(f, line, reply);
}

#define RESP_SCRIPT_THROTTLE(f, at_s, line, ...) \
    resp_script_throttle((f), (at_s), "CL.THROTTLE " line, &(const int64_t[5]){__VA_ARGS__})

/* A fresh session each: the bytes in one piece, and one at a time. */
static inline void resp_script_both_ways(struct slice said, struct slice replies,
                                         enum wire_result result)
{
    for (int way = 0; way < 2; way++) {
        struct fixture f;
        struct buf out;
        enum wire_result got = WIRE_MORE;
        buf_init(&out, 0);
        resp_fixture_init(&f);
        size_t step = way == 0 ? said.size : 1;
        for (size_t at = 0; at < said.size && got == WIRE_MORE; at += step) {
            got = resp_fixture_feed(&f, slice_make(said.data + at, step), &out);
        }
        cr_expect(slice_equal(buf_slice(&out), replies), "%s: %.60s: told %.*s",
                  way == 0 ? "whole" : "bytewise", (const char *)said.data, (int)out.size,
                  (const char *)buf_slice(&out).data);
        cr_expect_eq(got, result, "%.60s: result %d", (const char *)said.data, got);
        resp_fixture_deinit(&f);
        buf_deinit(&out);
    }
}

#define RESP_SCRIPT(said, replies, result)                                                  \
    resp_script_both_ways(slice_make((said), sizeof(said) - 1),                             \
                          slice_make((replies), sizeof(replies) - 1), (result))

#endif
