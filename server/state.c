#include "state.h"

#include "base/clock.h"
#include "engine/engine_describe.h"
#include "engine/engine_map.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STATE_WAIT_NS (5 * CLOCK_NS_PER_MS)

static void complain(const struct buf *why)
{
    (void)fprintf(stderr, "sluiced: %.*s\n", (int)why->size,
                  why->data == NULL ? "" : (const char *)why->data + why->start);
}

/* ---- policies, for those who do not know them ---- */

static enum status read_policies(void *context, struct slice description, void **set,
                                 const struct store_policies **policies)
{
    struct policy_set *read;
    (void)context;
    enum status status = engine_describe_read(description, &read);
    if (status == STATUS_OK) {
        *set = read;
        *policies = &read->policies;
    }
    return status;
}

/* `context` is the set in force. */
static uint32_t *map_policies(void *context, const void *from, const void *to, struct buf *log)
{
    return engine_map_create(from, to == NULL ? context : to, log);
}

static void drop_policies(void *context, void *set)
{
    struct policy_set *read = set;
    (void)context;
    policy_set_destroy(&read);
}

/* ---- the life of a state ---- */

enum status state_open(struct state *state, const struct config *config)
{
    struct buf why;
    state->config = config;
    if (config->no_state) {
        return STATUS_OK;
    }
    buf_init(&why, 0);
    enum status status = state_dir_open(&state->dir, config->state_dir, &state->waiting, &why);
    state->open = status == STATUS_OK;
    if (!state->open) {
        (void)fprintf(stderr,
                      "sluiced: state directory %s: %.*s; name another with --state-dir, or run "
                      "with --no-state\n",
                      config->state_dir, (int)why.size, (const char *)why.data + why.start);
    }
    buf_deinit(&why);
    return status;
}

