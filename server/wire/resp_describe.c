#include "wire/resp_describe.h"

#include "wire/resp_commands.h"
#include "wire/resp_reply.h"

static uint32_t count_commands(void)
{
    uint32_t count = 0;
    while (resp_commands_table[count].name != NULL) {
        count++;
    }
    return count;
}

static void append_name(struct buf *out, const struct resp_commands_row *row)
{
    char name[RESP_TURN_COMMAND_BYTES];
    resp_reply_bulk_text(out, resp_turn_small(slice_text(row->name), name));
}

/* Name, arity (negative: at least), flags, first key, last key, step. */
static void append_row(struct buf *out, const struct resp_commands_row *row)
{
    int64_t least = row->least;
    resp_reply_array(out, 6);
    append_name(out, row);
    resp_reply_integer(out, row->least == row->most ? least : -least);
    resp_reply_array(out, 1);
    resp_reply_simple(out, row->flag);
    resp_reply_integer(out, row->first_key);
    resp_reply_integer(out, row->last_key);
    resp_reply_integer(out, row->first_key > 0);
}

static void append_rows(struct buf *out)
{
    resp_reply_array(out, count_commands());
    for (const struct resp_commands_row *row = resp_commands_table; row->name != NULL; row++) {
        append_row(out, row);
    }
}

static void append_named(struct resp_turn *turn, const struct resp_command *command)
{
    resp_reply_array(turn->out, command->count - 2);
    for (uint32_t i = 2; i < command->count; i++) {
        const struct resp_commands_row *row = resp_commands_find(command->arguments[i]);
        if (row == NULL) {
            resp_reply_nil(turn->out, turn->session->resp3);
        } else {
            append_row(turn->out, row);
        }
    }
}

/* Documentation is README's: DOCS has none. */
void resp_describe_command(struct resp_turn *turn, const struct resp_command *command)
{
    struct buf *out = turn->out;
    if (command->count == 1) {
        append_rows(out);
        return;
    }
    struct slice word = command->arguments[1];
    if (resp_turn_says(word, "COUNT") && command->count == 2) {
        resp_reply_integer(out, count_commands());
    } else if (resp_turn_says(word, "DOCS")) {
        resp_reply_map(out, turn->session->resp3, 0);
    } else if (resp_turn_says(word, "INFO") && command->count == 2) {
        append_rows(out);
    } else if (resp_turn_says(word, "INFO")) {
        append_named(turn, command);
    } else if (resp_turn_says(word, "LIST")) {
        resp_reply_array(out, count_commands());
        for (const struct resp_commands_row *row = resp_commands_table; row->name != NULL; row++) {
            append_name(out, row);
        }
    } else {
        resp_turn_fail(turn, "unknown subcommand or wrong number of arguments for COMMAND: "
                             "expected COUNT, DOCS, INFO or LIST");
    }
}

/* What load generators look up before a run; all other settings are this server's own and stand
 * in its options. */
static const char *setting(struct slice name)
{
    if (resp_turn_says(name, "SAVE")) {
        return "";
    }
    return resp_turn_says(name, "APPENDONLY") ? "no" : NULL;
}

void resp_describe_config(struct resp_turn *turn, const struct resp_command *command)
{
    uint32_t known = 0;
    if (!resp_turn_says(command->arguments[1], "GET") || command->count < 3) {
        resp_turn_fail(turn, "unknown subcommand or wrong number of arguments for CONFIG: "
                             "expected GET and names");
        return;
    }
    for (uint32_t i = 2; i < command->count; i++) {
        known += setting(command->arguments[i]) != NULL;
    }
    resp_reply_map(turn->out, turn->session->resp3, known);
    for (uint32_t i = 2; i < command->count; i++) {
        const char *value = setting(command->arguments[i]);
        if (value != NULL) {
            resp_reply_bulk(turn->out, command->arguments[i]);
            resp_reply_bulk_text(turn->out, value);
        }
    }
}

/* All sections whichever are asked for: some clients wait for `loading:0`. */
void resp_describe_info(struct resp_turn *turn, const struct resp_command *command)
{
    static const char text[] = "# Server\r\n"
                               "sluice_version:" SLUICE_VERSION "\r\n"
                               "redis_mode:standalone\r\n"
                               "\r\n"
                               "# Persistence\r\n"
                               "loading:0\r\n"
                               "\r\n"
                               "# Replication\r\n"
                               "role:master\r\n"
                               "connected_slaves:0\r\n";
    (void)command;
    resp_reply_bulk_text(turn->out, text);
}
