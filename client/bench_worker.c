#include "bench_worker.h"

#include "bench_conn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define TICK_MS 20u
/* A server that says nothing for so long is given up. */
#define SILENCE_NS (10 * NS_PER_S)
/* Open loop: the timer is not set shorter; what is due meanwhile goes out together. */
#define DUE_NS_MIN INT64_C(20000)

static int64_t now_ns(void)
{
    return (int64_t)uv_hrtime();
}

static int64_t thread_cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * NS_PER_S + used.tv_nsec;
}

/* When the index-th frame of this thread is due. The threads take turns. */
static int64_t due_ns(const struct bench_worker *worker, uint64_t index)
{
    const struct bench_worker_config *config = &worker->config;
    uint64_t frame = index * config->threads + worker->config.thread;
    random_u128 ns = (random_u128)frame * config->batch * (uint64_t)NS_PER_S / config->rate;
    return worker->start_ns + (int64_t)ns;
}

static void begin_measuring(struct bench_worker *worker, int64_t since_ns)
{
    struct bench_result *result = &worker->result;
    if (!result->started) {
        result->started = true;
        result->start_ns = since_ns;
        result->last_ns = since_ns;
        worker->cpu_start_ns = thread_cpu_ns();
    }
}

bool bench_worker_turn(struct bench_worker *worker, int64_t now, struct bench_worker_turn *turn)
{
    bool open_loop = worker->config.rate > 0;
    int64_t since = open_loop ? due_ns(worker, worker->due_index) : now;
    if (!worker->sending || since > now) {
        return false;
    }
    turn->since_ns = since;
    turn->measured = since >= worker->measure_ns;
    turn->questions = worker->config.batch;
    if (turn->measured && worker->left < turn->questions) {
        turn->questions = (uint32_t)worker->left;
    }
    if (since >= worker->end_ns || turn->questions == 0) {
        worker->sending = false;
        return false;
    }
    if (turn->measured) {
        begin_measuring(worker, since);
        worker->left -= worker->left == UINT64_MAX ? 0 : turn->questions;
    }
    worker->due_index++;
    return true;
}

/* A frame that cannot be built cannot be built later either. */
static void push(struct bench_worker *worker, struct bench_conn *conn,
                 const struct bench_worker_turn *turn)
{
    if (!bench_conn_push(conn, turn)) {
        worker->sending = false;
        worker->result.missing += turn->questions;
        bench_result_trouble(&worker->result,
                             "a batch is larger than a daemon takes; choose a smaller --batch");
    }
}

static struct bench_conn *next_free_conn(struct bench_worker *worker)
{
    for (;;) {
        struct bench_conn *conn = &worker->conns[worker->next_conn];
        worker->next_conn = (worker->next_conn + 1) % worker->conn_count;
        if (!conn->closed && conn->free_count > 0) {
            return conn;
        }
    }
}

/* Where no slot is free an answer will call again. */
static void set_due_timer(struct bench_worker *worker, int64_t now)
{
    int64_t due = due_ns(worker, worker->due_index);
    due = due < now + DUE_NS_MIN ? now + DUE_NS_MIN : due;
    const struct itimerspec when = {.it_value = {due / NS_PER_S, due % NS_PER_S}};
    if (worker->sending && worker->free_total > 0) {
        (void)timerfd_settime(worker->due_fd, TFD_TIMER_ABSTIME, &when, NULL);
    }
}

static void pump_due(struct bench_worker *worker, int64_t now)
{
    struct bench_worker_turn turn;
    while (worker->free_total > 0 && bench_worker_turn(worker, now, &turn)) {
        struct bench_conn *conn = next_free_conn(worker);
        push(worker, conn, &turn);
        if (!conn->dirty) {
            conn->dirty = true;
            worker->dirty[worker->dirty_count++] = conn;
        }
    }
    while (worker->dirty_count > 0) {
        struct bench_conn *conn = worker->dirty[--worker->dirty_count];
        conn->dirty = false;
        bench_conn_flush(conn);
    }
    set_due_timer(worker, now);
}

void bench_worker_pump(struct bench_worker *worker, struct bench_conn *conn, int64_t now)
{
    struct bench_worker_turn turn;
    if (worker->config.rate > 0) {
        pump_due(worker, now);
        return;
    }
    while (conn->free_count > 0 && bench_worker_turn(worker, now, &turn)) {
        push(worker, conn, &turn);
    }
    bench_conn_flush(conn);
}

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* What was due and never sent is missing as much as what was sent and never answered. A run by time
 * that ends before its time misses the next one at least. */
static void count_unsent(struct bench_worker *worker)
{
    struct bench_result *result = &worker->result;
    uint64_t unsent = worker->left == UINT64_MAX ? 0 : worker->left;
    struct bench_worker_turn turn;
    if (worker->config.rate > 0 && worker->left == UINT64_MAX) {
        int64_t now = now_ns();
        int64_t next = due_ns(worker, worker->due_index);
        while (bench_worker_turn(worker, now > next ? now : next, &turn)) {
            unsent += turn.questions;
        }
    }
    result->missing += unsent;
    if (unsent > 0) {
        bench_result_trouble(result, "there was no connection left to ask on");
    }
}

