#include "core.h"

#include "control.h"

#include <stdio.h>

static void complain(const char *what, enum status status)
{
    (void)fprintf(stderr, "sluiced: %s: %s\n", what, status_text(status));
}

enum status core_make_store(const struct config *config, struct state *state,
                            struct metrics **metrics, struct store **store)
{
    struct store_config store_config = {.max_counters = config->max_counters,
                                        .max_memory_bytes = config->max_memory_bytes,
                                        .when_full = config->when_full};
    hash_random_key(&store_config.key);
    enum status status = state_read(state, &store_config.key);
    if (status != STATUS_OK) {
        return status;
    }
    /* A block of metrics for each worker, for the listeners and for the administrator's peers. */
    *metrics = metrics_create(config->workers + 2);
    *store = store_create(&store_config);
    if (*metrics != NULL && *store != NULL) {
        return STATUS_OK;
    }
    complain("counters", STATUS_NO_MEMORY);
    return STATUS_NO_MEMORY;
}

enum status core_make_engine(struct config *config, struct state *state, struct metrics *metrics,
                             struct store *store, struct engine **engine)
{
    struct limits_file_report report;
    struct engine_config engine_config = {.store = store, .metrics = metrics};
    limits_file_report_init(&report);
    enum status status =
        control_load_limits(config, metrics, store, &engine_config.set, &report);
    struct slice lines = buf_slice(&report.text);
    if (status == STATUS_OK) {
        control_log_lines(LOG_LEVEL_WARN, "limits accepted with a warning", lines);
        const struct policy_set *set = engine_config.set;
        *engine = engine_create(&engine_config);
        if (*engine != NULL) {
            status = state_start(state, store, set);
        } else {
            policy_set_destroy(&engine_config.set);
            status = STATUS_NO_MEMORY;
            complain(config->limits, status);
        }
    } else if (lines.size > 0) {
        (void)fwrite(lines.data, 1, lines.size, stderr);
    } else {
        complain(config->limits, status);
    }
    limits_file_report_deinit(&report);
    return status;
}
