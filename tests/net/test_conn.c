/* Connections over socket pairs with an adapter made for the test: what reaches it, when it is
 * asked again, how much is kept, and how a connection ends. */
#include "net/conn.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Lines: "x…\n" is answered by itself, "big\n" by a megabyte, "bye\n" ends the connection. At most
 * three lines a feed, so that the rest is presented again. */
enum { LINES_A_FEED = 3, BIG_BYTES = 1 << 20 };

static struct {
    unsigned feeds;
    size_t bytes; /* fed and consumed */
    unsigned opened;
    unsigned closed;
    unsigned gone;
} seen;

static void *lines_open(struct wire_worker *worker, const struct wire_peer *peer, struct buf *out)
{
    (void)worker;
    (void)peer;
    (void)out;
    seen.opened++;
    return &seen;
}

static void append_big(struct buf *out)
{
    uint8_t *at = buf_reserve(out, BIG_BYTES);
    cr_assert_not_null(at);
    memset(at, 'B', BIG_BYTES);
    buf_commit(out, BIG_BYTES);
}

static enum wire_result lines_feed(void *session, struct wire_worker *worker, struct slice in,
                                   size_t *consumed, int64_t now_ns, struct buf *out,
                                   uint64_t *answered)
{
    (void)session;
    (void)worker;
    (void)now_ns;
    seen.feeds++;
    for (int i = 0; i < LINES_A_FEED; i++) {
        const uint8_t *start = in.data + *consumed;
        const uint8_t *end = in.size == *consumed ? NULL
                                                  : memchr(start, '\n', in.size - *consumed);
        if (end == NULL) {
            return WIRE_MORE;
        }
        struct slice line = slice_make(start, (size_t)(end - start) + 1);
        *consumed += line.size;
        seen.bytes += line.size;
        *answered += 1;
        if (slice_equal_text(line, "big\n")) {
            append_big(out);
        } else if (slice_equal_text(line, "bye\n")) {
            buf_append_text(out, "goodbye\n");
            return WIRE_CLOSE;
        } else {
            buf_append_slice(out, line);
        }
    }
    return WIRE_FULL;
}

static bool lines_is_waiting(const void *session, size_t unconsumed)
{
    (void)session;
    return unconsumed > 0;
}

static void lines_timed_out(void *session, struct wire_worker *worker, struct buf *out)
{
    (void)session;
    (void)worker;
    buf_append_text(out, "too slow\n");
}

static bool lines_shutdown(void *session, struct buf *out)
{
    (void)session;
    buf_append_text(out, "going\n");
    return true;
}

static void lines_close(void **session)
{
    *session = NULL;
    seen.closed++;
}

static const struct wire_protocol lines = {.name = "lines",
                                           .metrics = METRICS_NATIVE,
                                           .input_bytes_max = 256 * 1024,
                                           .open = lines_open,
                                           .feed = lines_feed,
                                           .is_waiting = lines_is_waiting,
                                           .timed_out = lines_timed_out,
                                           .shutdown = lines_shutdown,
                                           .close = lines_close};

static void on_gone(void *data)
{
    (void)data;
    seen.gone++;
}

static uv_loop_t loop;
static struct metrics *metrics;
static struct wire_worker wire;
static struct conn_home home;
static int peer;

static void start(int64_t request_ns, int64_t idle_ns)
{
    int pair[2];
    metrics = metrics_create(1);
    wire = (struct wire_worker){.metrics = metrics_worker(metrics, 0)};
    cr_assert_eq(uv_loop_init(&loop), 0);
    home = (struct conn_home){.loop = &loop,
                              .wire = &wire,
                              .timeouts = {.request_ns = request_ns, .idle_ns = idle_ns},
                              .on_closed = on_gone};
    cr_assert_eq(conn_home_init(&home), STATUS_OK);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    peer = pair[0];
    struct conn_socket socket = {.fd = pair[1], .is_unix = true, .protocol = &lines};
    cr_assert_eq(conn_open(&home, &socket), STATUS_OK);
}

static void finish(void)
{
    conn_home_close_all(&home);
    conn_home_deinit(&home);
    cr_expect_eq(uv_run(&loop, UV_RUN_DEFAULT), 0);
    cr_expect_eq(home.count, 0);
    cr_expect_eq(seen.opened, seen.closed);
    cr_expect_eq(seen.gone, seen.closed);
    cr_expect_eq(metrics_read_connections(metrics, METRICS_NATIVE), 0);
    cr_expect_eq(uv_loop_close(&loop), 0);
    metrics_destroy(&metrics);
    close(peer);
}

