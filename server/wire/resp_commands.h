/* Every command of the Redis protocol that is answered, in one table. */
#ifndef WIRE_RESP_COMMANDS_H
#define WIRE_RESP_COMMANDS_H

#include "wire/resp_turn.h"

struct resp_commands_row {
    const char *name; /* upper case */
    uint32_t least;   /* arguments, the name included */
    uint32_t most;
    const char *flag; /* as COMMAND calls it: "write", "fast" … */
    int first_key;    /* as COMMAND says it; 0: no keys */
    int last_key;
    void (*run)(struct resp_turn *turn, const struct resp_command *command);
};

/* Ends with a row without a name. */
extern const struct resp_commands_row resp_commands_table[];

const struct resp_commands_row *resp_commands_find(struct slice name);

/* Runs one command that is no question (resp_ask.h) and appends its reply. */
void resp_commands_run(struct resp_turn *turn, const struct resp_command *command);

#endif
