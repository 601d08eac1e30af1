#include "cmd.h"

#include "base/clock.h"
#include "base/text.h"
#include "simulate_answer.h"
#include "simulate_chart.h"
#include "simulate_json.h"
#include "simulate_report.h"
#include "simulate_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* `sluice simulate`: recorded traffic, decided again in virtual time. */

#define FLUSH_BYTES ((size_t)64 * 1024)
#define PROGRESS_LINES 4096u
#define PROGRESS_WIDTH 30u
#define PROGRESS_FIRST_NS (500 * CLOCK_NS_PER_MS)
#define PROGRESS_EVERY_NS (100 * CLOCK_NS_PER_MS)

static const struct options_spec specs[] = {
    {.name = "format",
     .argument = "FORMAT",
     .choices = "ndjson|csv|combined|common",
     .help = "What TRAFFIC is; told from its content when absent."},
    {.name = "key",
     .argument = "WHAT",
     .fallback = "address",
     .choices = "address|user|user-agent",
     .help = "Access logs: what stands for the key."},
    {.name = "route",
     .argument = "WHAT",
     .fallback = "method path",
     .choices = "method path|path",
     .help = "Access logs: what stands for the route; never the query."},
    {.name = "cost",
     .argument = "N",
     .help = "Access logs: what each request costs; the route's own cost when absent."},
    {.name = "answers",
     .help = "Print each answer as a line of JSON, in the order decided, and nothing else."},
    {.name = "details", .help = "With --answers: a row for each limit of the route."},
    {.name = "json", .help = "Print the summary as JSON."},
    {.name = "chart",
     .argument = "FILE.svg",
     .file = true,
     .help = "Draw allowed and refused over time, and each limit's refusals."},
    {.name = "compare",
     .argument = "OTHER.yaml",
     .file = true,
     .help = "Decide the same traffic under a second file too and say who would newly be refused "
             "or allowed. A reload in the traffic changes the first file only."},
    CMD_HELP_SPEC,
};

static const char *const examples[] = {
    "sluice simulate limits.yaml access.log\twho would have been refused?",
    "sluice simulate limits.yaml access.log --compare tighter.yaml\twhat would tighter limits do?",
    "sluice simulate limits.yaml access.log --chart refusals.svg\tand when?",
    "sluice simulate limits.yaml traffic.ndjson --answers\tevery answer, exact",
    NULL,
};

const struct options_command cmd_simulate_options = {
    .program = "sluice",
    .name = "simulate",
    .arguments = "LIMITS [TRAFFIC] [OPTION]...",
    .summary = "decides recorded or made-up traffic in virtual time, as the daemon would",
    .description =
        "TRAFFIC is a file or - for standard input (the default). NDJSON: one object a line with "
        "t_ns or time, and op (allow, refund, reset, reload), key or key_base64, route, cost, "
        "attributes; a reload has limits_file or limits. CSV: a header line with the same names, "
        "attribute.NAME for attributes. Access logs in the combined or common format: sorted by "
        "time, for which the whole log is held in memory; NDJSON and CSV are not.\n\n"
        "The numbers are those of the daemon, decided by the same code with the time of each line "
        "as the clock. A line that cannot be read is named on stderr, skipped and counted.\n\n"
        "Exit codes: 0 done, 1 something failed or a line could not be read, 2 used wrongly.",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof(specs) / sizeof(specs[0]),
};

struct job {
    const char *limits_path;
    const char *chart_path;
    const char *compare_path;
    bool answers;
    bool details;
    bool json;
    bool log_options; /* one that only an access log takes was given */
    struct traffic_options traffic_options;
    struct simulate *simulate;
    struct simulate *other; /* --compare */
    struct traffic *traffic;
    struct simulate_tally tally;
    struct simulate_compare compare;
    FILE *chart;
    struct buf out;
    bool progress;
    int64_t started_ns;
    int64_t shown_ns;
    uint64_t lines;
};

static const struct options_command *const self = &cmd_simulate_options;

