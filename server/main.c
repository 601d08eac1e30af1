/* sluiced: the wiring. Everything is made in order, run, and given back in reverse. */
#include "base/clock.h"
#include "control.h"
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

static void complain(const char *what, const char *why)
{
    (void)fprintf(stderr, "sluiced: %s: %s\n", what, why);
}

static enum status make_counters(struct sluiced *self)
{
    struct store_config config = {.max_counters = self->config.max_counters,
                                  .max_memory_bytes = self->config.max_memory_bytes,
                                  .when_full = self->config.when_full};
    hash_random_key(&config.key);
    enum status status = state_read(&self->state, &config.key);
    if (status != STATUS_OK) {
        return status;
    }
    self->metrics = metrics_create(self->config.workers + 2);
    self->store = store_create(&config);
    if (self->metrics != NULL && self->store != NULL) {
        return STATUS_OK;
    }
    complain("counters", status_text(STATUS_NO_MEMORY));
    return STATUS_NO_MEMORY;
}

static enum status make_engine(struct sluiced *self)
{
    struct limits_file_report report;
    struct engine_config config = {.store = self->store, .metrics = self->metrics};
    limits_file_report_init(&report);
    watch_add(&self->watch, self->config.limits);
    watch_add(&self->watch, self->config.envoy_config);
    enum status status = control_load_limits(&self->config, self->metrics, self->store,
                                             &config.set, &report);
    struct slice lines = buf_slice(&report.text);
    if (status == STATUS_OK) {
        control_log_lines(LOG_LEVEL_WARN, "limits accepted with a warning", lines);
        const struct policy_set *set = config.set;
        self->engine = engine_create(&config);
        if (self->engine != NULL) {
            status = state_start(&self->state, self->store, set);
        } else {
            policy_set_destroy(&config.set);
            status = STATUS_NO_MEMORY;
            complain(self->config.limits, status_text(status));
        }
    } else if (lines.size > 0) {
        (void)fwrite(lines.data, 1, lines.size, stderr);
    } else {
        complain(self->config.limits, status_text(status));
    }
    limits_file_report_deinit(&report);
    return status;
}

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
        complain("workers", status_text(status));
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
        status = make_counters(self);
    }
    if (status == STATUS_OK) {
        status = make_engine(self);
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
    (void)uv_loop_init(&self.loop);
    int code = start(&self) == STATUS_OK ? run(&self) : self.stopped ? 0 : 1;
    code = stop(&self) ? code : 1;
    (void)uv_run(&self.loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&self.loop);
    config_deinit(&self.config);
    return code;
}
