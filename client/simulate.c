#include "simulate.h"

#include "base/text.h"
#include "engine/limits_file.h"

#include <stdlib.h>

/* House-keeping follows the requests, as their times are the only clock there is. */
#define SWEEP_EVERY 128u
#define SWEEP_SLOTS 1024u
/* A reload converts every counter before the next one may come. */
#define CONVERT_SLOTS 65536u

struct simulate {
    struct store *store;
    struct metrics *metrics;
    struct engine *engine;
    struct engine_worker *worker;
    char *folder; /* with its slash at the end; "" for the current one */
    struct buf reload_errors;
    uint64_t steps;
};

/* A limits file has no time of its own here: what `until` is past depends on the traffic. */
static struct limits_file_options file_options(const struct simulate *simulate)
{
    return (struct limits_file_options){.key = store_hash_key(simulate->store),
                                        .metrics = simulate->metrics,
                                        .now_ns = INT64_MIN};
}

static bool start(struct simulate *simulate, struct policy_set *set)
{
    struct engine_config config = {
        .store = simulate->store, .metrics = simulate->metrics, .set = set};
    simulate->engine = engine_create(&config);
    if (simulate->engine == NULL) {
        policy_set_destroy(&set);
        return false;
    }
    simulate->worker =
        engine_worker_create(simulate->engine, metrics_worker(simulate->metrics, 0));
    if (simulate->worker != NULL) {
        engine_enter(simulate->worker);
    }
    return simulate->worker != NULL;
}

static bool load(struct simulate *simulate, const char *limits_path, struct buf *message)
{
    struct policy_set *set = NULL;
    struct limits_file_options options = file_options(simulate);
    struct limits_file_report report;
    limits_file_report_init(&report);
    enum status status = limits_file_load(limits_path, &options, &set, &report);
    buf_append_slice(message, buf_slice(&report.text));
    if (status != STATUS_OK && report.text.size == 0) {
        buf_printf(message, "%s: %s\n", limits_path, status_text(status));
    }
    limits_file_report_deinit(&report);
    if (status != STATUS_OK) {
        return false;
    }
    if (!start(simulate, set)) {
        buf_append_text(message, "out of memory\n");
        return false;
    }
    return true;
}

struct simulate *simulate_create(const char *limits_path, struct buf *message)
{
    struct simulate *simulate = calloc(1, sizeof(*simulate));
    struct store_config config = {.shards = 1};
    if (simulate == NULL) {
        buf_append_text(message, "out of memory\n");
        return NULL;
    }
    buf_init(&simulate->reload_errors, 0);
    hash_random_key(&config.key);
    simulate->store = store_create(&config);
    simulate->metrics = metrics_create(1);
    if (simulate->store == NULL || simulate->metrics == NULL) {
        buf_append_text(message, "out of memory\n");
        simulate_destroy(&simulate);
        return NULL;
    }
    if (!load(simulate, limits_path, message)) {
        simulate_destroy(&simulate);
    }
    return simulate;
}

void simulate_destroy(struct simulate **simulate)
{
    struct simulate *it = *simulate;
    if (it == NULL) {
        return;
    }
    if (it->worker != NULL) {
        engine_worker_destroy(&it->worker);
    }
    if (it->engine != NULL) {
        engine_destroy(&it->engine);
    }
    if (it->metrics != NULL) {
        metrics_destroy(&it->metrics);
    }
    if (it->store != NULL) {
        store_destroy(&it->store);
    }
    buf_deinit(&it->reload_errors);
    free(it->folder);
    free(it);
    *simulate = NULL;
}

void simulate_set_folder(struct simulate *simulate, const char *traffic_path)
{
    const char *slash = traffic_path == NULL ? NULL : strrchr(traffic_path, '/');
    free(simulate->folder);
    simulate->folder =
        slash == NULL ? NULL : strndup(traffic_path, (size_t)(slash - traffic_path) + 1);
}

const struct policy_set *simulate_policies(const struct simulate *simulate)
{
    return engine_worker_set(simulate->worker);
}

const struct hash_key *simulate_hash_key(const struct simulate *simulate)
{
    return store_hash_key(simulate->store);
}

uint64_t simulate_counters(const struct simulate *simulate)
{
    struct store_stats stats;
    store_stats(simulate->store, &stats);
    return stats.counters;
}

/* The lines of a report, each without the traffic's folder in front: places read as the traffic
 * names the file. */
static void keep_errors(struct simulate *simulate, struct slice text)
{
    size_t folder = simulate->folder == NULL ? 0 : strlen(simulate->folder);
    while (text.size > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t size = end == NULL ? text.size : (size_t)(end - text.data) + 1;
        size_t skip = folder > 0 && size > folder &&
                      memcmp(text.data, simulate->folder, folder) == 0 ? folder : 0;
        buf_append(&simulate->reload_errors, text.data + skip, size - skip);
        text = slice_make(text.data + size, text.size - size);
    }
}

