#include "cmd.h"

#include "ask.h"
#include "base/limits.h"
#include "base/text.h"
#include "bench_report.h"
#include "bench_run.h"
#include "bench_worker.h"
#include "sluice_url.h"
#include "sluice_web.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS_MAX 1000000u
#define WEB_IN_FLIGHT_MAX 10000u
#define KEYS_MAX 50000000u
#define THREADS_MAX LIMITS_WORKERS_MAX
#define RATE_MAX UINT64_C(1000000000)
#define REQUESTS_MAX UINT64_C(1000000000000000)
#define TIME_NS_MAX (INT64_C(7) * 86400 * 1000000000)

static const struct options_spec specs[] = {
    ASK_SERVER_SPEC,
    {.name = "connections",
     .argument = "N",
     .fallback = "50",
     .help = "Connections, over all threads."},
    {.name = "in-flight",
     .argument = "N",
     .fallback = "1",
     .help = "Questions (or batches) on their way on each connection."},
    {.name = "duration",
     .argument = "DURATION",
     .fallback = "5s",
     .help = "How long to measure, after the warm-up."},
    {.name = "requests",
     .argument = "N",
     .help = "Measure so many questions instead; each member of a batch is one."},
    {.name = "warmup",
     .argument = "DURATION",
     .fallback = "1s",
     .help = "Asked before, checked, and not counted."},
    {.name = "keys",
     .argument = "N",
     .fallback = "100000",
     .help = "How many keys to choose from."},
    {.name = "key-choice",
     .argument = "CHOICE",
     .fallback = "uniform",
     .choices = "uniform|zipf|one|unique",
     .help = "uniform: all alike; zipf: the n-th with a weight of 1/n^0.99; one: always the same; "
             "unique: never the same twice in a run."},
    {.name = "traffic",
     .argument = "FILE",
     .file = true,
     .help = "Keys, routes, costs and attributes of a recorded file, in turn, again and again "
             "(the formats of sluice simulate; - is standard input)."},
    {.name = "route", .argument = "ROUTE", .fallback = "GET /", .help = "What is called."},
    ASK_COST_SPEC,
    {.name = "batch", .argument = "N", .help = "Ask in batches of N, at most 1000."},
    {.name = "rate",
     .argument = "R",
     .help = "Open loop: R questions a second are due at fixed instants, whatever the daemon does, "
             "and latency counts from when a question was due."},
    {.name = "threads", .argument = "N", .fallback = "1", .help = "Threads to load with."},
    ASK_JSON_SPEC,
    {.name = "plot",
     .argument = "FILE.svg",
     .file = true,
     .help = "Draw latency by percentile and throughput over time."},
    ASK_SECURE_SPECS,
    CMD_HELP_SPEC,
};

static const char *const examples[] = {
    "sluice bench\t50 connections, one question each, for 5 seconds",
    "sluice bench --in-flight 32 --key-choice zipf --plot bench.svg\tas a busy gateway asks",
    "sluice bench --rate 20000 --duration 30s --json\tlatency at a fixed load",
    "sluice bench --traffic access.log --requests 1000000\twhat was recorded, in turn",
    NULL,
};

const struct options_command cmd_bench_options = {
    .program = "sluice",
    .name = "bench",
    .arguments = "[OPTION]...",
    .summary = "loads a daemon and measures it",
    .description =
        "Every answer is checked: it must decode, carry the id of a question that is on its way, "
        "and agree with itself; it is counted as allowed, refused or error. Latency is one value "
        "a frame: a batch counts once. When the client's threads were busy 95 % of the time or "
        "more, it says that the client was the bottleneck.\n\n"
        "Exit codes: 0 every answer came and was right, 1 one was wrong or missing (or there was "
        "no daemon), 2 used wrongly.",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof specs / sizeof specs[0],
};

struct bench {
    struct options_parsed parsed;
    struct bench_run_options run;
    struct bench_load_options load;
    const char *plot;
    char token[ASK_TOKEN_BYTES];
    bool json;
};

static bool read_number(const struct options_parsed *parsed, const char *name, uint64_t min,
                        uint64_t max, uint64_t *number)
{
    const char *text = options_last(parsed, name);
    if (text == NULL) {
        return true;
    }
    if (text_parse_u64(slice_text(text), number) == STATUS_OK && *number >= min &&
        *number <= max) {
        return true;
    }
    (void)cmd_misused(&cmd_bench_options,
                      "--%s %s: expected a whole number from %" PRIu64 " to %" PRIu64, name, text,
                      min, max);
    return false;
}