static void turn(int times)
{
    for (int i = 0; i < times; i++) {
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
}

static void say(const char *text)
{
    cr_assert_eq(write(peer, text, strlen(text)), (ssize_t)strlen(text));
    turn(4);
}

/* Reads what is there; -1: nothing, 0: the end. */
static ssize_t hear(char *out, size_t size)
{
    ssize_t got = read(peer, out, size - 1);
    out[got > 0 ? got : 0] = '\0';
    return got;
}

static void expect_heard(const char *text)
{
    char got[256];
    (void)hear(got, sizeof(got));
    cr_expect_str_eq(got, text);
}

Test(conn, pieces_are_put_together_and_nothing_is_said_twice)
{
    start(0, 0);
    say("on");
    say("e\ntwo");
    expect_heard("one\n");
    say("\n");
    expect_heard("two\n");
    say("a\nb\nc\nd\ne\nf\ng");
    expect_heard("a\nb\nc\nd\ne\nf\n");
    say("\n");
    expect_heard("g\n");
    cr_expect_eq(metrics_read_duration_count(metrics, METRICS_NATIVE), 9);
    finish();
}

Test(conn, a_long_request_in_many_pieces)
{
    enum { SIZE = 200000 };
    char *line = malloc(SIZE);
    char *back = malloc(SIZE);
    size_t heard = 0;
    start(0, 0);
    memset(line, 'y', SIZE);
    line[SIZE - 1] = '\n';
    for (size_t at = 0; at < SIZE;) {
        size_t some = SIZE - at < 5000 ? SIZE - at : 5000;
        cr_assert_eq(write(peer, line + at, some), (ssize_t)some);
        at += some;
        turn(2);
    }
    for (int i = 0; i < 1000 && heard < SIZE; i++) {
        ssize_t got = read(peer, back + heard, SIZE - heard);
        heard += got > 0 ? (size_t)got : 0;
        turn(2);
    }
    cr_assert_eq(heard, SIZE);
    cr_expect_eq(memcmp(line, back, SIZE), 0);
    free(line);
    free(back);
    finish();
}

/* Reads `size` bytes; the last ones are left in `tail`. */
static void hear_all(size_t size, char *tail, size_t tail_size)
{
    static char bytes[65536];
    size_t heard = 0;
    for (int i = 0; i < 100000 && heard < size; i++) {
        ssize_t got = read(peer, bytes, sizeof(bytes));
        for (ssize_t at = 0; at < got; at++) {
            memmove(tail, tail + 1, tail_size - 1);
            tail[tail_size - 1] = bytes[at];
        }
        heard += got > 0 ? (size_t)got : 0;
        turn(1);
    }
    cr_assert_eq(heard, size);
}

Test(conn, a_peer_that_does_not_read_is_not_read_from)
{
    char tail[7];
    start(0, 0);
    say("big\nx\n");
    unsigned feeds = seen.feeds;
    say("more\n");
    turn(10);
    cr_expect_eq(seen.feeds, feeds, "nothing is fed while output waits");
    hear_all(BIG_BYTES + 2 + 5, tail, sizeof(tail));
    cr_expect_eq(memcmp(tail, "x\nmore\n", 7), 0);
    finish();
}

Test(conn, a_turn_is_bounded)
{
    enum { SIZE = 80000, TURN = 8 * 1024 };
    static char bytes[SIZE];
    size_t heard = 0;
    size_t before = 0;
    start(0, 0);
    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = i % 2 == 0 ? 'l' : '\n';
    }
    cr_assert_eq(write(peer, bytes, SIZE), SIZE);
    for (int i = 0; i < 1000 && heard < SIZE; i++) {
        turn(1);
        cr_expect_leq(seen.bytes - before, TURN, "others come first");
        before = seen.bytes;
        ssize_t got = read(peer, bytes, SIZE);
        heard += got > 0 ? (size_t)got : 0;
    }
    cr_expect_eq(seen.bytes, SIZE);
    cr_expect_eq(heard, SIZE);
    finish();
}

Test(conn, the_end_is_said_then_shut)
{
    char got[64];
    start(0, 0);
    say("x\nbye\nnever\n");
    expect_heard("x\ngoodbye\n");
    cr_expect_eq(hear(got, sizeof(got)), 0, "our side is shut");
    say("swallowed\n");
    cr_expect_eq(home.count, 1, "what comes is swallowed, not reset");
    shutdown(peer, SHUT_WR);
    turn(4);
    cr_expect_eq(home.count, 0, "gone once the peer is");
    finish();
}

static void wait_for_end(int most_ms)
{
    struct pollfd ready = {.fd = peer, .events = POLLIN};
    for (int i = 0; i < most_ms / 5 && poll(&ready, 1, 5) == 0; i++) {
        turn(1);
    }
    turn(4);
}

Test(conn, a_request_not_finished_in_time)
{
    start(40 * 1000000, 0);
    say("half");
    wait_for_end(5000);
    expect_heard("too slow\n");
    finish();
}

Test(conn, a_finished_request_starts_no_clock)
{
    start(40 * 1000000, 0);
    say("whole\n");
    expect_heard("whole\n");
    for (int i = 0; i < 30; i++) {
        usleep(5000);
        turn(1);
    }
    say("again\n");
    expect_heard("again\n");
    finish();
}

Test(conn, a_silent_one)
{
    char got[8];
    start(0, 40 * 1000000);
    wait_for_end(5000);
    cr_expect_eq(hear(got, sizeof(got)), 0);
    cr_expect_eq(home.count, 0);
    finish();
}

Test(conn, the_server_goes)
{
    start(0, 0);
    say("half a li");
    conn_home_stop(&home);
    turn(4);
    expect_heard("going\n");
    finish();
}

Test(conn, the_server_goes_while_answers_wait)
{
    char tail[8];
    start(0, 0);
    say("big\nx\n");
    conn_home_stop(&home);
    hear_all(BIG_BYTES + 2 + 6, tail, sizeof(tail));
    cr_expect_eq(memcmp(tail, "x\ngoing\n", 8), 0, "the answers, then the goodbye");
    finish();
}

Test(conn, a_peer_that_vanishes)
{
    start(0, 0);
    say("half");
    close(peer);
    turn(4);
    cr_expect_eq(home.count, 0);
    peer = dup(0);
    finish();
}
