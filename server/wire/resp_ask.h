/* The questions: CL.THROTTLE and SLUICE.ALLOW. Several are read, hashed and their counters fetched
 * ahead of the first answer. */
#ifndef WIRE_RESP_ASK_H
#define WIRE_RESP_ASK_H

#include "wire/resp_turn.h"

enum resp_ask_kind { RESP_ASK_OTHER, RESP_ASK_THROTTLE, RESP_ASK_ALLOW };

enum resp_ask_kind resp_ask_kind(struct slice name);

/* Reads and prepares a question as the turn's entry `index`; its bytes stay put until it is
 * answered. */
void resp_ask_prepare(struct resp_turn *turn, uint32_t index, enum resp_ask_kind kind,
                      const struct resp_command *command);

/* Decides entries 0 … count - 1 and appends their answers. */
void resp_ask_answer(struct resp_turn *turn, uint32_t count);

/* `key route [cost] [ATTR name value]…` behind a command's name; a cost where `takes_cost`. False:
 * *error says what is wrong with the form (what the values are worth is the engine's to say). */
bool resp_ask_read_request(const struct resp_command *command, bool takes_cost,
                           struct request *request, struct request_error *error);

/* A key of CL.THROTTLE's. */
bool resp_ask_check_key(struct slice key, struct request_error *error);

#endif
