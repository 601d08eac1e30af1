/* The commands of the `sluice` tool. Each file client/cmd_<name>.c holds one: its table of
 * options, and a function that does it and returns the exit code.
 *
 * Exit codes: 0 done, 1 failed, 2 used wrongly, 3 asked and refused. Data goes to stdout,
 * everything else to stderr. */
#ifndef CMD_H
#define CMD_H

#include "base/options.h"

enum cmd_exit { CMD_DONE = 0, CMD_FAILED = 1, CMD_USAGE = 2, CMD_REFUSED = 3 };

/* argv[0] is the command's own name. */
int cmd_ask(int argc, char **argv);
int cmd_refund(int argc, char **argv);
int cmd_reset(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_token(int argc, char **argv);
int cmd_state(int argc, char **argv);

/* Their option tables: --help, the man page and the completion script come from them. */
extern const struct options_command cmd_ask_options;
extern const struct options_command cmd_refund_options;
extern const struct options_command cmd_reset_options;
extern const struct options_command cmd_check_options;
extern const struct options_command cmd_simulate_options;
extern const struct options_command cmd_bench_options;
extern const struct options_command cmd_stats_options;
extern const struct options_command cmd_token_options;
extern const struct options_command cmd_state_options;

/* The row that every table ends with. */
#define CMD_HELP_SPEC {.name = "help", .help = "Show this help and exit."}

/* Splits the command line. True: go on with *parsed (options_parsed_deinit it). False: done
 * already, leave with *exit_code: --help was printed to stdout, or a sentence about what is wrong
 * to stderr (2). */
bool cmd_parse(const struct options_command *command, int argc, char **argv,
               struct options_parsed *parsed, int *exit_code);

/* Prints "sluice COMMAND: " and a sentence to stderr and returns CMD_USAGE or CMD_FAILED. */
int cmd_misused(const struct options_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int cmd_failed(const struct options_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes what a buf holds to stdout; CMD_FAILED with a sentence when that fails (a full disk, a
 * closed pipe), or when the buf is marked failed. CMD_DONE otherwise. */
int cmd_write(const struct options_command *command, const struct buf *out);

#endif
