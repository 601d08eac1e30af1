/* links: sluice_wire */
/* Any bytes behind a preface, whole and split: never a crash, no growth without end, and the same
 * decisions both ways. The answers' frames may be cut and ordered otherwise: nghttp2 answers what
 * is whole at the end of each read. */
#include "../wire/native_fixture.h"

#include "wire/web.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOUR_NS (INT64_C(3600) * 1000000000)
#define RUNS_AN_ENGINE 200000

struct runs {
    struct fixture fixture;
    struct buf out;
    uint32_t left;
};

static void start_over(struct fixture *fixture)
{
    fixture_close(fixture);
    fixture->now_ns += HOUR_NS;
    for (int i = 0; i < 8 && engine_sweep(fixture->engine, fixture->now_ns, 256); i++) {
    }
    fixture->answered = 0;
    fixture_open(fixture);
    (void)fixture_feed(fixture, slice_text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), NULL);
}

static enum wire_result feed_split(struct fixture *fixture, struct slice bytes, size_t step,
                                   struct buf *out)
{
    enum wire_result result = WIRE_MORE;
    for (size_t at = 0; at < bytes.size && result == WIRE_MORE; at += step) {
        size_t left = bytes.size - at;
        result = fixture_feed(fixture, slice_make(bytes.data + at, left < step ? left : step),
                              out);
    }
    return result;
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
        fixture_init_as(&runs.fixture, &web_protocol);
        runs.left = RUNS_AN_ENGINE;
    }
    runs.left--;
    struct slice bytes = slice_make(data + 1, size - 1);
    buf_clear(&runs.out);
    start_over(&runs.fixture);
    (void)fixture_feed(&runs.fixture, bytes, &runs.out);
    buf_clear(&runs.out);
    start_over(&runs.fixture);
    enum wire_result result = feed_split(&runs.fixture, bytes, 1 + data[0] % 64u, &runs.out);
    if (result == WIRE_MORE && (data[0] & 64) != 0) {
        (void)web_protocol.shutdown(runs.fixture.session, &runs.out);
    } else if (result == WIRE_MORE && (data[0] & 128) != 0) {
        web_protocol.timed_out(runs.fixture.session, &runs.fixture.worker, &runs.out);
    }
    buf_clear(&runs.fixture.out);
    return 0;
}
