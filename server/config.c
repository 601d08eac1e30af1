#include "config.h"

#include "base/clock.h"
#include "base/metrics_family.h"
#include "base/text.h"
#include "config_file.h"
#include "config_listen.h"
#include "config_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <uv.h>

#define CONFIG_SPARE_FILES 64
#define CONFIG_WORKERS (LIMITS_WORKERS_MAX - 1) /* one is for the admin listeners */
#define CONFIG_ENVIRONMENT "SLUICED_"

/* Puts one value into the config. False: *why says what was expected. */
typedef bool config_setter(struct config *config, const char *text, struct buf *why);

static bool config_expected(struct buf *why, const char *expected)
{
    buf_printf(why, "expected %s", expected);
    return false;
}

static bool config_whole_number(const char *text, uint64_t least, uint64_t most, uint64_t *out,
                                struct buf *why)
{
    if (text_parse_grouped_u64(slice_text(text), out) == STATUS_OK && *out >= least &&
        *out <= most) {
        return true;
    }
    buf_printf(why, "expected a whole number from %llu to %llu", (unsigned long long)least,
               (unsigned long long)most);
    return false;
}

static bool config_flag(const char *text, bool *out, struct buf *why)
{
    if (text == NULL || strcmp(text, "true") == 0) {
        *out = true;
        return true;
    }
    *out = false;
    return strcmp(text, "false") == 0 || config_expected(why, "true or false");
}

static bool config_duration(const char *text, int64_t *out, struct buf *why)
{
    const char *reason = "not a duration";
    if (strcmp(text, "0") == 0) {
        *out = 0;
        return true;
    }
    if (text_parse_duration_ns(slice_text(text), out, &reason) == STATUS_OK) {
        return true;
    }
    buf_printf(why, "expected a duration such as 10s or 250ms, or 0: %s", reason);
    return false;
}

static bool config_set_limits(struct config *config, const char *text, struct buf *why)
{
    config->limits = text;
    return text[0] != '\0' || config_expected(why, "a file");
}

static bool config_set_envoy_config(struct config *config, const char *text, struct buf *why)
{
    config->envoy_config = text;
    return text[0] != '\0' || config_expected(why, "a file or a directory");
}

static bool config_set_envoy_semantics(struct config *config, const char *text, struct buf *why)
{
    config->envoy_classic = strcmp(text, "classic") == 0;
    return config->envoy_classic || strcmp(text, "exact") == 0 ||
           config_expected(why, "exact or classic");
}

static bool config_set_listen(struct config *config, const char *text, struct buf *why)
{
    return config_listen_add(config, text, why);
}

static bool config_set_workers(struct config *config, const char *text, struct buf *why)
{
    uint64_t workers;
    if (!config_whole_number(text, 1, CONFIG_WORKERS, &workers, why)) {
        return false;
    }
    config->workers = (uint32_t)workers;
    return true;
}

static bool config_set_state_dir(struct config *config, const char *text, struct buf *why)
{
    config->state_dir = text;
    return text[0] != '\0' || config_expected(why, "a directory");
}

static bool config_set_snapshot_interval(struct config *config, const char *text, struct buf *why)
{
    int64_t *interval_ns = &config->snapshot_interval_ns;
    if (!config_duration(text, interval_ns, why)) {
        return false;
    }
    return (*interval_ns >= CLOCK_NS_PER_MS && *interval_ns <= LIMITS_SNAPSHOT_INTERVAL_NS_MAX) ||
           config_expected(why, "a duration from 1ms to 1h");
}

static bool config_set_on_bad_state(struct config *config, const char *text, struct buf *why)
{
    config->empty_bad_state = strcmp(text, "empty") == 0;
    return config->empty_bad_state || strcmp(text, "refuse") == 0 ||
           config_expected(why, "refuse or empty");
}

static bool config_set_no_state(struct config *config, const char *text, struct buf *why)
{
    return config_flag(text, &config->no_state, why);
}

static bool config_set_max_counters(struct config *config, const char *text, struct buf *why)
{
    return config_whole_number(text, 1, INT64_MAX, &config->max_counters, why);
}