/* One word of a few; *out is its place in `words`. False: said what was expected. */
static bool choose(const char *option, const char *text, const char *const *words, int *out)
{
    struct buf list;
    buf_init(&list, 0);
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            buf_deinit(&list);
            *out = i;
            return true;
        }
        buf_printf(&list, "%s%s", i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ", words[i]);
    }
    buf_append_byte(&list, 0);
    (void)cmd_misused(self, "--%s is \"%s\", expected %s", option, text,
                      list.failed ? "another word" : (const char *)list.data);
    buf_deinit(&list);
    return false;
}

static bool read_log_options(const struct options_parsed *parsed, struct job *job)
{
    static const char *const keys[] = {"address", "user", "user-agent", NULL};
    static const char *const routes[] = {"method path", "path", NULL};
    struct traffic_options *options = &job->traffic_options;
    const char *key = options_last(parsed, "key");
    const char *route = options_last(parsed, "route");
    const char *cost = options_last(parsed, "cost");
    int chosen = 0;
    job->log_options = key != NULL || route != NULL || cost != NULL;
    if (key != NULL) {
        if (!choose("key", key, keys, &chosen)) {
            return false;
        }
        options->key = (enum traffic_key)chosen;
    }
    if (route != NULL) {
        if (!choose("route", route, routes, &chosen)) {
            return false;
        }
        options->route = (enum traffic_route)chosen;
    }
    options->has_cost = cost != NULL;
    if (cost != NULL && (text_parse_u64(slice_text(cost), &options->cost) != STATUS_OK ||
                         options->cost > LIMITS_COST_MAX)) {
        (void)cmd_misused(self, "--cost is \"%s\", expected a whole number from 0 to %llu", cost,
                          (unsigned long long)LIMITS_COST_MAX);
        return false;
    }
    return true;
}

static bool read_options(const struct options_parsed *parsed, struct job *job)
{
    const char *format = options_last(parsed, "format");
    if (parsed->argument_count < 1 || parsed->argument_count > 2) {
        (void)cmd_misused(self, "%s, expected LIMITS and TRAFFIC",
                          parsed->argument_count < 1 ? "no limits file" : "too many arguments");
        return false;
    }
    job->limits_path = parsed->arguments[0];
    job->traffic_options.path = parsed->argument_count > 1 ? parsed->arguments[1] : "-";
    job->traffic_options.complaints = stderr;
    job->answers = options_has(parsed, "answers");
    job->details = options_has(parsed, "details");
    job->json = options_has(parsed, "json");
    job->chart_path = options_last(parsed, "chart");
    job->compare_path = options_last(parsed, "compare");
    if (job->answers && (job->json || job->compare_path != NULL)) {
        (void)cmd_misused(self, "--answers prints no summary, expected it without --%s",
                          job->json ? "json" : "compare");
        return false;
    }
    if (job->details && !job->answers) {
        (void)cmd_misused(self, "--details adds rows to answers, expected --answers with it");
        return false;
    }
    if (format != NULL && !traffic_parse_format(format, &job->traffic_options.format)) {
        (void)cmd_misused(self,
                          "--format is \"%s\", expected ndjson, csv, combined or common", format);
        return false;
    }
    return read_log_options(parsed, job);
}

static void print_error(const struct buf *text)
{
    struct slice slice = buf_slice(text);
    if (slice.size > 0) {
        (void)fwrite(slice.data, 1, slice.size, stderr);
    }
}

/* NULL: said why. */
static struct simulate *load(const char *path)
{
    struct buf message;
    buf_init(&message, 0);
    struct simulate *simulate = simulate_create(path, &message);
    print_error(&message);
    buf_deinit(&message);
    return simulate;
}

