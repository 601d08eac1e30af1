/* links: sluice_wire */
/* Any bytes through the adapter, whole and split: never a crash, and the same answers both ways. */
#include "../wire/native_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says how the rest is split. */
static void feed_split(struct fixture *fixture, struct slice bytes, size_t step, struct buf *out)
{
    enum wire_result result = WIRE_MORE;
    for (size_t at = 0; at < bytes.size && result == WIRE_MORE; at += step) {
        size_t left = bytes.size - at;
        result = fixture_feed(fixture, slice_make(bytes.data + at, left < step ? left : step),
                              out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fixture fixture;
    struct buf whole;
    struct buf split;
    if (size < 1) {
        return 0;
    }
    buf_init(&whole, 0);
    buf_init(&split, 0);
    fixture_init(&fixture);
    (void)fixture_feed(&fixture, slice_make(data + 1, size - 1), &whole);
    fixture_deinit(&fixture);
    fixture_init(&fixture);
    feed_split(&fixture, slice_make(data + 1, size - 1), 1 + data[0] % 64u, &split);
    fixture_deinit(&fixture);
    fixture_require(slice_equal(buf_slice(&whole), buf_slice(&split)), "split reads differ");
    buf_deinit(&whole);
    buf_deinit(&split);
    return 0;
}
