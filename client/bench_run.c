#include "bench_run.h"

#include "bench_web.h"
#include "bench_worker.h"
#include "sluice_login.h"
#include "sluice_resolve.h"
#include "sluice_socket.h"
#include "sluice_url.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define NS_PER_MS INT64_C(1000000)
#define CONNECT_NS (5000 * NS_PER_MS)
#define PROGRESS_MS 200u

/* One bench in the making. */
struct run {
    const struct bench_run_options *options;
    const struct bench_load *load;
    struct sluice_url url;
    struct sluice_resolve_addresses addresses;
    int *fds;
    struct bench_worker *workers;
    uint32_t worker_count;
    pthread_t *threads;
    int64_t start_ns;
    atomic_uint finished;
};

struct start {
    struct run *run;
    struct bench_worker *worker;
};

static bool resolve(struct run *run, struct buf *message)
{
    const char *why = "it did not answer in time";
    if (run->url.is_unix ||
        sluice_resolve_numeric(run->url.host, run->url.port, &run->addresses)) {
        return true;
    }
    struct sluice_resolve *lookup = sluice_resolve_begin(run->url.host, run->url.port);
    if (lookup == NULL) {
        buf_append_text(message, "out of memory");
        return false;
    }
    enum sluice_status status = sluice_resolve_wait(
        lookup, sluice_socket_now_ns() + CONNECT_NS, &run->addresses, &why);
    sluice_resolve_drop(&lookup);
    if (status != SLUICE_OK) {
        buf_printf(message, "%s cannot be looked up: %s", run->url.host, why);
    }
    return status == SLUICE_OK;
}

static enum sluice_status connect_one(struct run *run, int *fd)
{
    int64_t deadline_ns = sluice_socket_now_ns() + CONNECT_NS;
    if (run->url.is_unix) {
        return sluice_socket_connect_unix(run->url.path, deadline_ns, fd);
    }
    enum sluice_status status = SLUICE_UNREACHABLE;
    for (size_t i = 0; i < run->addresses.count && status != SLUICE_OK; i++) {
        status = sluice_socket_connect((const struct sockaddr *)&run->addresses.list[i].storage,
                                       run->addresses.list[i].size, deadline_ns, fd);
    }
    return status;
}

/* False: *message says why. */
static bool log_in(const struct run *run, int fd, struct buf *message)
{
    const struct sluice_login login = {.fd = fd,
                                       .is_resp = run->url.scheme == SLUICE_URL_RESP,
                                       .token = run->options->secure.token,
                                       .deadline_ns = sluice_socket_now_ns() + CONNECT_NS};
    char why[256] = "";
    if (login.token == NULL || sluice_login(&login, why, sizeof why) == SLUICE_OK) {
        return true;
    }
    buf_append_text(message, why);
    return false;
}

static void close_all(const struct run *run, uint32_t count)
{
    while (count > 0) {
        close(run->fds[--count]);
    }
}

/* All or none. */
static bool connect_all(struct run *run, struct buf *message)
{
    uint32_t count = run->options->connections;
    run->fds = calloc(count, sizeof *run->fds);
    if (run->fds == NULL) {
        buf_append_text(message, "out of memory");
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        enum sluice_status status = connect_one(run, &run->fds[i]);
        if (status == SLUICE_OK && log_in(run, run->fds[i], message)) {
            continue;
        }
        if (status != SLUICE_OK) {
            buf_printf(message, "connection %u of %u to %s: %s", i + 1, count,
                       run->options->server,
                       status == SLUICE_TIMEOUT ? "no answer within 5 s" : strerror(errno));
        }
        close_all(run, status == SLUICE_OK ? i + 1 : i);
        return false;
    }
    return true;
}

static bool is_web(const struct run *run)
{
    return run->url.scheme == SLUICE_URL_HTTP || run->url.scheme == SLUICE_URL_GRPC;
}

static uint64_t share_of(uint64_t total, uint32_t index, uint32_t parts)
{
    return total / parts + (index < total % parts);
}