static bool read_small(const struct options_parsed *parsed, const char *name, uint32_t max,
                       uint32_t fallback, uint32_t *number)
{
    uint64_t wide = fallback;
    bool ok = read_number(parsed, name, 1, max, &wide);
    *number = (uint32_t)wide;
    return ok;
}

static bool read_time(const struct options_parsed *parsed, const char *name, int64_t min_ns,
                      int64_t fallback_ns, int64_t *ns)
{
    const char *text = options_last(parsed, name);
    const char *why = "out of range";
    *ns = fallback_ns;
    if (text == NULL ||
        (text_parse_duration_ns(slice_text(text), ns, &why) == STATUS_OK && *ns >= min_ns &&
         *ns <= TIME_NS_MAX)) {
        return true;
    }
    (void)cmd_misused(&cmd_bench_options, "--%s %s: %s", name, text, why);
    return false;
}

static bool read_run(struct bench *bench)
{
    const struct options_parsed *parsed = &bench->parsed;
    struct bench_run_options *run = &bench->run;
    run->server = ask_server(parsed);
    run->show_progress = isatty(STDERR_FILENO) != 0;
    if (options_has(parsed, "requests") && options_has(parsed, "duration")) {
        (void)cmd_misused(&cmd_bench_options, "--requests and --duration exclude each other");
        return false;
    }
    if (!read_small(parsed, "connections", CONNECTIONS_MAX, 50, &run->connections) ||
        !read_small(parsed, "in-flight", BENCH_WORKER_IN_FLIGHT_MAX, 1, &run->in_flight) ||
        !read_small(parsed, "threads", THREADS_MAX, 1, &run->threads) ||
        !read_small(parsed, "batch", LIMITS_BATCH_MAX, 0, &run->batch)) {
        return false;
    }
    if (run->threads > run->connections) {
        (void)cmd_misused(&cmd_bench_options, "--threads %u: each needs a connection, there are %u",
                          run->threads, run->connections);
        return false;
    }
    return read_number(parsed, "requests", 1, REQUESTS_MAX, &run->requests) &&
           read_number(parsed, "rate", 1, RATE_MAX, &run->rate) &&
           read_time(parsed, "duration", 1, INT64_C(5000000000), &run->duration_ns) &&
           read_time(parsed, "warmup", 0, INT64_C(1000000000), &run->warmup_ns);
}

static bool read_choice(struct bench *bench)
{
    static const char *const names[] = {"uniform", "zipf", "one", "unique", NULL};
    const char *text = options_last(&bench->parsed, "key-choice");
    for (int i = 0; text != NULL && names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0) {
            bench->load.choice = (enum bench_load_choice)i;
            return true;
        }
    }
    if (text != NULL) {
        (void)cmd_misused(&cmd_bench_options,
                          "--key-choice %s: expected uniform, zipf, one or unique", text);
    }
    return text == NULL;
}

static bool read_load(struct bench *bench)
{
    static const char *const made_up[] = {"keys", "key-choice", "route"};
    const struct options_parsed *parsed = &bench->parsed;
    struct bench_load_options *load = &bench->load;
    const char *cost = options_last(parsed, "cost");
    load->traffic = options_last(parsed, "traffic");
    load->route = options_last(parsed, "route");
    load->route = load->route == NULL ? "GET /" : load->route;
    load->has_cost = cost != NULL;
    for (size_t i = 0; load->traffic != NULL && i < sizeof made_up / sizeof made_up[0]; i++) {
        if (options_has(parsed, made_up[i])) {
            (void)cmd_misused(&cmd_bench_options, "--%s has no use beside --traffic", made_up[i]);
            return false;
        }
    }
    if (strlen(load->route) == 0 || strlen(load->route) > LIMITS_KEY_BYTES_MAX) {
        (void)cmd_misused(&cmd_bench_options, "--route: expected 1 to %d bytes",
                          LIMITS_KEY_BYTES_MAX);
        return false;
    }
    return (cost == NULL || ask_parse_cost(&cmd_bench_options, cost, &load->cost)) &&
           read_small(parsed, "keys", KEYS_MAX, 100000, &load->keys) && read_choice(bench);
}

static int plot(const struct bench *bench, const struct bench_result *result)
{
    struct buf out;
    buf_init(&out, 0);
    bench_report_svg(&out, &bench->run, result);
    struct slice text = buf_slice(&out);
    FILE *file = out.failed ? NULL : fopen(bench->plot, "w");
    bool ok = file != NULL && fwrite(text.data, 1, text.size, file) == text.size;
    ok = (file == NULL || fclose(file) == 0) && ok;
    int code = ok ? CMD_DONE
                  : cmd_failed(&cmd_bench_options, "cannot write %s: %s", bench->plot,
                               out.failed ? "out of memory" : strerror(errno));
    buf_deinit(&out);
    return code;
}