static bool config_set_max_memory(struct config *config, const char *text, struct buf *why)
{
    if (text_parse_size(slice_text(text), &config->max_memory_bytes) == STATUS_OK &&
        config->max_memory_bytes > 0) {
        return true;
    }
    return config_expected(why, "a size such as 512MiB, 2GiB or a number of bytes");
}

static bool config_set_when_full(struct config *config, const char *text, struct buf *why)
{
    config->when_full = strcmp(text, "evict") == 0 ? STORE_EVICT : STORE_REFUSE;
    return config->when_full == STORE_EVICT || strcmp(text, "refuse") == 0 ||
           config_expected(why, "refuse or evict");
}

static bool config_set_max_connections(struct config *config, const char *text, struct buf *why)
{
    return config_whole_number(text, 1, UINT32_MAX, &config->max_connections, why);
}

static bool config_set_idle_timeout(struct config *config, const char *text, struct buf *why)
{
    return config_duration(text, &config->idle_timeout_ns, why);
}

static bool config_set_request_timeout(struct config *config, const char *text, struct buf *why)
{
    return config_duration(text, &config->request_timeout_ns, why);
}

static bool config_set_shutdown_timeout(struct config *config, const char *text, struct buf *why)
{
    return config_duration(text, &config->shutdown_timeout_ns, why);
}

static bool config_set_allow_changes(struct config *config, const char *text, struct buf *why)
{
    static const char *const words[] = {"local", "all", "none"};
    static const enum wire_changes values[] = {WIRE_CHANGES_LOCAL, WIRE_CHANGES_ALL,
                                               WIRE_CHANGES_NONE};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(text, words[i]) == 0) {
            config->allow_changes = values[i];
            return true;
        }
    }
    return config_expected(why, "local, all or none");
}

static bool config_set_shadow_all(struct config *config, const char *text, struct buf *why)
{
    return config_flag(text, &config->shadow_all, why);
}

static bool config_set_x_ratelimit(struct config *config, const char *text, struct buf *why)
{
    return config_flag(text, &config->x_ratelimit_headers, why);
}

static bool config_path(const char **path, const char *text, struct buf *why)
{
    *path = text;
    return text[0] != '\0' || config_expected(why, "a file");
}

static bool config_set_tls_cert(struct config *config, const char *text, struct buf *why)
{
    return config_path(&config->tls.cert, text, why);
}

static bool config_set_tls_key(struct config *config, const char *text, struct buf *why)
{
    return config_path(&config->tls.key, text, why);
}

static bool config_set_tls_client_ca(struct config *config, const char *text, struct buf *why)
{
    return config_path(&config->tls.client_ca, text, why);
}

static bool config_set_tokens(struct config *config, const char *text, struct buf *why)
{
    return config_path(&config->tokens, text, why);
}

static bool config_set_log_level(struct config *config, const char *text, struct buf *why)
{
    return log_parse_level(text, &config->log_level) ||
           config_expected(why, "error, warn, info or debug");
}

static bool config_set_log_format(struct config *config, const char *text, struct buf *why)
{
    config->log_json = strcmp(text, "json") == 0;
    return config->log_json || strcmp(text, "text") == 0 || config_expected(why, "text or json");
}

static const struct config_setting {
    const char *name;
    config_setter *set;
} config_settings[] = {
    {"limits", config_set_limits},
    {"envoy-config", config_set_envoy_config},
    {"envoy-semantics", config_set_envoy_semantics},
    {"listen", config_set_listen},
    {"workers", config_set_workers},
    {"state-dir", config_set_state_dir},
    {"snapshot-interval", config_set_snapshot_interval},
    {"no-state", config_set_no_state},
    {"on-bad-state", config_set_on_bad_state},
    {"max-counters", config_set_max_counters},
    {"max-memory", config_set_max_memory},
    {"when-full", config_set_when_full},
    {"max-connections", config_set_max_connections},
    {"idle-timeout", config_set_idle_timeout},
    {"request-timeout", config_set_request_timeout},
    {"shutdown-timeout", config_set_shutdown_timeout},
    {"allow-changes", config_set_allow_changes},
    {"shadow-all", config_set_shadow_all},
    {"x-ratelimit-headers", config_set_x_ratelimit},
    {"tls-cert", config_set_tls_cert},
    {"tls-key", config_set_tls_key},
    {"tls-client-ca", config_set_tls_client_ca},
    {"tokens", config_set_tokens},
    {"log-level", config_set_log_level},
    {"log-format", config_set_log_format},
};

