/* Commands that say what this server is: COMMAND, CONFIG, INFO. */
#ifndef WIRE_RESP_DESCRIBE_H
#define WIRE_RESP_DESCRIBE_H

#include "wire/resp_turn.h"

void resp_describe_command(struct resp_turn *turn, const struct resp_command *command);
void resp_describe_config(struct resp_turn *turn, const struct resp_command *command);
void resp_describe_info(struct resp_turn *turn, const struct resp_command *command);

#endif
