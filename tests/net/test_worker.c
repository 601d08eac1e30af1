/* Connections are handed out evenly, no more than allowed, and told when the server goes. */
#include "net/worker.h"

#include "wire/native_fixture.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORKERS = 4, MOST = 10 };

/* Who opened how many; a worker is known by the metrics block it lends. */
static atomic_uintptr_t owners[WORKERS];
static atomic_uint opened_by[WORKERS];
static atomic_uint opened;
static atomic_uint closed;

static void *count_open(struct wire_worker *worker, const struct wire_peer *peer, struct buf *out)
{
    (void)peer;
    for (int i = 0; i < WORKERS; i++) {
        uintptr_t none = 0;
        uintptr_t me = (uintptr_t)worker->metrics;
        if (atomic_load(&owners[i]) == me ||
            atomic_compare_exchange_strong(&owners[i], &none, me)) {
            atomic_fetch_add(&opened_by[i], 1);
            break;
        }
    }
    buf_append_text(out, "hello\n");
    atomic_fetch_add(&opened, 1);
    return &opened;
}

static enum wire_result count_feed(void *session, struct wire_worker *worker, struct slice in,
                                   size_t *consumed, int64_t now_ns, struct buf *out,
                                   uint64_t *answered)
{
    (void)session;
    (void)worker;
    (void)now_ns;
    (void)answered;
    buf_append_slice(out, in);
    *consumed = in.size;
    return WIRE_MORE;
}

static bool count_is_waiting(const void *session, size_t unconsumed)
{
    (void)session;
    return unconsumed > 0;
}

static bool count_shutdown(void *session, struct buf *out)
{
    (void)session;
    buf_append_text(out, "going\n");
    return true;
}

static void count_close(void **session)
{
    *session = NULL;
    atomic_fetch_add(&closed, 1);
}

static const struct wire_protocol counting = {.name = "counting",
                                              .metrics = METRICS_NATIVE,
                                              .input_bytes_max = 1024,
                                              .open = count_open,
                                              .feed = count_feed,
                                              .is_waiting = count_is_waiting,
                                              .shutdown = count_shutdown,
                                              .close = count_close};

/* One end of a pair goes to the pool; the other is returned, or -1. */
static int hand_over_as(struct worker_pool *pool, bool admin)
{
    int pair[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    struct conn_socket socket = {
        .fd = pair[1], .is_unix = true, .protocol = &counting, .peer = {.admin = admin}};
    if (worker_pool_take(pool, &socket)) {
        return pair[0];
    }
    close(pair[0]);
    close(pair[1]);
    return -1;
}

static int hand_over(struct worker_pool *pool)
{
    return hand_over_as(pool, false);
}

static void expect_line(int fd, const char *line)
{
    char got[16] = "";
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    cr_assert_eq(poll(&ready, 1, 20000), 1);
    cr_assert_eq(read(fd, got, strlen(line)), (ssize_t)strlen(line));
    cr_expect_str_eq(got, line);
}

Test(worker, even_bounded_and_told, .timeout = 60)
{
    struct fixture world;
    struct worker_pool *pool;
    int peers[MOST];
    fixture_init(&world);
    struct metrics *metrics = metrics_create(WORKERS + 1);
    struct worker_config config = {.count = WORKERS,
                                   .max_connections = MOST,
                                   .wire = &world.config,
                                   .engine = world.engine,
                                   .metrics = metrics};
    cr_assert_eq(worker_pool_create(&config, &pool), STATUS_OK);
    for (int i = 0; i < 2 * WORKERS; i++) {
        peers[i] = hand_over(pool);
        expect_line(peers[i], "hello\n");
    }
    for (int i = 0; i < WORKERS; i++) {
        cr_expect_eq(atomic_load(&opened_by[i]), 2, "worker %d has %u", i,
                     atomic_load(&opened_by[i]));
    }
    for (int i = 2 * WORKERS; i < MOST; i++) {
        peers[i] = hand_over(pool);
        expect_line(peers[i], "hello\n");
    }
    cr_expect_eq(hand_over(pool), -1, "one more than allowed");
    cr_expect_eq(worker_pool_connections(pool), MOST);
    cr_expect_eq(metrics_read_connections(metrics, METRICS_NATIVE), MOST);
    cr_assert_eq(write(peers[3], "echo\n", 5), 5);
    expect_line(peers[3], "echo\n");
    close(peers[0]);
    while (worker_pool_connections(pool) == MOST) {
        usleep(1000);
    }
    peers[0] = hand_over(pool);
    expect_line(peers[0], "hello\n");
    worker_pool_destroy(&pool, 5000);
    cr_expect_null(pool);
    for (int i = 0; i < MOST; i++) {
        expect_line(peers[i], "going\n");
        close(peers[i]);
    }
    cr_expect_eq(atomic_load(&opened), MOST + 1);
    cr_expect_eq(atomic_load(&closed), MOST + 1);
    metrics_destroy(&metrics);
    fixture_deinit(&world);
}

/* Peers of admin listeners have a thread, and a bound, of their own. */
Test(worker, admin_beside_the_others, .timeout = 60)
{
    struct fixture world;
    struct worker_pool *pool;
    int peers[2 + LIMITS_ADMIN_CONNECTIONS_MAX];
    fixture_init(&world);
    struct metrics *metrics = metrics_create(1 + 2);
    struct worker_config config = {.count = 1,
                                   .max_connections = 1,
                                   .admin = true,
                                   .wire = &world.config,
                                   .engine = world.engine,
                                   .metrics = metrics};
    cr_assert_eq(worker_pool_create(&config, &pool), STATUS_OK);
    peers[0] = hand_over(pool);
    expect_line(peers[0], "hello\n");
    cr_expect_eq(hand_over(pool), -1, "no room for another");
    for (int i = 1; i <= LIMITS_ADMIN_CONNECTIONS_MAX; i++) {
        peers[i] = hand_over_as(pool, true);
        cr_assert_geq(peers[i], 0);
        expect_line(peers[i], "hello\n");
    }
    cr_expect_eq(hand_over_as(pool, true), -1, "nor for one more operator");
    cr_expect_eq(worker_pool_connections(pool), 1);
    cr_expect_gt(metrics_read_connection_bytes(metrics), 0);
    worker_pool_destroy(&pool, 5000);
    cr_expect_eq(metrics_read_connection_bytes(metrics), 0);
    for (int i = 0; i <= LIMITS_ADMIN_CONNECTIONS_MAX; i++) {
        expect_line(peers[i], "going\n");
        close(peers[i]);
    }
    metrics_destroy(&metrics);
    fixture_deinit(&world);
}
