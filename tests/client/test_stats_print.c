#include "stats_print.h"

#include "sluice_decode.h"
#include "sluice_encode.h"
#include "sluice_keep.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char page[] =
    "# HELP a_total What a is.\n"
    "# TYPE a_total counter\n"
    "a_total{limit=\"x \\\\ \\\"}{ \\n\",outcome=\"allowed\"} 5\n"
    "a_total{limit=\"\",outcome=\"refused\"} 0\n"
    "# TYPE b gauge\n"
    "b 1796062915.597194587\n"
    "\n"
    "# TYPE c_seconds histogram\n"
    "c_seconds_bucket{le=\"+Inf\"} 12\n";

static void expect(const struct buf *out, const char *want)
{
    struct slice got = buf_slice(out);
    cr_expect(slice_equal_text(got, want), "%.*s\nis not\n%s", (int)got.size,
              (const char *)got.data, want);
}

Test(stats_print, json)
{
    struct buf out;
    buf_init(&out, 0);
    stats_print_json(&out, slice_text(page));
    expect(&out, "[{\"name\":\"a_total\",\"type\":\"counter\",\"labels\":{\"limit\":"
                 "\"x \\\\ \\\"}{ \\n\",\"outcome\":\"allowed\"},\"value\":5},"
                 "{\"name\":\"a_total\",\"type\":\"counter\",\"labels\":{\"limit\":\"\","
                 "\"outcome\":\"refused\"},\"value\":0},"
                 "{\"name\":\"b\",\"type\":\"gauge\",\"labels\":{},\"value\":1796062915.597194587},"
                 "{\"name\":\"c_seconds_bucket\",\"type\":\"histogram\",\"labels\":{"
                 "\"le\":\"+Inf\"},"
                 "\"value\":12}]\n");
    buf_clear(&out);
    stats_print_json(&out, slice_text(""));
    expect(&out, "[]\n");
    buf_deinit(&out);
}

Test(stats_print, changes)
{
    struct buf out;
    buf_init(&out, 0);
    stats_print_changes(&out, slice_text("a 3\nb{x=\"1\"} 2\nnew 1\nz 1.5\n"),
                        slice_text("# TYPE a gauge\na 5\nb{x=\"2\"} 1\nb{x=\"1\"} 2\nz 1\n"));
    expect(&out, "a 3  -2\nb{x=\"1\"} 2\nnew 1\nz 1.5  +0.5\n");
    buf_clear(&out);
    stats_print_changes(&out, slice_text("a 3\n"), slice_text(""));
    expect(&out, "a 3\n");
    buf_deinit(&out);
}

/* Whatever a page is cut to, reading it ends and stays inside. */
Test(stats_print, cut_pages)
{
    for (size_t size = 0; size < sizeof(page); size++) {
        struct buf out;
        char *copy = malloc(size + 1); /* exactly: a sanitizer sees a step too far */
        memcpy(copy, page, size);
        buf_init(&out, 0);
        stats_print_json(&out, slice_make(copy, size));
        stats_print_changes(&out, slice_make(copy, size), slice_make(copy, size));
        cr_expect(!out.failed && out.size > 0);
        buf_deinit(&out);
        free(copy);
    }
}

Test(stats_print, the_request_is_an_empty_body)
{
    struct sluice_buffer out = {0};
    cr_assert_eq(sluice_encode(&out, 7, SLUICE_ENCODE_STATS, NULL, 0), SLUICE_OK);
    cr_assert_eq(sluice_buffer_size(&out), 5);
    cr_expect_arr_eq(out.data + out.start, ((const uint8_t[]){4, 8, 7, 0x3a, 0}), 5);
    sluice_buffer_deinit(&out);
}

static enum sluice_status keep(struct sluice_keep *kept, const void *body, size_t size,
                               unsigned kind, struct sluice_stats_answer *answer)
{
    const uint8_t *at = body;
    struct sluice_decode_frame frame = {.id = 1, .kind = kind, .body = {at, at + size}};
    return sluice_keep_stats(kept, &frame, answer);
}

Test(stats_print, the_answer_is_kept)
{
    struct sluice_keep kept = {0};
    struct sluice_stats_answer answer;
    cr_expect_eq(keep(&kept, "\x0a\x03" "a 1\x10\x05", 7, SLUICE_DECODE_STATS, &answer), SLUICE_OK);
    cr_expect_str_eq(answer.text.data, "a 1");
    cr_expect_eq(answer.text.size, 3);
    cr_expect_eq(keep(&kept, "", 0, SLUICE_DECODE_STATS, &answer), SLUICE_OK);
    cr_expect_eq(answer.text.size, 0);
    cr_expect_eq(keep(&kept, "\x0a\x04" "a 1", 5, SLUICE_DECODE_STATS, &answer), SLUICE_PROTOCOL);
    cr_expect_gt(answer.error.message.size, 0);
    cr_expect_eq(keep(&kept, "", 0, SLUICE_DECODE_RESET, &answer), SLUICE_PROTOCOL);
    cr_expect_eq(keep(&kept, "\x08\x07\x1a\x02no", 6, SLUICE_DECODE_ERROR, &answer), SLUICE_ERROR);
    cr_expect_eq(answer.error.code, SLUICE_CODE_PERMISSION_DENIED);
    cr_expect_str_eq(answer.error.message.data, "no");
    sluice_keep_deinit(&kept);
}