static int open_traffic(struct job *job)
{
    struct buf message;
    buf_init(&message, 0);
    int code = CMD_DONE;
    job->traffic = traffic_open(&job->traffic_options, &message);
    if (job->traffic == NULL) {
        struct slice why = buf_slice(&message);
        code = cmd_failed(self, "%.*s", (int)why.size, (const char *)why.data);
    } else if (job->log_options) {
        enum traffic_format format = traffic_format_used(job->traffic);
        if (format == TRAFFIC_NDJSON || format == TRAFFIC_CSV) {
            code = cmd_misused(self,
                               "--key, --route and --cost are for access logs, but %s is %s, "
                               "which names its own",
                               job->traffic_options.path, traffic_format_name(format));
        }
    }
    buf_deinit(&message);
    return code;
}

static int open_all(struct job *job)
{
    job->simulate = load(job->limits_path);
    if (job->simulate == NULL) {
        return CMD_FAILED;
    }
    if (job->compare_path != NULL && (job->other = load(job->compare_path)) == NULL) {
        return CMD_FAILED;
    }
    if (job->chart_path != NULL && (job->chart = fopen(job->chart_path, "we")) == NULL) {
        return cmd_failed(self, "%s: cannot be written: %s", job->chart_path, strerror(errno));
    }
    simulate_set_folder(job->simulate, job->traffic_options.path);
    const struct hash_key *key = simulate_hash_key(job->simulate);
    simulate_tally_init(&job->tally, key, job->chart != NULL);
    simulate_compare_init(&job->compare, key);
    job->progress = isatty(STDERR_FILENO) && !(job->answers && isatty(STDOUT_FILENO));
    job->started_ns = clock_ticks_ns();
    return open_traffic(job);
}

static void close_all(struct job *job)
{
    if (job->simulate != NULL) {
        simulate_tally_deinit(&job->tally);
        simulate_compare_deinit(&job->compare);
    }
    if (job->chart != NULL) {
        (void)fclose(job->chart);
    }
    traffic_close(&job->traffic);
    simulate_destroy(&job->simulate);
    simulate_destroy(&job->other);
    buf_deinit(&job->out);
}

/* [##########..............]  42 % */
static void append_bar(struct buf *out, double part)
{
    part = part > 1 ? 1 : part;
    buf_append_byte(out, '[');
    for (unsigned i = 0; i < PROGRESS_WIDTH; i++) {
        buf_append_byte(out, i < (unsigned)(part * PROGRESS_WIDTH) ? '#' : '.');
    }
    buf_printf(out, "] %3.0f %%  ", part * 100);
}

/* A bar and a count, written over themselves. */
static void show_progress(struct job *job)
{
    int64_t now = clock_ticks_ns();
    if (now - job->started_ns < PROGRESS_FIRST_NS || now - job->shown_ns < PROGRESS_EVERY_NS) {
        return;
    }
    job->shown_ns = now;
    uint64_t total = traffic_bytes_total(job->traffic);
    struct buf text;
    buf_init(&text, 0);
    buf_append_text(&text, "\r\033[K");
    if (total > 0) {
        append_bar(&text, (double)traffic_bytes_read(job->traffic) / (double)total);
    }
    simulate_table_append_count(&text, job->lines);
    buf_append_text(&text, " requests");
    print_error(&text);
    (void)fflush(stderr);
    buf_deinit(&text);
}

static void clear_progress(const struct job *job)
{
    if (job->shown_ns > 0) {
        (void)fputs("\r\033[K", stderr);
    }
}

static int print_answer(struct job *job, const struct traffic_item *item,
                        const struct simulate_answer *answer)
{
    simulate_answer_append(&job->out, item, answer, job->details);
    if (job->out.size < FLUSH_BYTES && !job->out.failed) {
        return CMD_DONE;
    }
    int code = cmd_write(self, &job->out);
    buf_clear(&job->out);
    return code;
}

