/* Requests on three threads while the state is written, images are made, and limits are reloaded:
 * what is on disk at the end is what the store holds. */
#include "../persist/state_fixture.h"

#include <pthread.h>

#define WORKERS 3
#define REQUESTS 20000
#define RELOADS 12

struct shared {
    struct state_fixture *state;
    pthread_rwlock_t reload; /* a worker asks by policies that stay for so long */
};

struct worker {
    struct shared *shared;
    pthread_t thread;
    uint64_t random;
};

static void *work(void *context)
{
    struct worker *worker = context;
    struct shared *shared = worker->shared;
    for (int i = 0; i < REQUESTS; i++) {
        (void)pthread_rwlock_rdlock(&shared->reload);
        struct state_fixture own = *shared->state; /* its own random numbers and clock */
        own.random = worker->random;
        own.now_ns += i * (int64_t)1000000;
        state_request(&own);
        worker->random = own.random;
        (void)pthread_rwlock_unlock(&shared->reload);
    }
    return NULL;
}

static void reload(struct shared *shared, uint64_t more)
{
    (void)pthread_rwlock_wrlock(&shared->reload);
    shared->state->now_ns += STATE_MINUTE;
    state_reload(shared->state, more);
    (void)pthread_rwlock_unlock(&shared->reload);
}

int main(void)
{
    struct state_fixture state;
    struct shared shared = {.state = &state};
    struct worker workers[WORKERS];
    struct buf why;
    uint64_t digest = 0;
    buf_init(&why, 0);
    state_begin(&state);
    STATE_REQUIRE(state_open(&state, &why));
    STATE_REQUIRE(pthread_rwlock_init(&shared.reload, NULL) == 0);
    for (uint64_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.shared = &shared, .random = 88172645463325252u + i};
        STATE_REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (uint64_t i = 0; i < RELOADS; i++) {
        (void)persist_request(state.persist, i % 2 == 0);
        (void)usleep(5000);
        reload(&shared, i % 5);
        STATE_REQUIRE(persist_write_now(state.persist));
        (void)store_sweep(state.store, state.now_ns, 500);
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        STATE_REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
    }
    state.now_ns += 60 * STATE_MINUTE;
    uint64_t before = state_digest_now(&state);
    struct persist_stats stats;
    persist_stats(state.persist, &stats);
    STATE_REQUIRE(stats.failed == 0 && stats.written >= RELOADS);
    STATE_REQUIRE(state_close(&state));
    STATE_REQUIRE(state_digest_of(&state, state.path, &digest, &why));
    STATE_REQUIRE(digest == before);
    (void)pthread_rwlock_destroy(&shared.reload);
    state_end(&state);
    buf_deinit(&why);
    return 0;
}