void bench_worker_finish(struct bench_worker *worker)
{
    if (worker->over) {
        return;
    }
    worker->over = true;
    if (worker->result.started) {
        worker->result.cpu_ns = thread_cpu_ns() - worker->cpu_start_ns;
    }
    count_unsent(worker);
    worker->sending = false;
    for (uint32_t i = 0; i < worker->conn_count; i++) {
        bench_conn_close(&worker->conns[i]);
    }
    uv_walk(&worker->loop, close_handle, NULL);
}

void bench_worker_check_over(struct bench_worker *worker)
{
    bool done = !worker->sending && worker->outstanding == 0;
    if (done || worker->conns_open == 0) {
        bench_worker_finish(worker);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct bench_worker *worker = timer->data;
    int64_t now = now_ns();
    if (worker->config.rate == 0 && now >= worker->end_ns) {
        worker->sending = false;
    }
    if (worker->outstanding > 0 && now - worker->last_heard_ns > SILENCE_NS) {
        bench_result_trouble(&worker->result, "no answer came for 10 s");
        bench_worker_finish(worker);
        return;
    }
    bench_worker_check_over(worker);
}

static void on_due(uv_poll_t *poll, int status, int events)
{
    struct bench_worker *worker = poll->data;
    uint64_t times;
    (void)status;
    (void)events;
    if (read(worker->due_fd, &times, sizeof times) != (ssize_t)sizeof times) {
        return;
    }
    /* After a silence, what is outstanding has waited from now on, not from the last answer. */
    if (worker->outstanding == 0) {
        worker->last_heard_ns = now_ns();
    }
    pump_due(worker, now_ns());
    bench_worker_check_over(worker);
}

bool bench_worker_init(struct bench_worker *worker, const struct bench_worker_config *config,
                       const struct bench_load_cursor *cursor, const int *fds, uint32_t count,
                       bool is_unix)
{
    bool ok = uv_loop_init(&worker->loop) == 0;
    worker->config = *config;
    worker->cursor = *cursor;
    worker->due_fd = -1;
    bench_result_init(&worker->result);
    worker->conns = calloc((size_t)count + 1, sizeof *worker->conns);
    worker->dirty = calloc((size_t)count + 1, sizeof *worker->dirty);
    while ((UINT32_C(1) << worker->slot_bits) < config->in_flight) {
        worker->slot_bits++;
    }
    if (config->rate > 0) {
        worker->due_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        ok = ok && worker->due_fd >= 0;
    }
    ok = ok && worker->conns != NULL && worker->dirty != NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!ok) {
            close(fds[i]);
            continue;
        }
        worker->conn_count++;
        ok = bench_conn_init(&worker->conns[i], worker, fds[i], is_unix);
        worker->conns_open++;
    }
    worker->free_total = (uint64_t)count * config->in_flight;
    return ok;
}

void bench_worker_deinit(struct bench_worker *worker)
{
    uv_walk(&worker->loop, close_handle, NULL);
    (void)uv_run(&worker->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&worker->loop);
    for (uint32_t i = 0; i < worker->conn_count; i++) {
        bench_conn_deinit(&worker->conns[i]);
    }
    if (worker->due_fd >= 0) {
        close(worker->due_fd);
    }
    free(worker->conns);
    free(worker->dirty);
    bench_result_deinit(&worker->result);
}

static void start_timers(struct bench_worker *worker)
{
    (void)uv_timer_init(&worker->loop, &worker->tick);
    worker->tick.data = worker;
    (void)uv_timer_start(&worker->tick, on_tick, TICK_MS, TICK_MS);
    if (worker->due_fd >= 0) {
        (void)uv_poll_init(&worker->loop, &worker->due, worker->due_fd);
        worker->due.data = worker;
        (void)uv_poll_start(&worker->due, UV_READABLE, on_due);
    }
}

void bench_worker_begin(struct bench_worker *worker, int64_t start_ns)
{
    const struct bench_worker_config *config = &worker->config;
    worker->start_ns = start_ns;
    worker->measure_ns = start_ns + config->warmup_ns;
    worker->end_ns = config->duration_ns == INT64_MAX ? INT64_MAX
                                                      : worker->measure_ns + config->duration_ns;
    worker->left = config->requests;
    worker->last_heard_ns = now_ns();
    worker->sending = true;
}

int64_t bench_worker_due_ns(const struct bench_worker *worker)
{
    return worker->config.rate > 0 ? due_ns(worker, worker->due_index) : INT64_MAX;
}

void bench_worker_run(struct bench_worker *worker, int64_t start_ns)
{
    const struct bench_worker_config *config = &worker->config;
    bench_worker_begin(worker, start_ns);
    start_timers(worker);
    for (uint32_t i = 0; i < worker->conn_count; i++) {
        bench_conn_start(&worker->conns[i]);
    }
    for (uint32_t i = 0; i < worker->conn_count && config->rate == 0; i++) {
        bench_worker_pump(worker, &worker->conns[i], now_ns());
    }
    if (config->rate > 0) {
        pump_due(worker, now_ns());
    }
    (void)uv_run(&worker->loop, UV_RUN_DEFAULT);
}