static bool init_workers(struct run *run)
{
    const struct bench_run_options *options = run->options;
    uint32_t threads = options->threads;
    const int *fds = run->fds;
    bool ok = true;
    run->workers = calloc(threads, sizeof *run->workers);
    run->threads = calloc(threads, sizeof *run->threads);
    if (run->workers == NULL || run->threads == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < threads; i++) {
        struct bench_load_cursor cursor;
        const struct bench_worker_config config = {
            .in_flight = options->in_flight,
            .batch = options->batch == 0 ? 1 : options->batch,
            .is_batch = options->batch > 0,
            .is_resp = run->url.scheme == SLUICE_URL_RESP,
            .requests = options->requests == 0 ? UINT64_MAX
                                               : share_of(options->requests, i, threads),
            .warmup_ns = options->warmup_ns,
            .duration_ns = options->requests == 0 ? options->duration_ns : INT64_MAX,
            .rate = options->rate,
            .thread = i,
            .threads = threads,
        };
        uint32_t count = (uint32_t)share_of(options->connections, i, threads);
        bench_load_start(&cursor, run->load, i, threads);
        ok = bench_worker_init(&run->workers[i], &config, &cursor, fds, is_web(run) ? 0 : count,
                               run->url.is_unix) && ok;
        run->worker_count++;
        if (is_web(run)) {
            run->workers[i].web =
                bench_web_create(&run->url, &options->secure, count, options->in_flight);
            ok = ok && run->workers[i].web != NULL;
        } else {
            fds += count;
        }
    }
    return ok;
}

static void *run_worker(void *argument)
{
    struct start *start = argument;
    struct run *run = start->run;
    if (start->worker->web != NULL) {
        bench_web_run(start->worker->web, start->worker, run->start_ns);
    } else {
        bench_worker_run(start->worker, run->start_ns);
    }
    free(start);
    atomic_fetch_add(&run->finished, 1);
    return NULL;
}

static bool start_threads(struct run *run, uint32_t *started)
{
    run->start_ns = (int64_t)uv_hrtime();
    for (*started = 0; *started < run->worker_count; ++*started) {
        struct start *start = malloc(sizeof *start);
        if (start == NULL) {
            return false;
        }
        *start = (struct start){run, &run->workers[*started]};
        if (pthread_create(&run->threads[*started], NULL, run_worker, start) != 0) {
            free(start);
            return false;
        }
    }
    return true;
}

static void show_progress(struct run *run)
{
    uint64_t before = 0;
    int64_t then = run->start_ns;
    while (atomic_load(&run->finished) < run->worker_count) {
        uint64_t answers = 0;
        uv_sleep(PROGRESS_MS);
        for (uint32_t i = 0; i < run->worker_count; i++) {
            answers += atomic_load_explicit(&run->workers[i].progress, memory_order_relaxed);
        }
        int64_t now = (int64_t)uv_hrtime();
        uint32_t batch = run->options->batch == 0 ? 1 : run->options->batch;
        double rate = (double)((answers - before) * batch) * 1e9 / (double)(now - then);
        (void)fprintf(stderr, "\r%6.1f s  %12.0f requests/s ", (double)(now - run->start_ns) / 1e9,
                      rate);
        (void)fflush(stderr);
        before = answers;
        then = now;
    }
    (void)fprintf(stderr, "\r%40s\r", "");
}

static void deinit(struct run *run)
{
    for (uint32_t i = 0; i < run->worker_count; i++) {
        bench_web_destroy(&run->workers[i].web);
        bench_worker_deinit(&run->workers[i]);
    }
    free(run->workers);
    free(run->threads);
    free(run->fds);
}

/* The soft limit on open files is a default, not a wish. */
static void raise_file_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

bool bench_run(const struct bench_run_options *options, const struct bench_load *load,
               struct bench_result *result, struct buf *message)
{
    struct run run = {.options = options, .load = load};
    char why[512] = "";
    uint32_t started = 0;
    raise_file_limit();
    if (sluice_url_parse(options->server, &run.url, why, sizeof why) != SLUICE_OK) {
        buf_append_text(message, why);
        return false;
    }
    if (!is_web(&run) && (!resolve(&run, message) || !connect_all(&run, message))) {
        deinit(&run);
        return false;
    }
    bool ok = init_workers(&run) && start_threads(&run, &started);
    if (ok && options->show_progress) {
        show_progress(&run);
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(run.threads[i], NULL);
        bench_result_add(result, &run.workers[i].result);
    }
    if (!ok) {
        buf_append_text(message, "out of memory or threads");
    }
    deinit(&run);
    return ok;
}
