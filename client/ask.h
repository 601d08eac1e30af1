/* What `ask`, `refund` and `reset` have in common: the question on the command line, the way to
 * the daemon. */
#ifndef ASK_H
#define ASK_H

#include "cmd.h"
#include "sluice.h"

/* Rows of their option tables. */
#define ASK_SERVER_SPEC                                                                         \
    {.name = "server",                                                                          \
     .argument = "URL",                                                                         \
     .fallback = "native://127.0.0.1:7070",                                                     \
     .help = "The daemon: native://HOST:PORT or unix:PATH; also http://, https://, grpc://, "    \
             "grpcs:// and resp://. $SLUICE_SERVER where it is not given."}
#define ASK_COST_SPEC                                                                           \
    {.name = "cost",                                                                            \
     .argument = "N",                                                                           \
     .help = "Units asked for; 0 is a look that changes nothing. The route's own cost by "      \
             "default."}
#define ASK_ATTRIBUTE_SPEC                                                                      \
    {.name = "attribute",                                                                       \
     .argument = "NAME=VALUE",                                                                  \
     .repeatable = true,                                                                        \
     .help = "An attribute of the request, such as ip=192.0.2.7."}
#define ASK_TIMEOUT_SPEC                                                                        \
    {.name = "timeout",                                                                         \
     .argument = "DURATION",                                                                    \
     .fallback = "5s",                                                                          \
     .help = "How long to wait for the answer, connecting included."}
/* Rows, with commas between them: what a daemon with --tokens or --tls-cert wants to see. */
#define ASK_TOKEN_SPEC                                                                          \
    {.name = "token-file",                                                                      \
     .argument = "FILE",                                                                        \
     .file = true,                                                                              \
     .help = "Show the token that is this file's first line, to a daemon with --tokens. "       \
             "$SLUICE_TOKEN is the token itself where it is not given."}
#define ASK_SECURE_SPECS                                                                        \
    ASK_TOKEN_SPEC,                                                                             \
    {.name = "cacert",                                                                          \
     .argument = "FILE",                                                                        \
     .file = true,                                                                              \
     .help = "https and grpcs: the certificates (PEM) that may sign the daemon's, instead of "  \
             "those that the system trusts."},                                                  \
    {.name = "cert",                                                                            \
     .argument = "FILE",                                                                        \
     .file = true,                                                                              \
     .help = "https and grpcs: the certificate (PEM) to show."},                                \
    {.name = "key", .argument = "FILE", .file = true, .help = "Its private key (PEM)."}
#define ASK_JSON_SPEC {.name = "json", .help = "Print the answer as one line of JSON."}

struct ask {
    const struct options_command *command;
    struct options_parsed parsed;
    struct sluice_question question; /* points into argv and `attributes` */
    struct sluice_attribute *attributes;
    bool json;
    struct sluice *client;
};

/* Reads the command line and opens the client. False: leave with *exit_code. */
bool ask_init(struct ask *ask, const struct options_command *command, int argc, char **argv,
              int *exit_code);
void ask_deinit(struct ask *ask);

/* Prints the answer to stdout, as --json says. */
int ask_show(const struct ask *ask, const struct sluice_answer *answer);

/* Says on stderr why there is no decision; CMD_FAILED. */
int ask_complain(const struct options_command *command, const struct sluice_error *error);

/* --timeout in ms, rounded up; 0 (with a sentence on stderr) when it is not one. */
uint32_t ask_timeout_ms(const struct options_command *command,
                        const struct options_parsed *parsed);

#define ASK_TOKEN_BYTES 1025 /* a token and its NUL */

/* Fills what ASK_SECURE_SPECS say; the token goes to `room`. False, with a sentence on stderr: a
 * file cannot be read, or the options do not fit together. */
bool ask_secure(const struct options_command *command, const struct options_parsed *parsed,
                struct sluice_options *options, char room[ASK_TOKEN_BYTES]);

/* The URL of --server, $SLUICE_SERVER, or the default. */
const char *ask_server(const struct options_parsed *parsed);

/* "NAME=VALUE" -> an attribute pointing into it; false without "=" or without a name. */
bool ask_parse_attribute(const char *text, struct sluice_attribute *attribute);

/* A whole number 0 … 2^63 - 1; false (with a sentence on stderr) for anything else. */
bool ask_parse_cost(const struct options_command *command, const char *text, uint64_t *cost);

#endif
