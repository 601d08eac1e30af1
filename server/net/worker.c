#include "net/worker.h"

#include "wire/access.h"
#include "wire/pb.h"
#include "wire/wire_scratch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* A socket on its way to a worker. */
struct worker_arrival {
    struct worker_arrival *next;
    struct conn_socket socket;
};

struct worker {
    pthread_t thread;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t deadline;
    uint64_t deadline_ms; /* set before `stopping` */
    struct conn_home home;
    struct wire_worker wire;
    struct arena arena;
    atomic_uint connections; /* handed over and not yet gone */
    atomic_bool stopping;

    pthread_mutex_t lock; /* guards the two below */
    struct worker_arrival *first;
    struct worker_arrival **last;
};

struct worker_pool {
    uint64_t max_connections;
    uint32_t serving; /* the first so many decide; one behind them is the admin thread */
    uint32_t count;   /* made */
    uint32_t started; /* threads that run */
    uint32_t next;    /* where the search for the emptiest begins: turns about */
    struct worker workers[];
};

static struct worker_arrival *worker_take_arrivals(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    struct worker_arrival *first = worker->first;
    worker->first = NULL;
    worker->last = &worker->first;
    pthread_mutex_unlock(&worker->lock);
    return first;
}

static void worker_on_closed(void *data)
{
    struct worker *worker = data;
    atomic_fetch_sub_explicit(&worker->connections, 1, memory_order_relaxed);
    if (worker->home.stopping && worker->home.count == 0) {
        uv_stop(&worker->loop);
    }
}

static void worker_out_of_time(uv_timer_t *timer)
{
    struct worker *worker = timer->data;
    conn_home_close_all(&worker->home);
}

/* Everybody is told; those that are still written to have until the deadline. */
static void worker_begin_stop(struct worker *worker)
{
    conn_home_stop(&worker->home);
    if (worker->home.count == 0) {
        uv_stop(&worker->loop);
        return;
    }
    (void)uv_timer_start(&worker->deadline, worker_out_of_time, worker->deadline_ms, 0);
}

static void worker_on_wake(uv_async_t *wake)
{
    struct worker *worker = wake->data;
    bool stopping = atomic_load(&worker->stopping);
    struct worker_arrival *arrival = worker_take_arrivals(worker);
    while (arrival != NULL) {
        struct worker_arrival *next = arrival->next;
        if (conn_open(&worker->home, &arrival->socket) != STATUS_OK) {
            metrics_connection_refused(worker->wire.metrics, arrival->socket.protocol->metrics);
            atomic_fetch_sub_explicit(&worker->connections, 1, memory_order_relaxed);
        }
        free(arrival);
        arrival = next;
    }
    if (stopping && !worker->home.stopping) {
        worker_begin_stop(worker);
    }
}

static void *worker_run(void *data)
{
    struct worker *worker = data;
    (void)uv_run(&worker->loop, UV_RUN_DEFAULT);
    return NULL;
}

static enum status worker_init_loop(struct worker *worker)
{
    if (uv_loop_init(&worker->loop) != 0) {
        return STATUS_NO_MEMORY;
    }
    if (uv_async_init(&worker->loop, &worker->wake, worker_on_wake) != 0) {
        (void)uv_loop_close(&worker->loop);
        return STATUS_NO_MEMORY;
    }
    (void)uv_timer_init(&worker->loop, &worker->deadline);
    worker->wake.data = worker;
    worker->deadline.data = worker;
    return STATUS_OK;
}

static void worker_deinit_loop(struct worker *worker)
{
    uv_close((uv_handle_t *)&worker->wake, NULL);
    uv_close((uv_handle_t *)&worker->deadline, NULL);
    (void)uv_run(&worker->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&worker->loop);
}

static void worker_deinit_wire(struct worker *worker)
{
    struct wire_scratch *scratch = worker->wire.scratch;
    access_let_go(&worker->wire);
    if (worker->wire.engine != NULL) {
        engine_worker_destroy(&worker->wire.engine);
    }
    wire_scratch_destroy(&scratch);
    arena_deinit(&worker->arena);
}

