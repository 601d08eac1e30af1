#include "control.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/envoy_config.h"
#include "notify.h"

#include <signal.h>
#include <stdio.h>

/* House-keeping takes small bites, for it may share a core with a worker: a step looks at this many
 * counters, a turn is short and grows only while one after another leaves something to do, and
 * turns come quickly only then. */
#define CONTROL_SWEEP_BUDGET 256
#define CONTROL_TURN_LEAST_NS (CLOCK_NS_PER_MS / 10)
#define CONTROL_TURN_GROWTH_NS (CLOCK_NS_PER_MS / 50)
#define CONTROL_TURN_LONGEST_NS CLOCK_NS_PER_MS
#define CONTROL_BUSY_MS 20
#define CONTROL_HURRY_MS 2 /* a new file waits for the one before to be applied */
#define CONTROL_IDLE_MS 500
#define CONTROL_REMINDER_MS 60000

static const int control_numbers[CONTROL_SIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

enum status control_load_limits(const struct config *config, struct metrics *metrics,
                                const struct store *store, struct policy_set **out,
                                struct limits_file_report *report)
{
    struct limits_file_options options = {.key = store_hash_key(store),
                                          .metrics = metrics,
                                          .shadow_all = config->shadow_all,
                                          .envoy_path = config->envoy_config,
                                          .envoy_classic = config->envoy_classic,
                                          .now_ns = clock_now_ns()};
    return limits_file_load(config->limits, &options, out, report);
}

enum status control_try_limits(const struct config *config)
{
    struct hash_key key = {{0}};
    struct policy_set *set = NULL;
    struct limits_file_report report;
    struct limits_file_options options = {.key = &key,
                                          .envoy_path = config->envoy_config,
                                          .envoy_classic = config->envoy_classic,
                                          .now_ns = clock_now_ns()};
    limits_file_report_init(&report);
    enum status status = limits_file_load(config->limits, &options, &set, &report);
    if (status == STATUS_OK) {
        policy_set_destroy(&set);
    } else if (report.text.size > 0) {
        (void)fwrite(report.text.data + report.text.start, 1, report.text.size, stderr);
    } else {
        (void)fprintf(stderr, "sluiced: %s: %s\n", config->limits, status_text(status));
    }
    limits_file_report_deinit(&report);
    return status;
}

void control_log_lines(enum log_level level, const char *event, struct slice lines)
{
    while (lines.size > 0) {
        const uint8_t *end = memchr(lines.data, '\n', lines.size);
        size_t size = end == NULL ? lines.size : (size_t)(end - lines.data);
        LOG_EVENT(level, event, {"what", slice_make(lines.data, size)});
        size += end != NULL;
        lines = slice_make(lines.data + size, lines.size - size);
    }
}

/* ---- calls of the admin thread ---- */

void control_init(struct control *control)
{
    pthread_mutex_init(&control->lock, NULL);
    pthread_cond_init(&control->done, NULL);
}

void control_deinit(struct control *control)
{
    pthread_cond_destroy(&control->done);
    pthread_mutex_destroy(&control->lock);
}

bool control_is_open(struct control *control)
{
    pthread_mutex_lock(&control->lock);
    bool open = control->open;
    pthread_mutex_unlock(&control->lock);
    return open;
}

bool control_reload(struct control *control, struct buf *errors)
{
    struct control_call call = {.text = errors};
    pthread_mutex_lock(&control->lock);
    if (control->open) {
        call.next = control->asked;
        control->asked = &call;
        (void)uv_async_send(&control->wake);
        while (!call.done) {
            pthread_cond_wait(&control->done, &control->lock);
        }
    } else {
        buf_append_text(errors, "the daemon does not serve\n");
    }
    pthread_mutex_unlock(&control->lock);
    return call.good;
}

/* Answers a list of calls. The callers' memory is theirs again afterwards. */
static void control_answer(struct control *control, struct control_call **calls, bool good,
                           struct slice text)
{
    pthread_mutex_lock(&control->lock);
    while (*calls != NULL) {
        struct control_call *call = *calls;
        *calls = call->next;
        buf_append_slice(call->text, text);
        call->good = good;
        call->done = true;
    }
    pthread_cond_broadcast(&control->done);
    pthread_mutex_unlock(&control->lock);
}

static struct control_call *control_take_calls(struct control *control)
{
    pthread_mutex_lock(&control->lock);
    struct control_call *calls = control->asked;
    control->asked = NULL;
    pthread_mutex_unlock(&control->lock);
    return calls;
}

static void control_open(struct control *control, bool open)
{
    pthread_mutex_lock(&control->lock);
    control->open = open;
    pthread_mutex_unlock(&control->lock);
}

/* ---- reloads ---- */

/* When the latest reload of that outcome was, or "never". */
static struct slice control_latest(const struct control *control, bool ok, struct buf *text)
{
    int64_t at_ns = metrics_read_reload_ns(control->metrics, ok);
    if (at_ns == 0) {
        buf_append_text(text, "never");
    } else {
        text_append_time(text, at_ns);
    }
    return buf_slice(text);
}

static void control_reload_failed(struct control *control, struct slice lines)
{
    struct buf good;
    buf_init(&good, 0);
    metrics_reload(control->metrics, false, clock_now_ns());
    control_log_lines(LOG_LEVEL_ERROR, "limits refused", lines);
    LOG_EVENT(LOG_LEVEL_ERROR, "limits not reloaded, the old ones stay in force",
              {"file", slice_text(control->config->limits)},
              {"last-good", control_latest(control, true, &good)});
    buf_deinit(&good);
    notify_ready();
}

static void control_sweep(uv_timer_t *timer);

/* Puts the set that waits in force, unless the one before is still being applied. */
static void control_apply(struct control *control)
{
    char limits[16];
    char routes[16];
    char rules[16];
    uint32_t rule_count = control->waiting->envoy->rule_count;
    struct buf fresh;
    struct buf bad;
    int64_t now_ns = clock_now_ns();
    (void)snprintf(limits, sizeof(limits), "%u",
                   control->waiting->limit_count - rule_count);
    (void)snprintf(rules, sizeof(rules), "%u", rule_count);
    (void)snprintf(routes, sizeof(routes), "%u", control->waiting->route_count);
    buf_init(&fresh, 0);
    buf_init(&bad, 0);
    enum status status =
        state_reload(control->state, control->engine, &control->waiting, now_ns, &fresh);
    if (status == STATUS_OK) {
        metrics_reload(control->metrics, true, now_ns);
        control_log_lines(LOG_LEVEL_INFO, "limit starts fresh", buf_slice(&fresh));
        LOG_EVENT(LOG_LEVEL_INFO, "limits reloaded",
                  {"file", slice_text(control->config->limits)}, {"limits", slice_text(limits)},
                  {"routes", slice_text(routes)}, {"envoy-rules", slice_text(rules)},
                  {"last-bad", control_latest(control, false, &bad)});
        notify_ready();
        (void)uv_timer_start(&control->sweep, control_sweep, 0, 0);
        control_answer(control, &control->applying, true, slice_make(NULL, 0));
    } else if (status == STATUS_UNAVAILABLE) {
        (void)uv_timer_start(&control->sweep, control_sweep, CONTROL_HURRY_MS, 0);
    } else {
        policy_set_destroy(&control->waiting);
        control_reload_failed(control, slice_text(status_text(status)));
        control_answer(control, &control->applying, false, slice_text(status_text(status)));
    }
    buf_deinit(&bad);
    buf_deinit(&fresh);
}

/* `calls` wait for the outcome. */
static void control_read_again(struct control *control, struct control_call *calls)
{
    struct limits_file_report report;
    struct policy_set *next = NULL;
    limits_file_report_init(&report);
    notify_reloading();
    watch_note(control->watch);
    enum status status = control_load_limits(control->config, control->metrics,
                                             engine_store(control->engine), &next, &report);
    if (status != STATUS_OK) {
        struct slice why = report.text.size > 0 ? buf_slice(&report.text)
                                                : slice_text(status_text(status));
        control_reload_failed(control, why);
        control_answer(control, &calls, false, why);
    } else {
        control_log_lines(LOG_LEVEL_WARN, "limits accepted with a warning",
                          buf_slice(&report.text));
        if (control->waiting != NULL) {
            policy_set_destroy(&control->waiting);
        }
        control->waiting = next;
        while (calls != NULL) {
            struct control_call *call = calls;
            calls = call->next;
            call->next = control->applying;
            control->applying = call;
        }
        control_apply(control);
    }
    limits_file_report_deinit(&report);
}

/* A turn of house-keeping; the next comes soon while there is more to do. */
static void control_sweep(uv_timer_t *timer)
{
    struct control *control = timer->data;
    int64_t start_ns = clock_ticks_ns();
    int64_t now_ns = clock_now_ns();
    bool more = true;
    while (more && clock_ticks_ns() - start_ns < control->turn_ns) {
        more = engine_sweep(control->engine, now_ns, CONTROL_SWEEP_BUDGET);
    }
    if (!more) {
        control->turn_ns = CONTROL_TURN_LEAST_NS;
    } else if (control->turn_ns < CONTROL_TURN_LONGEST_NS) {
        control->turn_ns += CONTROL_TURN_GROWTH_NS;
    }
    shared_number_set(&control->policies_bytes, engine_policies_bytes(control->engine));
    (void)uv_timer_start(timer, control_sweep, more ? CONTROL_BUSY_MS : CONTROL_IDLE_MS, 0);
    if (control->waiting != NULL) {
        control_apply(control);
    }
}

static void control_on_change(void *data)
{
    control_read_again(data, NULL);
}

static void control_remind(uv_timer_t *timer)
{
    (void)timer;
    log_event(LOG_LEVEL_WARN, "--shadow-all: nothing is refused", NULL, 0);
}

static void control_on_signal(uv_signal_t *handle, int number)
{
    struct control *control = handle->data;
    if (number == SIGHUP) {
        secrets_read_again(control->secrets);
        control_read_again(control, NULL);
        return;
    }
    if (number == SIGUSR1) {
        state_snapshot(control->state);
        return;
    }
    LOG_EVENT(LOG_LEVEL_INFO, "stopping",
              {"signal", slice_text(number == SIGTERM ? "SIGTERM" : "SIGINT")});
    notify_stopping();
    uv_stop(control->loop);
}

static void control_on_wake(uv_async_t *wake)
{
    struct control *control = wake->data;
    struct control_call *calls = control_take_calls(control);
    if (calls != NULL) {
        secrets_read_again(control->secrets);
        control_read_again(control, calls);
    }
}

static enum status control_watch(struct control *control, uv_signal_t *handle, int number)
{
    (void)uv_signal_init(control->loop, handle);
    handle->data = control;
    return uv_signal_start(handle, control_on_signal, number) == 0 ? STATUS_OK : STATUS_IO;
}

enum status control_start(struct control *control)
{
    control->waiting = NULL;
    control->turn_ns = CONTROL_TURN_LEAST_NS;
    if (uv_async_init(control->loop, &control->wake, control_on_wake) != 0) {
        return STATUS_NO_MEMORY;
    }
    control->started = true;
    control->wake.data = control;
    (void)uv_timer_init(control->loop, &control->sweep);
    (void)uv_timer_init(control->loop, &control->reminder);
    control->sweep.data = control;
    control->reminder.data = control;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < CONTROL_SIGNALS; i++) {
        enum status one = control_watch(control, &control->signals[i], control_numbers[i]);
        status = status == STATUS_OK ? one : status;
    }
    (void)uv_timer_start(&control->sweep, control_sweep, CONTROL_IDLE_MS, 0);
    if (control->config->shadow_all) {
        control_remind(&control->reminder);
        (void)uv_timer_start(&control->reminder, control_remind, CONTROL_REMINDER_MS,
                             CONTROL_REMINDER_MS);
    }
    shared_number_set(&control->policies_bytes, engine_policies_bytes(control->engine));
    control->watch->loop = control->loop;
    control->watch->changed = control_on_change;
    control->watch->data = control;
    watch_start(control->watch);
    metrics_loaded(control->metrics, clock_now_ns());
    control_open(control, status == STATUS_OK);
    return status;
}

