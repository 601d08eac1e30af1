/* links: sluice_wire */
/* Any bytes through the Redis adapter, whole and split: never a crash, the same replies both ways,
 * and every reply is one that a client can read. */
#include "../wire/resp_fixture.h"
#include "wire/resp_turn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says how the rest is split. */
static void feed_split(struct fixture *fixture, struct slice bytes, size_t step, struct buf *out)
{
    enum wire_result result = WIRE_MORE;
    for (size_t at = 0; at < bytes.size && result == WIRE_MORE; at += step) {
        size_t left = bytes.size - at;
        result = resp_fixture_feed(fixture,
                                   slice_make(bytes.data + at, left < step ? left : step), out);
    }
}

/* The end of the line at `at`. */
static size_t line_end(struct slice replies, size_t at)
{
    const uint8_t *end = memchr(replies.data + at, '\r', replies.size - at);
    fixture_require(end != NULL, "a line without an end");
    size_t behind = (size_t)(end - replies.data) + 2;
    fixture_require(behind <= replies.size && end[1] == '\n', "a line without LF");
    return behind;
}

/* Walks over all replies: how many more values are due after each header. */
static void read_replies(struct slice replies)
{
    uint64_t due = 0;
    for (size_t at = 0; at < replies.size;) {
        uint8_t type = replies.data[at];
        size_t next = line_end(replies, at);
        long long number = strtoll((const char *)replies.data + at + 1, NULL, 10);
        fixture_require(memchr("+-:$*%_", type, 7) != NULL, "a type that no client knows");
        if (type == '$' && number >= 0) {
            next += (size_t)number + 2;
            fixture_require(next <= replies.size, "a bulk string cut short");
            fixture_require(memcmp(replies.data + next - 2, "\r\n", 2) == 0, "a wrong length");
        }
        due -= due > 0;
        due += type == '*' ? (uint64_t)number : type == '%' ? 2 * (uint64_t)number : 0;
        at = next;
    }
    fixture_require(due == 0, "an array cut short");
}

/* Two engines serve many runs, in step: what one has counted the other has too. */
#define HOUR_NS (INT64_C(3600) * 1000000000)
#define RUNS_AN_ENGINE 2000

struct runs {
    struct fixture whole;
    struct fixture split;
    struct buf whole_out;
    struct buf split_out;
    uint32_t left;
};

static void start_over(struct fixture *fixture)
{
    resp_fixture_close(fixture);
    fixture->now_ns += HOUR_NS;
    resp_fixture_open(fixture);
    ((struct resp_session *)fixture->session)->id = 7; /* else random, and no two replies alike */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct runs runs;
    if (size < 1) {
        return 0;
    }
    if (runs.left == 0) {
        if (runs.whole.engine != NULL) {
            resp_fixture_deinit(&runs.whole);
            resp_fixture_deinit(&runs.split);
        }
        resp_fixture_init(&runs.whole);
        resp_fixture_init(&runs.split);
        runs.left = RUNS_AN_ENGINE;
    }
    runs.left--;
    struct slice bytes = slice_make(data + 1, size - 1);
    buf_clear(&runs.whole_out);
    buf_clear(&runs.split_out);
    start_over(&runs.whole);
    start_over(&runs.split);
    (void)resp_fixture_feed(&runs.whole, bytes, &runs.whole_out);
    feed_split(&runs.split, bytes, 1 + data[0] % 64u, &runs.split_out);
    read_replies(buf_slice(&runs.whole_out));
    fixture_require(slice_equal(buf_slice(&runs.whole_out), buf_slice(&runs.split_out)),
                    "split reads differ");
    return 0;
}
