/* What the main thread does while workers serve: signals, reloads, house-keeping, and what the
 * admin thread asks it to do. */
#ifndef CONTROL_H
#define CONTROL_H

#include "base/shared.h"
#include "config.h"
#include "engine/engine.h"
#include "engine/limits_file.h"
#include "watch.h"
#include "secrets.h"
#include "state.h"

#include <pthread.h>
#include <uv.h>

#define CONTROL_SIGNALS 4

/* What the admin thread waits for; on its stack. */
struct control_call {
    struct control_call *next;
    struct buf *text; /* gets the reasons */
    bool good;
    bool done;
};

struct control {
    const struct config *config;
    struct engine *engine;
    struct metrics *metrics;
    struct state *state;
    struct secrets *secrets;
    uv_loop_t *loop;
    struct watch *watch; /* over the files that a reload reads */
    uv_signal_t signals[CONTROL_SIGNALS];
    uv_timer_t sweep;
    int64_t turn_ns;            /* how long the next turn of house-keeping may take */
    uv_timer_t reminder;        /* of --shadow-all */
    struct policy_set *waiting; /* read, and to be put in force once the one before is applied */
    struct shared_number policies_bytes; /* memory of the policy sets */
    struct control_call *applying;       /* reloads that wait with `waiting` */

    /* Between the admin thread and this one. */
    pthread_mutex_t lock; /* guards the three below, and `done` of each call */
    pthread_cond_t done;
    struct control_call *asked;
    bool open; /* the main thread serves calls */
    bool started;
    uv_async_t wake;
};

/* Reads the limits file with what the daemon knows. */
STATUS_CHECKED enum status control_load_limits(const struct config *config,
                                               struct metrics *metrics,
                                               const struct store *store,
                                               struct policy_set **out,
                                               struct limits_file_report *report);

/* Are they good? Tells on stderr what is not. Before a daemon waits to take another's place. */
STATUS_CHECKED enum status control_try_limits(const struct config *config);

/* Logs each line of a text by itself. */
void control_log_lines(enum log_level level, const char *event, struct slice lines);

/* Before and after everything else; between the two control_reload may be called. */
void control_init(struct control *control);
void control_deinit(struct control *control);

/* From another thread: reads the limits again and waits until they are in force. False: they were
 * refused; one line an error was appended. */
bool control_reload(struct control *control, struct buf *errors);

/* Does the main thread serve? */
bool control_is_open(struct control *control);

/* Starts the signals and timers; control->config, engine, metrics and loop are set. The loop stops
 * at SIGTERM or SIGINT. */
STATUS_CHECKED enum status control_start(struct control *control);
/* The loop has to run once more. */
void control_stop(struct control *control);

#endif