static enum status worker_init_wire(struct worker *worker, const struct worker_config *config,
                                    uint32_t index)
{
    worker->wire.config = config->wire;
    worker->wire.metrics = metrics_worker(config->metrics, index);
    worker->wire.arena = &worker->arena;
    worker->wire.engine = engine_worker_create(config->engine, worker->wire.metrics);
    worker->wire.scratch = wire_scratch_create();
    if (!pb_arena_init(&worker->arena) || worker->wire.engine == NULL ||
        worker->wire.scratch == NULL) {
        worker_deinit_wire(worker);
        return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

static enum status worker_init(struct worker *worker, const struct worker_config *config,
                               uint32_t index)
{
    enum status status = worker_init_wire(worker, config, index);
    if (status != STATUS_OK) {
        return status;
    }
    status = worker_init_loop(worker);
    if (status != STATUS_OK) {
        worker_deinit_wire(worker);
        return status;
    }
    worker->home = (struct conn_home){.loop = &worker->loop,
                                      .wire = &worker->wire,
                                      .timeouts = config->timeouts,
                                      .on_closed = worker_on_closed,
                                      .data = worker};
    status = conn_home_init(&worker->home);
    if (status != STATUS_OK) {
        worker_deinit_loop(worker);
        worker_deinit_wire(worker);
        return status;
    }
    worker->last = &worker->first;
    pthread_mutex_init(&worker->lock, NULL);
    return STATUS_OK;
}

static void worker_deinit(struct worker *worker)
{
    conn_home_close_all(&worker->home);
    conn_home_deinit(&worker->home);
    worker_deinit_loop(worker);
    worker_deinit_wire(worker);
    pthread_mutex_destroy(&worker->lock);
}

/* Threads inherit the mask: signals go to the main thread alone. */
static enum status worker_pool_start(struct worker_pool *pool)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    enum status status = STATUS_OK;
    while (status == STATUS_OK && pool->started < pool->count) {
        struct worker *worker = &pool->workers[pool->started];
        if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0) {
            status = STATUS_NO_MEMORY;
        } else {
            pool->started++;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

enum status worker_pool_create(const struct worker_config *config, struct worker_pool **out)
{
    uint32_t count = config->count + config->admin;
    struct worker_pool *pool = calloc(1, sizeof(*pool) + count * sizeof(struct worker));
    if (pool == NULL) {
        return STATUS_NO_MEMORY;
    }
    pool->max_connections = config->max_connections;
    pool->serving = config->count;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && pool->count < count) {
        /* The block behind those of the serving threads is the main thread's. */
        uint32_t block = pool->count + (pool->count == config->count);
        status = worker_init(&pool->workers[pool->count], config, block);
        pool->count += status == STATUS_OK;
    }
    if (status == STATUS_OK) {
        status = worker_pool_start(pool);
    }
    if (status != STATUS_OK) {
        worker_pool_destroy(&pool, 0);
    }
    *out = pool;
    return status;
}

uint64_t worker_pool_connections(const struct worker_pool *pool)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < pool->serving; i++) {
        sum += atomic_load_explicit(&pool->workers[i].connections, memory_order_relaxed);
    }
    return sum;
}

/* The one with the fewest connections, beginning at another each time. */
static struct worker *worker_pool_emptiest(struct worker_pool *pool)
{
    struct worker *best = NULL;
    unsigned least = 0;
    for (uint32_t i = 0; i < pool->serving; i++) {
        struct worker *worker = &pool->workers[(pool->next + i) % pool->serving];
        unsigned has = atomic_load_explicit(&worker->connections, memory_order_relaxed);
        if (best == NULL || has < least) {
            best = worker;
            least = has;
        }
    }
    pool->next = (pool->next + 1) % pool->serving;
    return best;
}

/* Who serves a socket; NULL: there is no room for it. */
static struct worker *worker_pool_for(struct worker_pool *pool, const struct conn_socket *socket)
{
    if (socket->peer.admin && pool->count > pool->serving) {
        struct worker *admin = &pool->workers[pool->serving];
        unsigned has = atomic_load_explicit(&admin->connections, memory_order_relaxed);
        return has < LIMITS_ADMIN_CONNECTIONS_MAX ? admin : NULL;
    }
    return worker_pool_connections(pool) < pool->max_connections ? worker_pool_emptiest(pool)
                                                                 : NULL;
}

bool worker_pool_take(struct worker_pool *pool, const struct conn_socket *socket)
{
    struct worker *worker = worker_pool_for(pool, socket);
    struct worker_arrival *arrival = worker == NULL ? NULL : malloc(sizeof(*arrival));
    if (arrival == NULL) {
        return false;
    }
    *arrival = (struct worker_arrival){.socket = *socket};
    atomic_fetch_add_explicit(&worker->connections, 1, memory_order_relaxed);
    pthread_mutex_lock(&worker->lock);
    *worker->last = arrival;
    worker->last = &arrival->next;
    pthread_mutex_unlock(&worker->lock);
    (void)uv_async_send(&worker->wake);
    return true;
}

void worker_pool_destroy(struct worker_pool **pool_at, uint64_t deadline_ms)
{
    struct worker_pool *pool = *pool_at;
    if (pool == NULL) {
        return;
    }
    for (uint32_t i = 0; i < pool->started; i++) {
        struct worker *worker = &pool->workers[i];
        worker->deadline_ms = deadline_ms;
        atomic_store(&worker->stopping, true);
        (void)uv_async_send(&worker->wake);
    }
    for (uint32_t i = 0; i < pool->started; i++) {
        (void)pthread_join(pool->workers[i].thread, NULL);
    }
    for (uint32_t i = 0; i < pool->count; i++) {
        worker_deinit(&pool->workers[i]);
    }
    free(pool);
    *pool_at = NULL;
}
