/* Commands that take counts back: DEL, SLUICE.REFUND, SLUICE.RESET. Who may is access.h's. */
#ifndef WIRE_RESP_CHANGE_H
#define WIRE_RESP_CHANGE_H

#include "wire/resp_turn.h"

void resp_change_del(struct resp_turn *turn, const struct resp_command *command);
void resp_change_refund(struct resp_turn *turn, const struct resp_command *command);
void resp_change_reset(struct resp_turn *turn, const struct resp_command *command);

#endif