/* libuv gives a signal back to what it does by default, and a second one would kill a daemon that
 * still writes its state. So from here on they do nothing: the stop is under way, and bounded. */
static void control_close_signals(struct control *control)
{
    sigset_t ours;
    sigset_t before;
    (void)sigemptyset(&ours);
    for (size_t i = 0; i < CONTROL_SIGNALS; i++) {
        (void)sigaddset(&ours, control_numbers[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &ours, &before);
    for (size_t i = 0; i < CONTROL_SIGNALS; i++) {
        uv_close((uv_handle_t *)&control->signals[i], NULL);
        (void)signal(control_numbers[i], SIG_IGN);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void control_stop(struct control *control)
{
    control_open(control, false);
    struct control_call *calls = control_take_calls(control);
    control_answer(control, &calls, false, slice_text("the daemon is stopping\n"));
    control_answer(control, &control->applying, false, slice_text("the daemon is stopping\n"));
    if (!control->started) {
        return;
    }
    watch_stop(control->watch);
    uv_close((uv_handle_t *)&control->wake, NULL);
    control_close_signals(control);
    uv_close((uv_handle_t *)&control->sweep, NULL);
    uv_close((uv_handle_t *)&control->reminder, NULL);
    if (control->waiting != NULL) {
        policy_set_destroy(&control->waiting);
    }
}