/* The path as the process has to open it; to be freed. NULL: it holds a NUL, or no memory. */
static char *reload_path(const struct simulate *simulate, struct slice name)
{
    struct buf path;
    buf_init(&path, 0);
    if (simulate->folder != NULL && name.size > 0 && name.data[0] != '/') {
        buf_append_text(&path, simulate->folder);
    }
    buf_append_slice(&path, name);
    buf_append_byte(&path, 0);
    bool usable = !path.failed && strlen((const char *)path.data) + 1 == path.size;
    char *text = usable ? strdup((const char *)path.data) : NULL;
    buf_deinit(&path);
    return text;
}

static enum status read_limits(struct simulate *simulate, const struct traffic_item *item,
                               struct policy_set **set)
{
    struct limits_file_options options = file_options(simulate);
    struct limits_file_report report;
    limits_file_report_init(&report);
    enum status status = STATUS_INVALID;
    if (item->has_limits) {
        status = limits_file_parse("limits", item->limits, &options, set, &report);
    } else {
        char *path = reload_path(simulate, item->limits_file);
        status = path == NULL ? STATUS_INVALID
                              : limits_file_load(path, &options, set, &report);
        free(path);
    }
    if (status != STATUS_OK) {
        keep_errors(simulate, buf_slice(&report.text));
        if (simulate->reload_errors.size == 0) {
            text_append_escaped(&simulate->reload_errors, item->limits_file, 1024);
            buf_printf(&simulate->reload_errors, ": %s\n", status_text(status));
        }
    }
    limits_file_report_deinit(&report);
    return status;
}

static void reload(struct simulate *simulate, const struct traffic_item *item,
                   struct simulate_answer *answer)
{
    struct policy_set *set = NULL;
    buf_clear(&simulate->reload_errors);
    engine_leave(simulate->worker);
    enum status status = read_limits(simulate, item, &set);
    if (status == STATUS_OK) {
        status = engine_reload(simulate->engine, &set, item->t_ns, NULL);
        while (status == STATUS_UNAVAILABLE) {
            (void)engine_sweep(simulate->engine, item->t_ns, CONVERT_SLOTS);
            status = engine_reload(simulate->engine, &set, item->t_ns, NULL);
        }
        if (status != STATUS_OK) {
            policy_set_destroy(&set);
            buf_printf(&simulate->reload_errors, "%s\n", status_text(status));
        }
    }
    metrics_reload(simulate->metrics, status == STATUS_OK, item->t_ns);
    answer->kind = status == STATUS_OK ? SIMULATE_RELOADED : SIMULATE_RELOAD_REFUSED;
    answer->reload_errors = buf_slice(&simulate->reload_errors);
    engine_enter(simulate->worker);
}

static void ask(struct simulate *simulate, const struct traffic_item *item,
                const struct request *request, struct simulate_answer *answer)
{
    static const enum engine_purpose purposes[] = {[TRAFFIC_ALLOW] = ENGINE_DECIDE,
                                                   [TRAFFIC_REFUND] = ENGINE_REFUND,
                                                   [TRAFFIC_RESET] = ENGINE_RESET};
    struct engine_worker *worker = simulate->worker;
    struct engine_plan *plan = &answer->plan;
    int64_t now = item->t_ns;
    answer->kind = SIMULATE_ERROR;
    if (!engine_prepare(worker, request, purposes[item->op], now, plan, &answer->error)) {
        return;
    }
    bool done;
    switch (item->op) {
    case TRAFFIC_REFUND:
        done = engine_refund(worker, plan, now, &answer->decision, &answer->error);
        break;
    case TRAFFIC_RESET:
        done = engine_reset(worker, plan, now, &answer->counters, &answer->error);
        break;
    default:
        done = engine_decide(worker, plan, now, &answer->decision, &answer->error);
        break;
    }
    if (done) {
        answer->kind = item->op == TRAFFIC_RESET ? SIMULATE_RESET : SIMULATE_DECISION;
    }
}

void simulate_step(struct simulate *simulate, const struct traffic_item *item, bool details,
                   struct simulate_answer *answer)
{
    struct request request = item->request;
    request.details = details;
    if (++simulate->steps % SWEEP_EVERY == 0) {
        (void)engine_sweep(simulate->engine, item->t_ns, SWEEP_SLOTS);
    }
    engine_enter(simulate->worker);
    switch (item->op) {
    case TRAFFIC_ALLOW:
    case TRAFFIC_REFUND:
    case TRAFFIC_RESET:
        ask(simulate, item, &request, answer);
        break;
    case TRAFFIC_RELOAD:
        reload(simulate, item, answer);
        break;
    case TRAFFIC_ACQUIRE:
    case TRAFFIC_RENEW:
    case TRAFFIC_RELEASE:
        answer->kind = SIMULATE_ERROR;
        request_error_set(&answer->error, REQUEST_UNIMPLEMENTED, "",
                          "op %s needs leases, which this build does not have",
                          traffic_op_name(item->op));
        break;
    }
}
