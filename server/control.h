/* What the main thread does while workers serve: signals, reloads, house-keeping. */
#ifndef CONTROL_H
#define CONTROL_H

#include "config.h"
#include "engine/engine.h"
#include "engine/limits_file.h"

#include <uv.h>

#define CONTROL_SIGNALS 4

struct control {
    const struct config *config;
    struct engine *engine;
    struct metrics *metrics;
    uv_loop_t *loop;
    uv_signal_t signals[CONTROL_SIGNALS];
    uv_timer_t sweep;
    int64_t turn_ns;            /* how long the next turn of house-keeping may take */
    uv_timer_t reminder;        /* of --shadow-all */
    struct policy_set *waiting; /* read, and to be put in force once the one before is applied */
};

/* Reads the limits file with what the daemon knows. */
STATUS_CHECKED enum status control_load_limits(const struct config *config,
                                               struct metrics *metrics,
                                               const struct store *store,
                                               struct policy_set **out,
                                               struct limits_file_report *report);

/* Logs each line of a text by itself. */
void control_log_lines(enum log_level level, const char *event, struct slice lines);

/* Starts the signals and timers; control->config, engine, metrics and loop are set. The loop stops
 * at SIGTERM or SIGINT. */
STATUS_CHECKED enum status control_start(struct control *control);
/* The loop has to run once more. */
void control_stop(struct control *control);

#endif