static int decide(struct job *job, const struct traffic_item *item)
{
    bool tallied = !job->answers || job->chart != NULL;
    struct simulate_answer answer;
    simulate_step(job->simulate, item, tallied || job->details, &answer);
    if (tallied) {
        simulate_tally_add(&job->tally, simulate_policies(job->simulate), item, &answer);
    }
    if (job->other != NULL && item->op != TRAFFIC_RELOAD) {
        struct simulate_answer after;
        simulate_step(job->other, item, false, &after);
        simulate_compare_add(&job->compare, item, &answer, &after);
    }
    if (job->progress && ++job->lines % PROGRESS_LINES == 0) {
        show_progress(job);
    }
    return job->answers ? print_answer(job, item, &answer) : CMD_DONE;
}

static int decide_all(struct job *job)
{
    struct buf message;
    buf_init(&message, 0);
    enum traffic_result result = TRAFFIC_END;
    int code = CMD_DONE;
    do {
        struct traffic_item item;
        result = traffic_next(job->traffic, &item, &message);
        if (result == TRAFFIC_ITEM) {
            code = decide(job, &item);
        }
    } while (result == TRAFFIC_ITEM && code == CMD_DONE);
    clear_progress(job);
    if (code == CMD_DONE && job->answers) {
        code = cmd_write(self, &job->out);
    }
    if (result == TRAFFIC_FAILED) {
        struct slice why = buf_slice(&message);
        code = cmd_failed(self, "%.*s", (int)why.size, (const char *)why.data);
    }
    buf_deinit(&message);
    return code;
}

static struct simulate_summary summarise(const struct job *job)
{
    const char *path = job->traffic_options.path;
    const char *no_color = getenv("NO_COLOR");
    return (struct simulate_summary){
        .limits_path = job->limits_path,
        .traffic_path = strcmp(path, "-") == 0 ? "standard input" : path,
        .format = traffic_format_name(traffic_format_used(job->traffic)),
        .tally = &job->tally,
        .set = simulate_policies(job->simulate),
        .unreadable = traffic_unreadable(job->traffic),
        .counters_held = simulate_counters(job->simulate),
        .compare_path = job->compare_path,
        .compare = job->other == NULL ? NULL : &job->compare,
        .colour = isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0'),
    };
}

static int write_chart(struct job *job, const struct simulate_summary *summary)
{
    struct buf picture;
    buf_init(&picture, 0);
    simulate_chart_append(&picture, &job->tally, summary);
    int code = CMD_DONE;
    if (picture.failed) {
        code = cmd_failed(self, "%s: out of memory for the chart", job->chart_path);
    } else {
        struct slice text = buf_slice(&picture);
        bool written = fwrite(text.data, 1, text.size, job->chart) == text.size;
        written = fclose(job->chart) == 0 && written;
        job->chart = NULL;
        if (!written) {
            code = cmd_failed(self, "%s: cannot be written: %s", job->chart_path,
                              strerror(errno));
        }
    }
    buf_deinit(&picture);
    return code;
}

static int conclude(struct job *job)
{
    struct simulate_summary summary = summarise(job);
    int code = CMD_DONE;
    if (job->chart != NULL) {
        code = write_chart(job, &summary);
    }
    if (!job->answers) {
        buf_clear(&job->out);
        if (job->json) {
            simulate_json_append(&job->out, &summary);
        } else {
            simulate_report_append(&job->out, &summary);
        }
        int written = cmd_write(self, &job->out);
        code = code == CMD_DONE ? written : code;
    }
    return code == CMD_DONE && summary.unreadable > 0 ? CMD_FAILED : code;
}

int cmd_simulate(int argc, char **argv)
{
    struct options_parsed parsed;
    struct job job = {.limits_path = NULL};
    int code;
    if (!cmd_parse(self, argc, argv, &parsed, &code)) {
        return code;
    }
    buf_init(&job.out, 0);
    if (!read_options(&parsed, &job)) {
        code = CMD_USAGE;
    } else {
        code = open_all(&job);
        code = code == CMD_DONE ? decide_all(&job) : code;
        code = code == CMD_DONE ? conclude(&job) : code;
    }
    close_all(&job);
    options_parsed_deinit(&parsed);
    return code;
}
