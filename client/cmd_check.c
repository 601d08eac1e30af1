#include "cmd.h"

#include "ask.h"
#include "base/clock.h"
#include "base/text.h"
#include "engine/limits_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `sluice check`: the same reading and checking that the daemon does at its start. What is right
 * goes to stdout, what is wrong to stderr. */

static const struct options_spec specs[] = {
    CMD_HELP_SPEC,
};

static const char *const examples[] = {
    "sluice check limits.yaml\tis it right?",
    "sluice check /etc/sluice/limits.d\ta directory: all its *.yaml as one file",
    NULL,
};

const struct options_command cmd_check_options = {
    .program = "sluice",
    .name = "check",
    .arguments = "FILE...",
    .summary = "checks limits files",
    .description = "Prints one line for each FILE that is right, or every error of it, one a "
                   "line, as file:line:column. Warnings do not make a file wrong.\n\n"
                   "Exit codes: 0 all are right, 1 one is not, 2 used wrongly.",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof specs / sizeof specs[0],
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

static int check_file(const char *path, const struct hash_key *key)
{
    const struct limits_file_options options = {.key = key, .now_ns = clock_now_ns()};
    struct limits_file_report report;
    struct policy_set *set = NULL;
    limits_file_report_init(&report);
    enum status status = limits_file_load(path, &options, &set, &report);
    int code = CMD_FAILED;
    say(&report);
    if (status == STATUS_OK) {
        code = print_ok(path, set);
        policy_set_destroy(&set);
    } else if (report.text.size == 0) {
        code = cmd_failed(&cmd_check_options, "%s: %s", path, status_text(status));
    }
    limits_file_report_deinit(&report);
    return code;
}

int cmd_check(int argc, char **argv)
{
    struct options_parsed parsed;
    struct hash_key key;
    int code;
    if (!cmd_parse(&cmd_check_options, argc, argv, &parsed, &code)) {
        return code;
    }
    if (parsed.argument_count == 0) {
        code = cmd_misused(&cmd_check_options, "a limits file is missing");
    }
    hash_random_key(&key);
    for (uint32_t i = 0; i < parsed.argument_count; i++) {
        int one = check_file(parsed.arguments[i], &key);
        code = one == CMD_DONE ? code : one;
    }
    options_parsed_deinit(&parsed);
    return code;
}
