/* The `sluice` tool: finds the command's row and hands over. What a command does is in its own
 * cmd_<name>.c. */
#include "cmd.h"

#include "base/clock.h"
#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct command {
    const struct options_command *options;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {&cmd_ask_options, cmd_ask},         {&cmd_refund_options, cmd_refund},
    {&cmd_reset_options, cmd_reset},     {&cmd_check_options, cmd_check},
    {&cmd_simulate_options, cmd_simulate}, {&cmd_bench_options, cmd_bench},
    {&cmd_stats_options, cmd_stats},     {&cmd_state_options, cmd_state},
    {&cmd_token_options, cmd_token},
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static const struct options_spec tool_specs[] = {
    {.name = "help", .help = "Show this help and exit."},
    {.name = "version", .help = "Show the version and exit."},
    {.name = "man", .help = "Print the man page (troff) and exit."},
    {.name = "completion",
     .argument = "SHELL",
     .choices = "bash",
     .help = "Print the completion script for a shell and exit."},
};

static const char *const tool_examples[] = {
    "sluice ask alice \"POST /login\"\tmay alice log in now?",
    "sluice check limits.yaml\tis the limits file right?",
    "sluice help bench\twhat a command takes",
    NULL,
};

static const struct options_command tool = {
    .program = "sluice",
    .arguments = "COMMAND [ARGUMENT]...",
    .summary = "asks, checks, simulates and loads a Sluice rate-limit daemon",
    .description = "Each command has its own help: sluice help COMMAND.\n\n"
                   "Exit codes: 0 done, 1 failed, 2 used wrongly, 3 asked and refused.",
    .examples = tool_examples,
    .specs = tool_specs,
    .spec_count = sizeof tool_specs / sizeof tool_specs[0],
};

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].options->name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int unknown(const char *name)
{
    const char *words[COMMAND_COUNT + 2] = {"help"};
    struct buf text;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        words[i + 1] = commands[i].options->name;
    }
    buf_init(&text, 0);
    buf_append_text(&text, "sluice: unknown command \"");
    text_append_escaped(&text, slice_text(name), 80);
    buf_append_byte(&text, '"');
    const char *nearest = text_nearest(slice_text(name), words);
    if (nearest != NULL) {
        buf_printf(&text, "; did you mean \"%s\"?", nearest);
    }
    struct slice said = buf_slice(&text);
    (void)fprintf(stderr, "%.*s\nTry 'sluice --help'.\n", (int)said.size,
                  (const char *)said.data);
    buf_deinit(&text);
    return CMD_USAGE;
}

static int print_help(void)
{
    struct buf text;
    buf_init(&text, 0);
    options_help(&tool, &text);
    buf_append_text(&text, "\nCommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        buf_printf(&text, "  %-10s %s\n", commands[i].options->name,
                   commands[i].options->summary);
    }
    int code = cmd_write(&tool, &text);
    buf_deinit(&text);
    return code;
}

static int print_command_help(const char *name)
{
    const struct command *command = find(name);
    struct buf text;
    if (command == NULL) {
        return unknown(name);
    }
    buf_init(&text, 0);
    options_help(command->options, &text);
    int code = cmd_write(&tool, &text);
    buf_deinit(&text);
    return code;
}

/* The man page and the completion script cover the tool and all its commands. */
static int print_all(void (*print)(const struct options_command *const *, uint32_t, struct buf *))
{
    const struct options_command *all[COMMAND_COUNT + 1] = {&tool};
    struct buf text;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        all[i + 1] = commands[i].options;
    }
    buf_init(&text, 0);
    print(all, COMMAND_COUNT + 1, &text);
    int code = cmd_write(&tool, &text);
    buf_deinit(&text);
    return code;
}

static void append_man(const struct options_command *const *all, uint32_t count, struct buf *out)
{
    options_man(all, count, SLUICE_VERSION, out);
}

static int misused(const char *sentence)
{
    (void)fprintf(stderr, "sluice: %s\nTry 'sluice --help'.\n", sentence);
    return CMD_USAGE;
}

/* `sluice --something`: the options stand before any command. */
static int run_options(int argc, char **argv)
{
    struct options_parsed parsed;
    struct buf message;
    int code;
    buf_init(&message, 0);
    if (options_parse(&tool, argc, argv, &parsed, &message) != STATUS_OK) {
        buf_append_byte(&message, '\0');
        code = misused((const char *)buf_slice(&message).data);
        buf_deinit(&message);
        return code;
    }
    buf_deinit(&message);
    const char *shell = options_last(&parsed, "completion");
    if (options_has(&parsed, "help")) {
        code = print_help();
    } else if (options_has(&parsed, "version")) {
        code = printf("sluice %s\n", SLUICE_VERSION) < 0 ? CMD_FAILED : CMD_DONE;
    } else if (options_has(&parsed, "man")) {
        code = print_all(append_man);
    } else if (shell != NULL && strcmp(shell, "bash") == 0) {
        code = print_all(options_bash_completion);
    } else if (shell != NULL) {
        code = misused("--completion knows one shell: bash");
    } else {
        code = misused("a command is missing");
    }
    options_parsed_deinit(&parsed);
    return code;
}

int main(int argc, char **argv)
{
    /* A reader that went away (`| head`) is an error to report, not a death by signal. */
    (void)signal(SIGPIPE, SIG_IGN);
    clock_start();
    if (argc < 2) {
        return misused("a command is missing");
    }
    if (argv[1][0] == '-') {
        return run_options(argc, argv);
    }
    if (strcmp(argv[1], "help") == 0) {
        return argc < 3 ? print_help() : print_command_help(argv[2]);
    }
    const struct command *command = find(argv[1]);
    return command == NULL ? unknown(argv[1]) : command->run(argc - 1, argv + 1);
}
