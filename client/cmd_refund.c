#include "ask.h"

static const struct options_spec specs[] = {
    ASK_SERVER_SPEC,    ASK_COST_SPEC, ASK_ATTRIBUTE_SPEC,
    ASK_TIMEOUT_SPEC,   ASK_JSON_SPEC, ASK_SECURE_SPECS,
    CMD_HELP_SPEC,
};

static const char *const examples[] = {
    "sluice refund alice \"POST /login\" --cost 3\tgive three units back",
    NULL,
};

const struct options_command cmd_refund_options = {
    .program = "sluice",
    .name = "refund",
    .arguments = "KEY ROUTE [OPTION]...",
    .summary = "gives units back to every limit of a route",
    .description =
        "Gives back at most what was used, to every limit of the route whose counter exists, and "
        "prints the answer of a look right after.\n\n"
        "Exit codes: 0 done, whatever the answer says; 1 no answer or an error; 2 used wrongly.",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof specs / sizeof specs[0],
};

int cmd_refund(int argc, char **argv)
{
    struct ask ask;
    struct sluice_answer answer;
    int code;
    if (!ask_init(&ask, &cmd_refund_options, argc, argv, &code)) {
        return code;
    }
    code = sluice_refund(ask.client, &ask.question, &answer) == SLUICE_OK
               ? ask_show(&ask, &answer)
               : ask_complain(ask.command, &answer.error);
    ask_deinit(&ask);
    return code;
}
