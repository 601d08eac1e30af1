/* sluiced: the wiring. Everything is made in order, run, and given back in reverse. */
#include "base/clock.h"
#include "control.h"
#include "core.h"
#include "notify.h"
#include "operator.h"
#include "ports.h"

#include <signal.h>
#include <stdio.h>

struct sluiced {
    struct config config;
    struct state state;
    struct wire_config wire;
    struct metrics *metrics;
    struct store *store;
    struct engine *engine;
    uv_loop_t loop;
    struct ports ports;
    struct worker_pool *workers;
    struct watch watch;
    struct secrets secrets;
    struct control control;
    struct operator operator;
    bool stopped; /* told to stop before it was ready */
};

static enum status start_workers(struct sluiced *self)
{
    self->wire.allow_changes = self->config.allow_changes;
    self->wire.x_ratelimit_headers = self->config.x_ratelimit_headers;
    self->wire.admin = &self->operator.admin;
    self->wire.access = self->secrets.access;
    struct worker_config config = {.count = self->config.workers,
                                   .max_connections = self->config.max_connections,
                                   .timeouts = {.request_ns = self->config.request_timeout_ns,
                                                .idle_ns = self->config.idle_timeout_ns},
                                   .admin = ports_have_admin(&self->ports),
                                   .wire = &self->wire,
                                   .engine = self->engine,
                                   .metrics = self->metrics};
    enum status status = worker_pool_create(&config, &self->workers);
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "sluiced: workers: %s\n", status_text(status));
        return status;
    }
    return ports_start(&self->ports, &self->loop, self->workers,
                       metrics_worker(self->metrics, self->config.workers), &self->secrets);
}

static void say_ready(struct sluiced *self)
{
    ports_say(&self->ports);
    (void)printf("ready\n");
    (void)fflush(stdout);
    LOG_EVENT(LOG_LEVEL_INFO, "ready", {"version", slice_text(SLUICE_VERSION)},
              {"limits", slice_text(self->config.limits)});
    if (self->config.no_state) {
        log_event(LOG_LEVEL_INFO, "counters are in memory only: a restart forgets them", NULL, 0);
    }
    if (ports_are_public(&self->ports)) {
        secrets_warn(&self->secrets);
    }
    notify_ready();
}

/* Before the threads that may ask for something. */
static void make_control(struct sluiced *self)
{
    self->control = (struct control){.config = &self->config,
                                     .engine = self->engine,
                                     .metrics = self->metrics,
                                     .state = &self->state,
                                     .watch = &self->watch,
                                     .secrets = &self->secrets,
                                     .loop = &self->loop};
    self->operator = (struct operator){.control = &self->control,
                                       .metrics = self->metrics,
                                       .engine = self->engine};
    control_init(&self->control);
    operator_init(&self->operator);
}

/* Each step is made only where those before it stand. */
static enum status start(struct sluiced *self)
{
    enum status status = secrets_open(&self->secrets, &self->config);
    if (status == STATUS_OK) {
        status = state_open(&self->state, &self->config);
    }
    if (status == STATUS_OK) {
        status = ports_open(&self->ports, &self->config, &self->state);
    }
    if (status == STATUS_OK && self->state.waiting) {
        status = control_try_limits(&self->config);
    }
    if (status == STATUS_OK && !state_wait(&self->state)) {
        self->stopped = true;
        status = STATUS_UNAVAILABLE;
    }
    if (status == STATUS_OK) {
        ports_settle(&self->ports);
        status = core_make_store(&self->config, &self->state, &self->metrics, &self->store);
    }
    if (status == STATUS_OK) {
        watch_add(&self->watch, self->config.limits);
        watch_add(&self->watch, self->config.envoy_config);
        status = core_make_engine(&self->config, &self->state, self->metrics, self->store,
                                  &self->engine);
    }
    if (status == STATUS_OK) {
        make_control(self);
        status = start_workers(self);
    }
    return status;
}

/* False: the state could not be written. */
static bool stop(struct sluiced *self)
{
    if (state_has_successor(&self->state)) {
        ports_hand_over(&self->ports);
    }
    ports_close(&self->ports);
    worker_pool_destroy(&self->workers,
                        (uint64_t)(self->config.shutdown_timeout_ns / CLOCK_NS_PER_MS));
    bool kept = state_stop(&self->state);
    if (self->control.loop != NULL) {
        control_deinit(&self->control);
    }
    if (self->engine != NULL) {
        engine_destroy(&self->engine);
    }
    secrets_close(&self->secrets);
    store_destroy(&self->store);
    metrics_destroy(&self->metrics);
    return kept;
}

static int run(struct sluiced *self)
{
    enum status status = control_start(&self->control);
    if (status == STATUS_OK) {
        secrets_start(&self->secrets, &self->loop);
        say_ready(self);
        (void)uv_run(&self->loop, UV_RUN_DEFAULT);
    }
    secrets_stop(&self->secrets);
    control_stop(&self->control);
    return status == STATUS_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct sluiced self = {0};
    enum config_result result = config_load(&self.config, argc, argv);
    if (result != CONFIG_RUN) {
        config_deinit(&self.config);
        return result == CONFIG_PRINTED ? 0 : 2;
    }
    clock_start();
    log_setup(self.config.log_level, self.config.log_json);
    config_raise_files(&self.config);
    (void)signal(SIGPIPE, SIG_IGN);
    /* Until control_start, which is after a hand-over's wait: nothing to read again or to write. */
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGUSR1, SIG_IGN);
    (void)uv_loop_init(&self.loop);
    int code = start(&self) == STATUS_OK ? run(&self) : self.stopped ? 0 : 1;
    code = stop(&self) ? code : 1;
    (void)uv_run(&self.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&self.loop);
    config_deinit(&self.config);
    return code;
}
