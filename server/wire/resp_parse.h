/* The Redis protocol's commands as bytes: arrays of bulk strings, or a line of words ("inline").
 * Sans I/O: asked again from the command's first byte when more bytes have come.
 *
 * Bounded by LIMITS_RESP_ARGUMENTS_MAX and LIMITS_RESP_COMMAND_BYTES_MAX; arrays do not nest. What
 * an array announces takes no memory. */
#ifndef WIRE_RESP_PARSE_H
#define WIRE_RESP_PARSE_H

#include "base/arena.h"
#include "base/limits.h"

struct resp_command {
    uint32_t count; /* arguments, the command's name included; at least 1 */
    struct slice arguments[LIMITS_RESP_ARGUMENTS_MAX];
};

enum resp_parse_result {
    RESP_PARSE_COMMAND, /* *used bytes are a command */
    RESP_PARSE_NOTHING, /* *used bytes say nothing: an empty line or array */
    RESP_PARSE_MORE,    /* not all of it is here */
    RESP_PARSE_BROKEN   /* `why` is one phrase; nothing after it can be read */
};

#define RESP_PARSE_WHY_BYTES 80

/* The next command at the front of `in`. Arguments point into it, or into `arena` where an inline
 * one was quoted. */
enum resp_parse_result resp_parse_command(struct slice in, struct arena *arena,
                                          struct resp_command *command, size_t *used,
                                          char why[RESP_PARSE_WHY_BYTES]);

#endif
