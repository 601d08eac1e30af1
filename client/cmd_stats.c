#include "ask.h"
#include "stats_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SERVER "native://127.0.0.1:7090"
#define WATCH_S 1

static const struct options_spec specs[] = {
    {.name = "server",
     .argument = "URL",
     .fallback = SERVER,
     .help = "The daemon's admin listener: native://HOST:PORT or unix:PATH. $SLUICE_ADMIN where it "
             "is not given."},
    {.name = "watch",
     .help = "Show them again each second, each with its change, until interrupted."},
    {.name = "json",
     .help = "Print one line of JSON: an array of objects with name, type, labels and value."},
    ASK_TIMEOUT_SPEC,
    ASK_TOKEN_SPEC,
    CMD_HELP_SPEC,
};

static const char *const examples[] = {
    "sluice stats\tthe metrics of the daemon on this machine, as Prometheus reads them",
    "sluice stats --watch\twhat changes, second by second",
    "sluice stats --json --server unix:/run/sluice/admin.sock\tfor a program, over a Unix socket",
    NULL,
};

const struct options_command cmd_stats_options = {
    .program = "sluice",
    .name = "stats",
    .arguments = "[OPTION]...",
    .summary = "prints the metrics of a daemon",
    .description = "Asks the admin listener of a daemon for its metrics and prints them in "
                   "Prometheus' text format.\n\n"
                   "Exit codes: 0 done, 1 no answer or an error, 2 used wrongly.",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof specs / sizeof specs[0],
};

struct stats {
    struct options_parsed parsed;
    struct sluice *client;
    bool json;
    bool watch;
    bool screen;       /* what was shown last is wiped */
    struct buf before; /* the text before, for --watch */
};

static const char *server(const struct options_parsed *parsed)
{
    const char *url = options_last(parsed, "server");
    if (url == NULL) {
        url = getenv("SLUICE_ADMIN");
    }
    return url == NULL || url[0] == '\0' ? SERVER : url;
}

static bool open_client(struct stats *stats)
{
    char why[512] = "";
    char token[ASK_TOKEN_BYTES];
    struct sluice_options options = {
        .timeout_ms = ask_timeout_ms(&cmd_stats_options, &stats->parsed),
        .on_error = SLUICE_ON_ERROR_DENY,
        .why = why,
        .why_size = sizeof why,
    };
    if (options.timeout_ms == 0 ||
        !ask_secure(&cmd_stats_options, &stats->parsed, &options, token)) {
        return false;
    }
    if (stats->parsed.argument_count > 0) {
        (void)cmd_misused(&cmd_stats_options, "takes no arguments, got \"%s\"",
                          stats->parsed.arguments[0]);
        return false;
    }
    enum sluice_status status = sluice_open(server(&stats->parsed), &options, &stats->client);
    if (status != SLUICE_OK) {
        (void)cmd_misused(&cmd_stats_options, "--server: %s",
                          why[0] == '\0' ? sluice_status_text(status) : why);
    }
    return status == SLUICE_OK;
}

static int show(struct stats *stats, struct slice text)
{
    struct buf out;
    buf_init(&out, 0);
    if (stats->screen) {
        buf_append_text(&out, "\033[H\033[2J");
    }
    if (stats->json) {
        stats_print_json(&out, text);
    } else if (stats->watch) {
        stats_print_changes(&out, text, buf_slice(&stats->before));
        buf_append_text(&out, stats->screen ? "" : "\n");
    } else {
        buf_append_slice(&out, text);
    }
    int code = cmd_write(&cmd_stats_options, &out);
    buf_deinit(&out);
    buf_clear(&stats->before);
    buf_append_slice(&stats->before, text);
    return code;
}

static int run(struct stats *stats)
{
    struct sluice_stats_answer answer;
    int code;
    do {
        if (sluice_stats(stats->client, &answer) != SLUICE_OK) {
            return ask_complain(&cmd_stats_options, &answer.error);
        }
        code = show(stats, slice_make(answer.text.data, answer.text.size));
        if (stats->watch && code == CMD_DONE) {
            (void)nanosleep(&(struct timespec){.tv_sec = WATCH_S}, NULL);
        }
    } while (stats->watch && code == CMD_DONE);
    return code;
}

int cmd_stats(int argc, char **argv)
{
    struct stats stats = {.client = NULL};
    int code;
    if (!cmd_parse(&cmd_stats_options, argc, argv, &stats.parsed, &code)) {
        return code;
    }
    stats.json = options_has(&stats.parsed, "json");
    stats.watch = options_has(&stats.parsed, "watch");
    stats.screen = stats.watch && !stats.json && isatty(STDOUT_FILENO) == 1;
    buf_init(&stats.before, 0);
    code = open_client(&stats) ? run(&stats) : CMD_USAGE;
    buf_deinit(&stats.before);
    sluice_close(&stats.client);
    options_parsed_deinit(&stats.parsed);
    return code;
}
