#include "config_options.h"

#include <string.h>

static const struct options_spec config_options_specs[] = {
    {.name = "limits",
     .argument = "FILE",
     .file = true,
     .help = "The limits file, or a directory whose *.yaml are read as one. Required."},
    {.name = "envoy-config",
     .argument = "FILE|DIR",
     .file = true,
     .help = "Rules of envoyproxy/ratelimit for gateways that speak Envoy's rate limit service: "
             "a file, or a directory whose *.yaml hold a domain each. Reloaded with the limits "
             "file."},
    {.name = "envoy-semantics",
     .argument = "exact|classic",
     .fallback = "exact",
     .choices = "exact|classic",
     .help = "exact: the descriptors of a request are decided together, and a refusal charges "
             "none. classic: one by one, charged also past their limit, a month of 30 days, as "
             "envoyproxy/ratelimit counts."},
    {.name = "listen",
     .argument = "PROTOCOL=ADDRESS",
     .fallback = "native=127.0.0.1:7070 http=127.0.0.1:7080 grpc=127.0.0.1:7081 "
                 "resp=127.0.0.1:7379 admin=127.0.0.1:7090",
     .repeatable = true,
     .help = "Where to listen, and for what: native=HOST:PORT, native=[::1]:PORT or "
             "native=unix:PATH; also http=, grpc=, resp= and admin=. Port 0 picks one. http and "
             "grpc "
             "may share an address: the first bytes tell."},
    {.name = "workers",
     .argument = "N",
     .fallback = "one for each core",
     .help = "Threads that serve connections. 1 is right beside one program on one core."},
    {.name = "state-dir",
     .argument = "DIR",
     .fallback = "$STATE_DIRECTORY, else /var/lib/sluice",
     .file = true,
     .help = "Where counters are kept over restarts. A second daemon on the same directory takes "
             "over when the first leaves."},
    {.name = "snapshot-interval",
     .argument = "DURATION",
     .fallback = "1s",
     .help = "How often what changed is written: what a crash may lose."},
    {.name = "no-state", .help = "Keep counters in memory only: a restart forgets them."},
    {.name = "on-bad-state",
     .argument = "refuse|empty",
     .fallback = "refuse",
     .choices = "refuse|empty",
     .help = "When the state cannot be loaded, refuse to start, or move it aside and start empty."},
    {.name = "max-counters",
     .argument = "N",
     .help = "Most counters kept. Without it there is no bound but --max-memory."},
    {.name = "max-memory",
     .argument = "SIZE",
     .help = "Most memory for counters, such as 512MiB. Without it there is no bound."},
    {.name = "when-full",
     .argument = "refuse|evict",
     .fallback = "refuse",
     .choices = "refuse|evict",
     .help = "At the bound, refuse what needs a new counter, or evict one near its reset."},
    {.name = "max-connections",
     .argument = "N",
     .fallback = "the hard limit of open files less 64",
     .help = "Most connections; further ones are told so and closed."},
    {.name = "idle-timeout",
     .argument = "DURATION",
     .fallback = "0",
     .help = "Close a connection that was silent for so long. 0: never."},
    {.name = "request-timeout",
     .argument = "DURATION",
     .fallback = "10s",
     .help = "Close a connection whose request was begun and not finished for so long. 0: never."},
    {.name = "shutdown-timeout",
     .argument = "DURATION",
     .fallback = "5s",
     .help = "How long a stop may take to answer what was read."},
    {.name = "allow-changes",
     .argument = "local|all|none",
     .fallback = "local",
     .choices = "local|all|none",
     .help = "Who may refund and reset: peers on loopback and Unix sockets (with --tokens, those "
             "whose token has the right), all, or none."},
    {.name = "shadow-all",
     .help = "Every limit counts and none refuses: for the first day of a roll-out, or an "
             "emergency. A log line says so each minute."},
    {.name = "x-ratelimit-headers",
     .help = "HTTP answers carry X-RateLimit-Limit, -Remaining and -Reset (seconds from now) "
             "beside RateLimit; gateways that ask over Envoy's protocol are told to add them."},
    {.name = "tls-cert",
     .argument = "FILE",
     .file = true,
     .help = "Speak TLS (1.2 and later) on every listener but Unix sockets: the certificate in "
             "PEM, "
             "and those between it and the root behind it. Read again when it changes; "
             "connections stay."},
    {.name = "tls-key",
     .argument = "FILE",
     .file = true,
     .help = "The certificate's private key in PEM, without a pass phrase."},
    {.name = "tls-client-ca",
     .argument = "FILE",
     .file = true,
     .help = "Take only peers that show a certificate signed by one of these (PEM)."},
    {.name = "tokens",
     .argument = "FILE",
     .file = true,
     .help = "Take only peers that show a token of this file, for what it grants: one line a "
             "token, "
             "NAME: HASH RIGHT..., with rights ask, refund and admin. sluice token makes one."},
    {.name = "log-level",
     .argument = "error|warn|info|debug",
     .fallback = "info",
     .choices = "error|warn|info|debug",
     .help = "The least important lines to log, on stderr."},
    {.name = "log-format",
     .argument = "text|json",
     .fallback = "text",
     .choices = "text|json",
     .help = "How a log line is written."},
    {.name = "config",
     .argument = "FILE",
     .file = true,
     .help = "A YAML file whose keys are these options' names. The command line wins, then the "
             "environment, then the file."},
    {.name = "help", .help = "Print this help."},
    {.name = "version", .help = "Print the version."},
    {.name = "describe-metrics", .help = "Print the table of all metrics."},
    {.name = "man", .help = "Print the man page."},
    {.name = "completion",
     .argument = "bash",
     .choices = "bash",
     .help = "Print the completion script."},
};

