/* links: sluice_wire */
/* Any bytes through HTTP/1.x, whole and split: never a crash, the same answers both ways, and after
 * a fault of framing nothing more. */
#include "../wire/native_fixture.h"
#include "wire/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct side {
    struct buf out;
    enum wire_result result;
};

/* 100 Continue depends on what has come when the head is read. */
static void drop_continues(struct buf *out)
{
    static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";
    size_t size = sizeof(line) - 1;
    for (size_t at = 0; at + size <= out->size;) {
        uint8_t *here = out->data + out->start + at;
        if (memcmp(here, line, size) != 0) {
            at++;
            continue;
        }
        memmove(here, here + size, out->size - at - size);
        out->size -= size;
    }
}

static void feed(struct fixture *fixture, struct slice bytes, size_t step, struct side *side)
{
    side->result = WIRE_MORE;
    for (size_t at = 0; at < bytes.size && side->result == WIRE_MORE; at += step) {
        size_t left = bytes.size - at;
        side->result = fixture_feed(
            fixture, slice_make(bytes.data + at, left < step ? left : step), &side->out);
    }
    drop_continues(&side->out);
}

/* One engine serves many runs: each comes hours after the one before it, when all counters are as
 * if never used and every window stands where it stood. */
#define HOUR_NS (INT64_C(3600) * 1000000000)
#define RUNS_AN_ENGINE 500000

struct runs {
    struct fixture fixture;
    struct side whole;
    struct side split;
    uint32_t left;
};

/* The date of both sides is the same: the clock goes on between runs, not between sides. */
static void start_over(struct fixture *fixture, int64_t now_ns)
{
    fixture_close(fixture);
    fixture->now_ns = now_ns;
    for (int i = 0; i < 8 && engine_sweep(fixture->engine, now_ns, 256); i++) {
    }
    fixture_open(fixture);
}

/* Takes the dates out: hours lie between the sides. */
static void blank_dates(struct buf *out)
{
    static const char field[] = "\r\ndate: ";
    size_t size = sizeof(field) - 1;
    uint8_t *data = out->data + out->start;
    for (size_t at = 0; at + size + 29 <= out->size; at++) {
        if (memcmp(data + at, field, size) == 0) {
            memset(data + at + size, '.', 29);
        }
    }
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
        fixture_init_as(&runs.fixture, &http1_protocol);
        runs.left = RUNS_AN_ENGINE;
    }
    runs.left--;
    struct slice bytes = slice_make(data + 1, size - 1);
    buf_clear(&runs.whole.out);
    buf_clear(&runs.split.out);
    start_over(&runs.fixture, runs.fixture.now_ns + HOUR_NS);
    feed(&runs.fixture, bytes, size, &runs.whole);
    start_over(&runs.fixture, runs.fixture.now_ns + HOUR_NS);
    feed(&runs.fixture, bytes, 1 + data[0] % 64u, &runs.split);
    blank_dates(&runs.whole.out);
    blank_dates(&runs.split.out);
    fixture_require(slice_equal(buf_slice(&runs.whole.out), buf_slice(&runs.split.out)),
                    "split reads differ");
    fixture_require(runs.whole.result == runs.split.result, "split reads end otherwise");
    return 0;
}
