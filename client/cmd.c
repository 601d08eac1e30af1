#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool cmd_parse(const struct options_command *command, int argc, char **argv,
               struct options_parsed *parsed, int *exit_code)
{
    struct buf text;
    buf_init(&text, 0);
    *exit_code = CMD_DONE;
    enum status status = options_parse(command, argc, argv, parsed, &text);
    if (status != STATUS_OK) {
        struct slice said = buf_slice(&text);
        (void)fprintf(stderr, "sluice %s: %.*s\nTry 'sluice %s --help'.\n", command->name,
                      (int)said.size, (const char *)said.data, command->name);
        *exit_code = status == STATUS_INVALID ? CMD_USAGE : CMD_FAILED;
    } else if (options_has(parsed, "help")) {
        options_help(command, &text);
        *exit_code = cmd_write(command, &text);
        options_parsed_deinit(parsed);
        status = STATUS_NOT_FOUND;
    }
    buf_deinit(&text);
    return status == STATUS_OK;
}

__attribute__((format(printf, 2, 0))) static void
complain(const struct options_command *command, const char *format, va_list args)
{
    (void)fprintf(stderr, "sluice %s: ", command->name);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
}

int cmd_misused(const struct options_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(command, format, args);
    va_end(args);
    (void)fprintf(stderr, "Try 'sluice %s --help'.\n", command->name);
    return CMD_USAGE;
}

int cmd_failed(const struct options_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(command, format, args);
    va_end(args);
    return CMD_FAILED;
}

int cmd_write(const struct options_command *command, const struct buf *out)
{
    const char *name = command->name == NULL ? "" : command->name;
    const char *space = command->name == NULL ? "" : " ";
    struct slice text = buf_slice(out);
    if (out->failed) {
        (void)fprintf(stderr, "sluice%s%s: out of memory\n", space, name);
        return CMD_FAILED;
    }
    if (fwrite(text.data == NULL ? (const void *)"" : text.data, 1, text.size, stdout) !=
            text.size ||
        fflush(stdout) != 0) {
        (void)fprintf(stderr, "sluice%s%s: cannot write to standard output: %s\n", space, name,
                      strerror(errno));
        return CMD_FAILED;
    }
    return CMD_DONE;
}
