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

/* One engine serves many runs: each comes hours after the one before it, when all counters are as
 * if never used and every window stands where it stood. */
#define HOUR_NS (INT64_C(3600) * 1000000000)
#define RUNS_AN_ENGINE 500000

struct runs {
    struct fixture fixture;
    struct buf whole;
    struct buf split;
    uint32_t left;
};

static void start_over(struct fixture *fixture)
{
    fixture_close(fixture);
    fixture->now_ns += HOUR_NS;
    for (int i = 0; i < 8 && engine_sweep(fixture->engine, fixture->now_ns, 256); i++) {
    }
    fixture_open(fixture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct runs runs;
    if (size < 1) {
        return 0;
    }
    if (runs.left == 0) {
        if (runs.fixture.engine != NULL) {
            fixture_deinit(&runs.fixture);
        }
        fixture_init(&runs.fixture);
        runs.left = RUNS_AN_ENGINE;
    }
    runs.left--;
    struct slice bytes = slice_make(data + 1, size - 1);
    buf_clear(&runs.whole);
    buf_clear(&runs.split);
    start_over(&runs.fixture);
    (void)fixture_feed(&runs.fixture, bytes, &runs.whole);
    start_over(&runs.fixture);
    feed_split(&runs.fixture, bytes, 1 + data[0] % 64u, &runs.split);
    fixture_require(slice_equal(buf_slice(&runs.whole), buf_slice(&runs.split)),
                    "split reads differ");
    return 0;
}