/* Where the values of an option come from, and how a complaint about one begins. */
struct config_sources {
    struct options_parsed line;
    struct config_file_value *file;
};

static bool config_apply(struct config *config, const struct config_setting *setting,
                         const char *where, const char *text, struct buf *out)
{
    struct buf why;
    buf_init(&why, 0);
    bool good = setting->set(config, text, &why);
    if (!good) {
        buf_printf(out, "%s: ", where);
        if (text != NULL) {
            buf_append_text(out, "\"");
            text_append_escaped(out, slice_text(text), 128);
            buf_append_text(out, "\": ");
        }
        buf_append_slice(out, buf_slice(&why));
    }
    buf_deinit(&why);
    return good;
}

/* SLUICED_MAX_MEMORY for max-memory. */
static const char *config_variable(struct config *config, const char *name)
{
    struct buf text;
    buf_init(&text, 0);
    buf_append_text(&text, CONFIG_ENVIRONMENT);
    for (const char *at = name; *at != '\0'; at++) {
        buf_append_byte(&text, *at == '-' ? '_' : (uint8_t)(*at - ('a' <= *at && *at <= 'z') * 32));
    }
    const char *copy = text.failed ? NULL : arena_copy(&config->arena, buf_slice(&text));
    buf_deinit(&text);
    return copy;
}

static bool config_apply_line(struct config *config, const struct config_setting *setting,
                              const struct options_parsed *line, bool *found, struct buf *out)
{
    char where[64];
    (void)snprintf(where, sizeof(where), "--%s", setting->name);
    for (uint32_t i = 0; i < line->count; i++) {
        if (strcmp(line->values[i].spec->name, setting->name) == 0) {
            *found = true;
            if (!config_apply(config, setting, where, line->values[i].text, out)) {
                return false;
            }
        }
    }
    return true;
}

static bool config_apply_variable(struct config *config, const struct config_setting *setting,
                                  bool *found, struct buf *out)
{
    const char *variable = config_variable(config, setting->name);
    const char *text = variable == NULL ? NULL : getenv(variable);
    const struct options_spec *spec = config_options_find(slice_text(setting->name));
    if (text == NULL) {
        return true;
    }
    *found = true;
    bool good = true;
    while (good && text != NULL) {
        size_t size = spec != NULL && spec->repeatable ? strcspn(text, ",") : strlen(text);
        const char *one = arena_copy(&config->arena, slice_make(text, size));
        good = one != NULL && config_apply(config, setting, variable, one, out);
        text = text[size] == ',' ? text + size + 1 : NULL;
    }
    return good;
}

static bool config_apply_file(struct config *config, const struct config_setting *setting,
                              const struct config_file_value *value, struct buf *out)
{
    char where[512];
    for (; value != NULL; value = value->next) {
        if (strcmp(value->name, setting->name) == 0) {
            (void)snprintf(where, sizeof(where), "%s: %s", value->where, setting->name);
            if (!config_apply(config, setting, where, value->text, out)) {
                return false;
            }
        }
    }
    return true;
}

static bool config_apply_all(struct config *config, const struct config_sources *sources,
                             struct buf *out)
{
    for (size_t i = 0; i < sizeof(config_settings) / sizeof(config_settings[0]); i++) {
        const struct config_setting *setting = &config_settings[i];
        bool found = false;
        if (!config_apply_line(config, setting, &sources->line, &found, out) ||
            (!found && !config_apply_variable(config, setting, &found, out)) ||
            (!found && !config_apply_file(config, setting, sources->file, out))) {
            return false;
        }
    }
    return true;
}

static bool config_read_file(struct config *config, struct config_sources *sources,
                             struct buf *out)
{
    const char *path = options_last(&sources->line, "config");
    path = path != NULL ? path : getenv(CONFIG_ENVIRONMENT "CONFIG");
    if (path == NULL) {
        return true;
    }
    enum status status = config_file_read(path, &config->arena, &sources->file, out);
    if (status != STATUS_OK && out->size == 0) {
        buf_printf(out, "%s: %s", path, status_text(status));
    }
    return status == STATUS_OK;
}

