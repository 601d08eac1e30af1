/* Commands about the connection itself: what client libraries send before anything else. */
#ifndef WIRE_RESP_CONNECTION_H
#define WIRE_RESP_CONNECTION_H

#include "wire/resp_turn.h"

void resp_connection_hello(struct resp_turn *turn, const struct resp_command *command);
void resp_connection_auth(struct resp_turn *turn, const struct resp_command *command);
void resp_connection_client(struct resp_turn *turn, const struct resp_command *command);
void resp_connection_reset(struct resp_turn *turn, const struct resp_command *command);

#endif
