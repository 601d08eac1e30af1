#include "ask.h"

static const struct options_spec specs[] = {
    ASK_SERVER_SPEC,
    ASK_COST_SPEC,
    ASK_ATTRIBUTE_SPEC,
    {.name = "details", .help = "One row for each limit of the route, shadow ones included."},
    ASK_JSON_SPEC,
    ASK_TIMEOUT_SPEC,
    ASK_SECURE_SPECS,
    CMD_HELP_SPEC,
};

static const char *const examples[] = {
    "sluice ask alice \"POST /login\"\tone decision, at the route's own cost",
    "sluice ask alice \"POST /login\" --cost 0 --details\ta look at every limit of the route",
    "sluice ask alice \"GET /\" --attribute ip=192.0.2.7 --json\twith an attribute, as JSON",
    NULL,
};

const struct options_command cmd_ask_options = {
    .program = "sluice",
    .name = "ask",
    .arguments = "KEY ROUTE [OPTION]...",
    .summary = "asks a daemon for one decision",
    .description =
        "May KEY call ROUTE now? Prints \"allowed\" or \"refused: \" and the reason, then one "
        "line for each field of the answer. KEY and ROUTE are bytes, taken as they are.\n\n"
        "Exit codes: 0 allowed, 3 refused, 1 no answer or an error, 2 used wrongly.",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof specs / sizeof specs[0],
};

int cmd_ask(int argc, char **argv)
{
    struct ask ask;
    struct sluice_answer answer;
    int code;
    if (!ask_init(&ask, &cmd_ask_options, argc, argv, &code)) {
        return code;
    }
    code = sluice_ask(ask.client, &ask.question, &answer) == SLUICE_OK
               ? ask_show(&ask, &answer)
               : ask_complain(ask.command, &answer.error);
    ask_deinit(&ask);
    return code == CMD_DONE && !answer.allowed ? CMD_REFUSED : code;
}