static const char *const config_options_examples[] = {
    "sluiced --limits limits.yaml\tdecide by limits.yaml, for programs on this machine",
    "sluiced --limits limits.yaml --listen native=0.0.0.0:7070 --allow-changes none\t"
    "for other machines, who may ask but not take back",
    "sluiced --limits limits.yaml --listen native=unix:/run/sluice/sluice.sock --workers 1\t"
    "beside one program, over a Unix socket",
    "SLUICED_LIMITS=limits.yaml SLUICED_MAX_MEMORY=512MiB sluiced\tby the environment",
    NULL,
};

const struct options_command config_options = {
    .program = "sluiced",
    .arguments = "--limits FILE [OPTION]...",
    .summary = "decides whether a request is within its limits",
    .description =
        "sluiced answers one question over the network, many times a second: should this key be "
        "allowed on this route now? The limits are in a YAML file, which is read at the start and "
        "again within 2 s when it has changed (SIGHUP: at once); a bad file is refused whole and "
        "the old limits stay in force.\n\n"
        "Counters are kept in the state directory: after a crash at most what changed within the "
        "snapshot interval and the time of the latest write is lost, after a stop nothing.\n\n"
        "When it is ready it prints one line for each --listen and then the line ready to the "
        "standard output. Log lines go to the standard error. SIGTERM and SIGINT stop it: it "
        "answers what it has read, says goodbye to its peers, writes the state, and exits with 0. "
        "SIGUSR1 writes the state now.\n\n"
        "Each option may also be given in the environment, as SLUICED_ and its name in capitals "
        "with underscores (SLUICED_MAX_MEMORY), or as a key of the file that --config names. An "
        "option that may be repeated is separated by commas in the environment and a list in the "
        "file.\n\n"
        "Exit status: 0 stopped as told, 1 the start failed, 2 used wrongly.",
    .examples = config_options_examples,
    .specs = config_options_specs,
    .spec_count = sizeof(config_options_specs) / sizeof(config_options_specs[0]),
};

/* --config and those behind it say where settings come from, or what to print: no settings. */
const struct options_spec *config_options_find(struct slice name)
{
    for (uint32_t i = 0; i < config_options.spec_count; i++) {
        const struct options_spec *spec = &config_options.specs[i];
        if (strcmp(spec->name, "config") == 0) {
            break;
        }
        if (slice_equal_text(name, spec->name)) {
            return spec;
        }
    }
    return NULL;
}
