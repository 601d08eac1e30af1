#include "wire/resp_turn.h"

#include "wire/resp_reply.h"

#include <stdio.h>

bool resp_turn_says(struct slice argument, const char *word)
{
    for (size_t i = 0; i < argument.size; i++) {
        uint8_t byte = argument.data[i];
        uint8_t upper = byte >= 'a' && byte <= 'z' ? (uint8_t)(byte - ('a' - 'A')) : byte;
        if (word[i] == '\0' || upper != (uint8_t)word[i]) {
            return false;
        }
    }
    return word[argument.size] == '\0';
}

const char *resp_turn_small(struct slice name, char out[RESP_TURN_COMMAND_BYTES])
{
    size_t size = 0;
    for (; size < name.size && size + 1 < RESP_TURN_COMMAND_BYTES; size++) {
        out[size] = (char)(name.data[size] | 0x20); /* letters and a dot, which has the bit */
    }
    out[size] = '\0';
    return out;
}

void resp_turn_error(struct resp_turn *turn, const struct request_error *error)
{
    resp_reply_error(turn->out, error);
    metrics_request_error(turn->worker->metrics, METRICS_RESP, (int)error->code);
}

void resp_turn_fail(struct resp_turn *turn, const char *format, ...)
{
    struct request_error error = {.code = REQUEST_INVALID_ARGUMENT, .field = ""};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(error.message, sizeof(error.message), format, args);
    va_end(args);
    resp_turn_error(turn, &error);
}
