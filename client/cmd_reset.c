#include "ask.h"

#include <inttypes.h>

static const struct options_spec specs[] = {
    ASK_SERVER_SPEC,  ASK_ATTRIBUTE_SPEC, ASK_TIMEOUT_SPEC, ASK_JSON_SPEC,
    ASK_SECURE_SPECS, CMD_HELP_SPEC,
};

static const char *const examples[] = {
    "sluice reset alice \"POST /login\"\talice starts afresh",
    NULL,
};

const struct options_command cmd_reset_options = {
    .program = "sluice",
    .name = "reset",
    .arguments = "KEY ROUTE [OPTION]...",
    .summary = "forgets the counters of a request",
    .description = "Forgets the counters that a request of KEY to ROUTE would meet and prints how "
                   "many were not as if never used.\n\n"
                   "Exit codes: 0 done, 1 no answer or an error, 2 used wrongly.",
    .examples = examples,
    .specs = specs,
    .spec_count = sizeof specs / sizeof specs[0],
};

int cmd_reset(int argc, char **argv)
{
    struct ask ask;
    struct sluice_reset_answer answer;
    int code;
    if (!ask_init(&ask, &cmd_reset_options, argc, argv, &code)) {
        return code;
    }
    if (sluice_reset(ask.client, &ask.question, &answer) == SLUICE_OK) {
        struct buf out;
        buf_init(&out, 0);
        buf_printf(&out, ask.json ? "{\"counters\":%" PRIu32 "}\n" : "counters: %" PRIu32 "\n",
                   answer.counters);
        code = cmd_write(ask.command, &out);
        buf_deinit(&out);
    } else {
        code = ask_complain(ask.command, &answer.error);
    }
    ask_deinit(&ask);
    return code;
}
