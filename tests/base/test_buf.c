#include "base/buf.h"

#include <criterion/criterion.h>

static void expect(const struct buf *buf, const char *text)
{
    cr_expect(slice_equal_text(buf_slice(buf), text), "got \"%.*s\", expected \"%s\"",
              (int)buf->size, (const char *)buf_slice(buf).data, text);
}

Test(buf, appends_and_consumes)
{
    struct buf buf;
    buf_init(&buf, 0);
    expect(&buf, "");
    buf_append_text(&buf, "hello ");
    buf_append(&buf, "world", 5);
    buf_append_byte(&buf, '!');
    buf_append_slice(&buf, slice_text(" bye"));
    expect(&buf, "hello world! bye");
    buf_consume(&buf, 6);
    expect(&buf, "world! bye");
    buf_consume(&buf, buf.size);
    expect(&buf, "");
    cr_expect_eq(buf.start, 0);
    cr_expect_not(buf.failed);
    buf_deinit(&buf);
}

Test(buf, random_traffic_matches_a_plain_array)
{
    static char model[1 << 16];
    size_t begin = 0;
    size_t end = 0;
    struct buf buf;
    buf_init(&buf, 0);
    unsigned seed = 1;
    for (int i = 0; i < 20000 && end < sizeof(model) - 100; i++) {
        seed = seed * 1103515245u + 12345u;
        size_t size = seed >> 16 & 63;
        if (seed >> 28 < 8) {
            uint8_t *room = buf_reserve(&buf, size + 7);
            cr_assert_not_null(room);
            memset(room, 'a' + (int)(seed & 15), size);
            buf_commit(&buf, size);
            memset(model + end, 'a' + (int)(seed & 15), size);
            end += size;
        } else {
            size = size > buf.size ? buf.size : size;
            buf_consume(&buf, size);
            begin += size;
        }
        cr_assert(slice_equal(buf_slice(&buf), slice_make(model + begin, end - begin)));
    }
    buf_deinit(&buf);
}

Test(buf, the_ceiling_is_exact_and_a_failure_changes_nothing)
{
    struct buf buf;
    buf_init(&buf, 8);
    buf_append_text(&buf, "12345678");
    cr_expect_not(buf.failed);
    buf_append_byte(&buf, '9');
    cr_expect(buf.failed);
    expect(&buf, "12345678");
    buf_consume(&buf, 3);
    buf_clear(&buf);
    cr_expect_not(buf.failed);
    buf_printf(&buf, "%08d", 42);
    cr_expect_not(buf.failed);
    expect(&buf, "00000042");
    buf_consume(&buf, 2);
    buf_append_text(&buf, "xy");
    cr_expect_not(buf.failed, "what was consumed gives its room back");
    expect(&buf, "000042xy");
    cr_expect_null(buf_reserve(&buf, SIZE_MAX));
    cr_expect(buf.failed);
    buf_deinit(&buf);
    cr_expect_eq(buf.max_bytes, 8);
}

Test(buf, prints_short_and_long)
{
    struct buf buf;
    buf_init(&buf, 0);
    for (int width = 0; width < 400; width++) {
        buf_clear(&buf);
        buf_printf(&buf, "%0*d|", width, 7);
        size_t size = (size_t)(width < 1 ? 1 : width) + 1;
        cr_assert_eq(buf.size, size);
        cr_assert_eq(buf_slice(&buf).data[size - 1], '|');
        cr_assert_eq(buf_slice(&buf).data[size - 2], '7');
    }
    buf_deinit(&buf);
}

Test(buf, trim_gives_memory_back_only_when_empty)
{
    struct buf buf;
    buf_init(&buf, 0);
    for (int i = 0; i < 1000; i++) {
        buf_append_text(&buf, "0123456789");
    }
    buf_trim(&buf, 100);
    cr_expect_eq(buf.size, 10000);
    buf_consume(&buf, 10000);
    buf_trim(&buf, 1 << 20);
    cr_expect_gt(buf.capacity, 0);
    buf_trim(&buf, 100);
    cr_expect_eq(buf.capacity, 0);
    buf_append_text(&buf, "again");
    expect(&buf, "again");
    buf_deinit(&buf);
}