bool state_wait(struct state *state)
{
    struct timespec pause = {.tv_nsec = STATE_WAIT_NS};
    sigset_t stops;
    sigset_t before;
    bool stopped = false;
    if (!state->waiting) {
        return true;
    }
    LOG_EVENT(LOG_LEVEL_INFO, "waiting for the daemon that holds the state to leave",
              {"state-dir", slice_text(state->config->state_dir)});
    (void)sigemptyset(&stops);
    (void)sigaddset(&stops, SIGTERM);
    (void)sigaddset(&stops, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &stops, &before);
    while (!stopped && !state_dir_take(&state->dir)) {
        stopped = sigtimedwait(&stops, NULL, &pause) > 0;
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    state->waiting = stopped;
    return !stopped;
}

/* What cannot be loaded: refused, or put aside where the operator said so. */
static enum status bad_state(struct state *state, enum status status, struct buf *why)
{
    if (!state->config->empty_bad_state || status == STATUS_NO_MEMORY) {
        complain(why);
        return status;
    }
    LOG_EVENT(LOG_LEVEL_ERROR, "state cannot be loaded, it is moved aside and begun anew",
              {"why", buf_slice(why)});
    buf_clear(why);
    if (!state_dir_move_aside(&state->dir, clock_now_ns())) {
        buf_printf(why, "%s: the bad state cannot be moved aside", state->config->state_dir);
        complain(why);
        return STATUS_IO;
    }
    return STATUS_OK;
}

enum status state_read(struct state *state, struct hash_key *key)
{
    struct buf why;
    if (!state->open) {
        return STATUS_OK;
    }
    buf_init(&why, 0);
    enum status status = load_open(&state->load, &state->dir, &why);
    state->read = status == STATUS_OK;
    if (status != STATUS_OK) {
        status = bad_state(state, status, &why);
    } else if (state->load.file_count > 0) {
        *key = *load_key(&state->load);
    }
    buf_deinit(&why);
    return status;
}

static void forget_read(struct state *state)
{
    if (state->read) {
        load_close(&state->load);
        state->read = false;
    }
}

static void log_fresh(struct slice lines)
{
    while (lines.size > 0) {
        const uint8_t *end = memchr(lines.data, '\n', lines.size);
        size_t size = end == NULL ? lines.size : (size_t)(end - lines.data);
        LOG_EVENT(LOG_LEVEL_INFO, "limit starts fresh", {"what", slice_make(lines.data, size)});
        size += end != NULL;
        lines = slice_make(lines.data + size, lines.size - size);
    }
}

static void log_loaded(const struct state *state, const struct door_in_result *result,
                       int64_t took_ns)
{
    char counters[24];
    char forgotten[24];
    char dropped[24];
    char took[24];
    (void)snprintf(counters, sizeof(counters), "%llu", (unsigned long long)result->counters);
    (void)snprintf(forgotten, sizeof(forgotten), "%llu", (unsigned long long)result->forgotten);
    (void)snprintf(dropped, sizeof(dropped), "%llu",
                   (unsigned long long)state->load.dropped_bytes);
    (void)snprintf(took, sizeof(took), "%.3f", (double)took_ns / (double)CLOCK_NS_PER_S);
    LOG_EVENT(LOG_LEVEL_INFO, "state loaded", {"state-dir", slice_text(state->config->state_dir)},
              {"counters", slice_text(counters)}, {"forgotten", slice_text(forgotten)},
              {"sealed", slice_text(state->load.sealed ? "yes" : "no")},
              {"unfinished-bytes-dropped", slice_text(dropped)}, {"seconds", slice_text(took)});
}

static enum status load_counters(struct state *state, struct store *store,
                                 const struct policy_set *set, int64_t now_ns, struct buf *why)
{
    struct door_in_result result;
    struct buf log;
    struct load_policies policies = {.context = (void *)(uintptr_t)set,
                                     .in_force = &set->policies,
                                     .read = read_policies,
                                     .map = map_policies,
                                     .drop = drop_policies};
    if (!state->read || state->load.file_count == 0) {
        return STATUS_OK;
    }
    int64_t start_ns = clock_ticks_ns();
    buf_init(&log, 0);
    enum status status =
        load_into(&state->load, store, &policies, now_ns, &result, &log, why);
    if (status == STATUS_OK) {
        log_fresh(buf_slice(&log));
        log_loaded(state, &result, clock_ticks_ns() - start_ns);
    }
    buf_deinit(&log);
    return status;
}

enum status state_start(struct state *state, struct store *store, const struct policy_set *set)
{
    struct buf why;
    struct buf description;
    int64_t now_ns = clock_now_ns();
    if (!state->open) {
        return STATUS_OK;
    }
    buf_init(&why, 0);
    buf_init(&description, 0);
    enum status status = load_counters(state, store, set, now_ns, &why);
    if (status != STATUS_OK) {
        door_in_clear(store);
        forget_read(state);
        status = bad_state(state, status, &why);
        buf_clear(&why);
    }
    if (status == STATUS_OK) {
        engine_describe_write(set, &description);
        struct persist_config config = {.store = store,
                                        .dir = &state->dir,
                                        .load = state->read ? &state->load : NULL,
                                        .interval_ns = state->config->snapshot_interval_ns,
                                        .now_ns = now_ns,
                                        .policies = buf_slice(&description)};
        status = description.failed ? STATUS_NO_MEMORY
                                    : persist_create(&config, &state->persist, &why);
        if (status != STATUS_OK) {
            buf_append_text(&why, "; name another directory with --state-dir, or run with "
                                  "--no-state");
            complain(&why);
        }
    }
    forget_read(state);
    buf_deinit(&description);
    buf_deinit(&why);
    return status;
}

enum status state_reload(struct state *state, struct engine *engine, struct policy_set **next,
                         int64_t now_ns, struct buf *log)
{
    struct buf description;
    if (state->persist == NULL) {
        return engine_reload(engine, next, now_ns, log);
    }
    buf_init(&description, 0);
    engine_describe_write(*next, &description);
    enum status status = STATUS_NO_MEMORY;
    if (!description.failed) {
        persist_reload_begin(state->persist);
        status = engine_reload(engine, next, now_ns, log);
        persist_reload_end(state->persist, status == STATUS_OK, buf_slice(&description), now_ns);
    }
    buf_deinit(&description);
    return status;
}

void state_snapshot(struct state *state)
{
    if (state->persist == NULL) {
        log_event(LOG_LEVEL_WARN, "no snapshot: counters are in memory only", NULL, 0);
        return;
    }
    (void)persist_request(state->persist, true);
}

bool state_write_now(struct state *state, struct buf *why)
{
    if (state->persist == NULL) {
        buf_append_text(why, "no state is kept (--no-state)");
        return false;
    }
    if (!persist_write_now(state->persist)) {
        buf_printf(why, "the state in %s could not be written", state->config->state_dir);
        return false;
    }
    return true;
}

bool state_stats(const struct state *state, struct persist_stats *out)
{
    if (state->persist == NULL) {
        return false;
    }
    persist_stats(state->persist, out);
    return true;
}

bool state_has_successor(const struct state *state)
{
    return state->open && !state->waiting && state_dir_has_successor(&state->dir);
}

bool state_stop(struct state *state)
{
    struct buf why;
    if (!state->open) {
        return true;
    }
    buf_init(&why, 0);
    bool good = persist_destroy(&state->persist, &why);
    if (!good) {
        LOG_EVENT(LOG_LEVEL_ERROR, "state is not complete", {"why", buf_slice(&why)});
    }
    buf_deinit(&why);
    forget_read(state);
    state_dir_close(&state->dir);
    state->open = false;
    return good;
}
