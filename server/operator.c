#include "operator.h"

#include "base/clock.h"
#include "base/metrics_text.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

/* The second number of /proc/self/statm, in pages. 0: not known. */
static uint64_t operator_resident_bytes(void)
{
    unsigned long long total;
    unsigned long long resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%llu %llu", &total, &resident) != 2) {
        resident = 0;
    }
    (void)fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* 0: not known. */
static uint64_t operator_open_fds(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        return 0;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return count > 0 ? count - 1 : 0; /* the folder itself was open */
}

static void operator_stats(void *data, struct buf *out)
{
    struct operator *operator = data;
    struct store_stats store;
    struct persist_stats state = {.written = 0};
    bool has_state = state_stats(operator->control->state, &state);
    store_stats(engine_store(operator->engine), &store);
    struct metrics_text_gauges gauges = {
        .counters = store.counters,
        .counters_swept = store.swept,
        .counters_memory_bytes = store.memory_bytes,
        .connections_memory_bytes = metrics_read_connection_bytes(operator->metrics),
        .policies_memory_bytes = shared_number_get(&operator->control->policies_bytes),
        .has_state = has_state,
        .snapshots = state.written,
        .snapshot_failures = state.failed,
        .snapshot_last_success_ns = state.last_success_ns,
        .snapshot_duration_ns = state.duration_ns,
        .snapshot_bytes = state.bytes,
        .version = SLUICE_VERSION,
        .start_ns = operator->start_ns,
        .resident_bytes = operator_resident_bytes(),
        .open_fds = operator_open_fds(),
    };
    metrics_text_render(operator->metrics, &gauges, out);
}

static bool operator_reload(void *data, struct buf *errors)
{
    struct operator *operator = data;
    return control_reload(operator->control, errors);
}

static enum request_code operator_snapshot(void *data, struct buf *why)
{
    struct operator *operator = data;
    if (operator->control->config->no_state) {
        buf_append_text(why, "counters are in memory only (--no-state)");
        return REQUEST_UNIMPLEMENTED;
    }
    return state_write_now(operator->control->state, why) ? REQUEST_OK : REQUEST_UNAVAILABLE;
}

static bool operator_ready(void *data)
{
    struct operator *operator = data;
    return control_is_open(operator->control);
}

void operator_init(struct operator *operator)
{
    operator->start_ns = clock_now_ns();
    operator->admin = (struct wire_admin){.data = operator,
                                          .stats = operator_stats,
                                          .reload = operator_reload,
                                          .snapshot = operator_snapshot,
                                          .ready = operator_ready};
}
