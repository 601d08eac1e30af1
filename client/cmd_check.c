#include "cmd.h"

#include "ask.h"
#include "base/clock.h"
#include "base/text.h"
#include "engine/explain.h"
#include "engine/limits_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `sluice check`: the same reading and checking that the daemon does at its start. What is right
 * goes to stdout, what is wrong to stderr.
 *
 * --explain takes two words, which no table of options can say: its second one, the route, is taken
 * out of the command line before that is split. */

static const struct options_spec specs[] = {
    {.name = "explain",
     .argument = "KEY ROUTE",
     .help = "Say which entry of routes, limits, plan values, overrides and identities a "
             "request of KEY to ROUTE meets."},
    {.name = "attribute",
     .argument = "NAME=VALUE",
     .repeatable = true,
     .help = "With --explain: an attribute of the request, such as ip=192.0.2.7."},
    CMD_HELP_SPEC,
};

static const char *const examples[] = {
    "sluice check limits.yaml\tis it right?",
    "sluice check /etc/sluice/limits.d\ta directory: all its *.yaml as one file",
    "sluice check limits.yaml --explain alice \"POST /login\" --attribute plan=pro\twhat would "
    "this request meet?",
    NULL,
};

const struct options_command cmd_check_options = {
    .program = "sluice",
    .name = "check",
    .arguments = "FILE... [--explain KEY ROUTE [--attribute NAME=VALUE]...]",
    .summary = "checks limits files",
    .description = "Prints one line for each FILE that is right, or every error of it, one a "
                   "line, as file:line:column. Warnings do not make a file wrong.\n\n"
                   "Exit codes: 0 all are right, 1 one is not, 2 used wrongly.",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof specs / sizeof specs[0],
};

struct check {
    struct hash_key key;
    bool explain;
    struct request request;
};

static void say(const struct limits_file_report *report)
{
    struct slice text = buf_slice(&report->text);
    if (text.size > 0) {
        (void)fwrite(text.data, 1, text.size, stderr);
    }
}

static int print_ok(const char *path, const struct policy_set *set)
{
    struct buf out;
    buf_init(&out, 0);
    buf_printf(&out, "%s: ok, %" PRIu32 " limit%s, %" PRIu32 " route%s\n", path, set->limit_count,
               set->limit_count == 1 ? "" : "s", set->route_count,
               set->route_count == 1 ? "" : "s");
    int code = cmd_write(&cmd_check_options, &out);
    buf_deinit(&out);
    return code;
}

/* A request that no daemon would take is not explained. */
static int explain(const struct policy_set *set, const struct request *request, int64_t now_ns)
{
    struct request_error error;
    struct buf out;
    if (!request_check(request, &error)) {
        return cmd_failed(&cmd_check_options, "%s: %s", error.field, error.message);
    }
    buf_init(&out, 0);
    explain_request(set, request, now_ns, &out);
    int code = cmd_write(&cmd_check_options, &out);
    buf_deinit(&out);
    return code;
}

static int check_file(const struct check *check, const char *path)
{
    const struct limits_file_options options = {.key = &check->key, .now_ns = clock_now_ns()};
    struct limits_file_report report;
    struct policy_set *set = NULL;
    limits_file_report_init(&report);
    enum status status = limits_file_load(path, &options, &set, &report);
    int code = CMD_FAILED;
    say(&report);
    if (status == STATUS_OK) {
        code = print_ok(path, set);
        if (code == CMD_DONE && check->explain) {
            code = explain(set, &check->request, options.now_ns);
        }
        policy_set_destroy(&set);
    } else if (report.text.size == 0) {
        code = cmd_failed(&cmd_check_options, "%s: %s", path, status_text(status));
    }
    limits_file_report_deinit(&report);
    return code;
}

/* Takes the word behind `--explain KEY` out of argv. False: it is not there. */
static bool take_route(int *argc, char **argv, const char **route)
{
    *route = NULL;
    for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0; i++) {
        bool apart = strcmp(argv[i], "--explain") == 0;
        if (!apart && strncmp(argv[i], "--explain=", 10) != 0) {
            continue;
        }
        int at = i + (apart ? 2 : 1);
        if (*route != NULL || at >= *argc) {
            return false;
        }
        *route = argv[at];
        memmove(&argv[at], &argv[at + 1], (size_t)(*argc - at) * sizeof *argv);
        --*argc;
    }
    return true;
}

static struct slice to_slice(struct sluice_bytes bytes)
{
    return slice_make(bytes.data, bytes.size);
}

static bool read_attributes(struct check *check, const struct options_parsed *parsed)
{
    struct request *request = &check->request;
    for (uint32_t i = 0; i < parsed->count; i++) {
        struct sluice_attribute attribute;
        const char *text = parsed->values[i].text;
        if (strcmp(parsed->values[i].spec->name, "attribute") != 0) {
            continue;
        }
        if (!check->explain || !ask_parse_attribute(text, &attribute)) {
            (void)cmd_misused(&cmd_check_options,
                              check->explain ? "--attribute %s: expected NAME=VALUE"
                                             : "--attribute %s: only beside --explain",
                              text);
            return false;
        }
        if (request->attribute_count < LIMITS_ATTRIBUTES_MAX) {
            request->attributes[request->attribute_count].name = to_slice(attribute.name);
            request->attributes[request->attribute_count].value = to_slice(attribute.value);
        }
        request->attribute_count++;
    }
    return true;
}

static int run(struct check *check, const struct options_parsed *parsed)
{
    int code = CMD_DONE;
    if (parsed->argument_count == 0) {
        return cmd_misused(&cmd_check_options, "a limits file is missing");
    }
    if (!read_attributes(check, parsed)) {
        return CMD_USAGE;
    }
    hash_random_key(&check->key);
    for (uint32_t i = 0; i < parsed->argument_count; i++) {
        int one = check_file(check, parsed->arguments[i]);
        code = one == CMD_DONE ? code : one;
    }
    return code;
}

int cmd_check(int argc, char **argv)
{
    struct options_parsed parsed;
    struct check check = {0};
    const char *route;
    int code;
    bool routed = take_route(&argc, argv, &route);
    if (!cmd_parse(&cmd_check_options, argc, argv, &parsed, &code)) {
        return code;
    }
    const char *key = options_last(&parsed, "explain");
    check.explain = key != NULL;
    check.request.utf8 = true;
    if (!routed || (key != NULL && route == NULL)) {
        code = cmd_misused(&cmd_check_options, "--explain takes two words, once: KEY ROUTE");
    } else {
        if (key != NULL) {
            check.request.key = slice_text(key);
            check.request.route = slice_text(route);
        }
        code = run(&check, &parsed);
    }
    options_parsed_deinit(&parsed);
    return code;
}
