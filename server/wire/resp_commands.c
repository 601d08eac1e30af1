#include "wire/resp_commands.h"

#include "base/text.h"
#include "wire/resp_change.h"
#include "wire/resp_connection.h"
#include "wire/resp_describe.h"
#include "wire/resp_reply.h"

#define MANY LIMITS_RESP_ARGUMENTS_MAX

/* What an error repeats of a peer's words. */
#define REPEATED_BYTES 64
#define REPEATED_WORDS 4

static void run_ping(struct resp_turn *turn, const struct resp_command *command)
{
    if (command->count == 1) {
        resp_reply_simple(turn->out, "PONG");
    } else {
        resp_reply_bulk(turn->out, command->arguments[1]);
    }
}

static void run_echo(struct resp_turn *turn, const struct resp_command *command)
{
    resp_reply_bulk(turn->out, command->arguments[1]);
}

/* There is one database, 0. */
static void run_select(struct resp_turn *turn, const struct resp_command *command)
{
    uint64_t index;
    enum status status = text_parse_u64(command->arguments[1], &index);
    if (status == STATUS_OK && index == 0) {
        resp_reply_simple(turn->out, "OK");
    } else if (status == STATUS_INVALID) {
        resp_turn_fail(turn, "invalid DB index");
    } else {
        resp_turn_fail(turn, "DB index is out of range; there is only 0");
    }
}

static void run_quit(struct resp_turn *turn, const struct resp_command *command)
{
    (void)command;
    resp_reply_simple(turn->out, "OK");
    turn->closing = true;
}

/* The two questions are prepared and answered in resp_ask.c; they stand here to be described. */
const struct resp_commands_row resp_commands_table[] = {
    {"AUTH", 2, 3, "fast", 0, 0, resp_connection_auth},
    {"CL.THROTTLE", 5, 6, "write", 1, 1, NULL},
    {"CLIENT", 2, MANY, "admin", 0, 0, resp_connection_client},
    {"COMMAND", 1, MANY, "loading", 0, 0, resp_describe_command},
    {"CONFIG", 2, MANY, "admin", 0, 0, resp_describe_config},
    {"DEL", 2, MANY, "write", 1, -1, resp_change_del},
    {"ECHO", 2, 2, "fast", 0, 0, run_echo},
    {"HELLO", 1, MANY, "fast", 0, 0, resp_connection_hello},
    {"INFO", 1, MANY, "loading", 0, 0, resp_describe_info},
    {"PING", 1, 2, "fast", 0, 0, run_ping},
    {"QUIT", 1, MANY, "fast", 0, 0, run_quit},
    {"RESET", 1, 1, "fast", 0, 0, resp_connection_reset},
    {"SELECT", 2, 2, "fast", 0, 0, run_select},
    {"SLUICE.ALLOW", 3, MANY, "write", 1, 1, NULL},
    {"SLUICE.REFUND", 3, MANY, "write", 1, 1, resp_change_refund},
    {"SLUICE.RESET", 3, MANY, "write", 1, 1, resp_change_reset},
    {NULL, 0, 0, NULL, 0, 0, NULL},
};

const struct resp_commands_row *resp_commands_find(struct slice name)
{
    for (const struct resp_commands_row *row = resp_commands_table; row->name != NULL; row++) {
        if (resp_turn_says(name, row->name)) {
            return row;
        }
    }
    return NULL;
}

static void append_unknown(struct buf *text, const struct resp_command *command)
{
    buf_append_text(text, "unknown command '");
    text_append_escaped(text, command->arguments[0], REPEATED_BYTES);
    buf_append_text(text, "', with args beginning with:");
    for (uint32_t i = 1; i < command->count && i <= REPEATED_WORDS; i++) {
        buf_append_text(text, " '");
        text_append_escaped(text, command->arguments[i], REPEATED_BYTES);
        buf_append_byte(text, '\'');
    }
}

static void refuse_unknown(struct resp_turn *turn, const struct resp_command *command)
{
    buf_append_text(turn->out, "-ERR ");
    append_unknown(turn->out, command);
    buf_append_text(turn->out, "\r\n");
    metrics_request_error(turn->worker->metrics, METRICS_RESP, REQUEST_UNIMPLEMENTED);
}

static void refuse_arity(struct resp_turn *turn, const struct resp_commands_row *row)
{
    char name[RESP_TURN_COMMAND_BYTES];
    resp_turn_fail(turn, "wrong number of arguments for '%s' command",
                   resp_turn_small(slice_text(row->name), name));
}

/* Commands that a peer may send before it has shown a token. */
static bool is_open(struct slice name)
{
    return resp_turn_says(name, "AUTH") || resp_turn_says(name, "HELLO") ||
           resp_turn_says(name, "QUIT") || resp_turn_says(name, "RESET");
}

static void refuse_stranger(struct resp_turn *turn)
{
    resp_reply_error_text(turn->out, "NOAUTH Authentication required.");
    metrics_request_error(turn->worker->metrics, METRICS_RESP, REQUEST_UNAUTHENTICATED);
}

/* A question, which comes here only from a peer that may not ask. */
static void refuse_question(struct resp_turn *turn)
{
    struct request_error error;
    if (!access_check(&turn->session->peer, ACCESS_ASK, &error)) {
        resp_turn_error(turn, &error);
    }
}

void resp_commands_run(struct resp_turn *turn, const struct resp_command *command)
{
    const struct resp_commands_row *row = resp_commands_find(command->arguments[0]);
    if (turn->session->peer.rights == 0 && !is_open(command->arguments[0])) {
        refuse_stranger(turn);
    } else if (row == NULL) {
        refuse_unknown(turn, command);
    } else if (command->count < row->least || command->count > row->most) {
        refuse_arity(turn, row);
    } else if (row->run == NULL) {
        refuse_question(turn);
    } else {
        row->run(turn, command);
    }
}
