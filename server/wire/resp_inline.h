/* A command typed as one line of words, as over telnet: `PING`, `ECHO "two words"`. */
#ifndef WIRE_RESP_INLINE_H
#define WIRE_RESP_INLINE_H

#include "wire/resp_parse.h"

/* Splits a line (its end taken off) at blanks. "..." takes \n \r \t \b \a \xHH and \ before any
 * other byte; '...' takes \'. Words without quotes point into the line, others into `arena`.
 * NULL, or what is wrong in one phrase. */
const char *resp_inline_split(struct slice line, struct arena *arena,
                              struct resp_command *command);

#endif