static int report(const struct bench *bench, const struct bench_result *result)
{
    struct buf out;
    buf_init(&out, 0);
    if (bench->json) {
        bench_report_json(&out, &bench->run, result);
    } else {
        bench_report_text(&out, &bench->run, result);
    }
    int code = cmd_write(&cmd_bench_options, &out);
    buf_deinit(&out);
    if (bench->plot != NULL && code == CMD_DONE) {
        code = plot(bench, result);
    }
    if (result->wrong > 0 || result->missing > 0) {
        code = cmd_failed(&cmd_bench_options,
                          "%" PRIu64 " answers were wrong and %" PRIu64 " are missing: %s",
                          result->wrong, result->missing, result->trouble);
    }
    return code;
}

static int run(const struct bench *bench)
{
    struct bench_load load;
    struct bench_result result;
    struct buf message;
    int code = CMD_FAILED;
    buf_init(&message, 0);
    bench_result_init(&result);
    if (bench_load_init(&load, &bench->load, &message)) {
        if (load.skipped > 0) {
            (void)fprintf(stderr,
                          "sluice bench: %" PRIu64 " lines of %s are no question: skipped\n",
                          load.skipped, bench->load.traffic);
        }
        if (bench_run(&bench->run, &load, &result, &message)) {
            code = report(bench, &result);
        }
        bench_load_deinit(&load);
    }
    struct slice why = buf_slice(&message);
    if (why.size > 0) {
        code = cmd_failed(&cmd_bench_options, "%.*s", (int)why.size, (const char *)why.data);
    }
    bench_result_deinit(&result);
    buf_deinit(&message);
    return code;
}

/* What a protocol cannot be asked for. */
static bool check_scheme(const struct bench *bench, const struct sluice_url *url)
{
    const struct bench_run_options *run = &bench->run;
    const char *why = NULL;
    bool is_web = url->scheme == SLUICE_URL_HTTP || url->scheme == SLUICE_URL_GRPC;
    if ((url->scheme == SLUICE_URL_HTTP || url->scheme == SLUICE_URL_RESP) && run->batch > 0) {
        why = "--batch is asked over native:// or grpc://";
    } else if (url->scheme == SLUICE_URL_HTTP && !url->tls && run->in_flight > 1) {
        why = "--in-flight: HTTP/1.1 has one question on its way a connection";
    } else if (is_web && run->in_flight > 1 &&
               !sluice_web_shares_connections()) {
        why = "--in-flight: this libcurl (before 8.1) mixes up several questions on a connection; "
              "use more --connections";
    } else if (is_web &&
               (uint64_t)run->connections * run->in_flight > WEB_IN_FLIGHT_MAX) {
        why = "--connections and --in-flight: at most 10000 on their way over HTTP";
    }
    if (why != NULL) {
        (void)cmd_misused(&cmd_bench_options, "%s", why);
    }
    return why == NULL;
}

/* A URL that cannot be right is a mistake on the command line, not a daemon that is away. */
static bool check_server(struct bench *bench)
{
    struct sluice *client;
    struct sluice_url url;
    char why[512] = "out of memory";
    const struct sluice_options options = {
        .on_error = SLUICE_ON_ERROR_DENY, .why = why, .why_size = sizeof why};
    if (!ask_secure(&cmd_bench_options, &bench->parsed, &bench->run.secure, bench->token)) {
        return false;
    }
    if (sluice_url_parse(bench->run.server, &url, NULL, 0) == SLUICE_OK &&
        !check_scheme(bench, &url)) {
        return false;
    }
    if (sluice_open(bench->run.server, &options, &client) == SLUICE_OK) {
        sluice_close(&client);
        return true;
    }
    (void)cmd_misused(&cmd_bench_options, "--server: %s", why);
    return false;
}

int cmd_bench(int argc, char **argv)
{
    struct bench bench = {0};
    int code;
    if (!cmd_parse(&cmd_bench_options, argc, argv, &bench.parsed, &code)) {
        return code;
    }
    bench.json = options_has(&bench.parsed, "json");
    bench.plot = options_last(&bench.parsed, "plot");
    if (bench.parsed.argument_count > 0) {
        code = cmd_misused(&cmd_bench_options, "unexpected argument \"%s\"",
                           bench.parsed.arguments[0]);
    } else if (read_run(&bench) && read_load(&bench) && check_server(&bench)) {
        code = run(&bench);
    } else {
        code = CMD_USAGE;
    }
    options_parsed_deinit(&bench.parsed);
    return code;
}