/* What needs no limits file. */
static bool config_print(const struct options_parsed *line, struct buf *out)
{
    static const struct options_command *const commands[] = {&config_options};
    if (options_has(line, "help")) {
        options_help(&config_options, out);
    } else if (options_has(line, "version")) {
        buf_append_text(out, "sluiced " SLUICE_VERSION "\n");
    } else if (options_has(line, "describe-metrics")) {
        metrics_family_describe(out);
    } else if (options_has(line, "man")) {
        options_man(commands, 1, SLUICE_VERSION, out);
    } else if (options_has(line, "completion")) {
        options_bash_completion(commands, 1, out);
    } else {
        return false;
    }
    return true;
}

/* systemd's StateDirectory= may name several, the first is the one. */
static const char *config_default_state_dir(struct config *config)
{
    const char *given = getenv("STATE_DIRECTORY");
    const char *copy = NULL;
    if (given != NULL && given[0] != '\0') {
        copy = arena_copy(&config->arena, slice_make(given, strcspn(given, ":")));
    }
    return copy != NULL ? copy : "/var/lib/sluice";
}

static bool config_finish(struct config *config, struct buf *out)
{
    if (config->limits == NULL) {
        buf_append_text(out, "--limits FILE is required");
        return false;
    }
    if ((config->tls.cert == NULL) != (config->tls.key == NULL) ||
        (config->tls.client_ca != NULL && config->tls.cert == NULL)) {
        buf_append_text(out, "--tls-cert and --tls-key go together, --tls-client-ca needs both");
        return false;
    }
    if (config->state_dir == NULL) {
        config->state_dir = config_default_state_dir(config);
    }
    if (config->workers == 0) {
        unsigned cores = uv_available_parallelism();
        config->workers = cores > CONFIG_WORKERS ? CONFIG_WORKERS : cores;
    }
    return config->listen_count > 0 || config_listen_defaults(config, out);
}

static enum config_result config_gather(struct config *config, struct config_sources *sources,
                                        struct buf *text)
{
    const char *shell = options_last(&sources->line, "completion");
    if (shell != NULL && strcmp(shell, "bash") != 0) {
        buf_append_text(text, "--completion: expected bash");
        return CONFIG_WRONG;
    }
    if (config_print(&sources->line, text)) {
        return CONFIG_PRINTED;
    }
    if (sources->line.argument_count > 0) {
        buf_append_text(text, "unexpected argument \"");
        text_append_escaped(text, slice_text(sources->line.arguments[0]), 128);
        buf_append_text(text, "\"");
        return CONFIG_WRONG;
    }
    if (!config_read_file(config, sources, text) || !config_apply_all(config, sources, text) ||
        !config_finish(config, text)) {
        return CONFIG_WRONG;
    }
    return CONFIG_RUN;
}

enum config_result config_load(struct config *config, int argc, char **argv)
{
    struct config_sources sources = {0};
    enum config_result result = CONFIG_WRONG;
    struct buf text;
    *config = (struct config){.request_timeout_ns = INT64_C(10000000000),
                              .shutdown_timeout_ns = INT64_C(5000000000),
                              .snapshot_interval_ns = CLOCK_NS_PER_S,
                              .log_level = LOG_LEVEL_INFO};
    arena_init(&config->arena, 4096, 0);
    buf_init(&text, 0);
    if (options_parse(&config_options, argc, argv, &sources.line, &text) == STATUS_OK) {
        result = config_gather(config, &sources, &text);
        options_parsed_deinit(&sources.line);
    }
    if (result == CONFIG_PRINTED) {
        (void)fwrite(text.data + text.start, 1, text.size, stdout);
    } else if (result == CONFIG_WRONG) {
        (void)fprintf(stderr, "sluiced: %.*s; try sluiced --help\n", (int)text.size,
                      text.data == NULL ? "" : (const char *)text.data + text.start);
    }
    buf_deinit(&text);
    return result;
}

void config_deinit(struct config *config)
{
    arena_deinit(&config->arena);
}

void config_raise_files(struct config *config)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return;
    }
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    uint64_t most = files.rlim_max > 2 * CONFIG_SPARE_FILES ? files.rlim_max - CONFIG_SPARE_FILES
                                                            : CONFIG_SPARE_FILES;
    if (config->max_connections == 0 || config->max_connections > most) {
        config->max_connections = most;
    }
}
