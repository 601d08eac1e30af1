#include "wire/resp_connection.h"

#include "wire/resp_reply.h"

#include <stdio.h>

/* Names are ASCII without blanks and control bytes, as in Redis. */
static bool set_name(struct resp_turn *turn, struct slice name)
{
    struct resp_session *session = turn->session;
    if (name.size > sizeof(session->name)) {
        resp_turn_fail(turn, "Client names have at most %zu bytes", sizeof(session->name));
        return false;
    }
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] < '!' || name.data[i] > '~') {
            resp_turn_fail(turn, "Client names cannot contain spaces, newlines or special "
                                 "characters.");
            return false;
        }
    }
    if (name.size > 0) {
        memcpy(session->name, name.data, name.size);
    }
    session->name_size = (uint32_t)name.size;
    return true;
}

static void append_greeting(struct resp_turn *turn)
{
    const struct resp_session *session = turn->session;
    struct buf *out = turn->out;
    resp_reply_map(out, session->resp3, 7);
    resp_reply_bulk_text(out, "server");
    resp_reply_bulk_text(out, "sluice");
    resp_reply_bulk_text(out, "version");
    resp_reply_bulk_text(out, SLUICE_VERSION);
    resp_reply_bulk_text(out, "proto");
    resp_reply_integer(out, session->resp3 ? 3 : 2);
    resp_reply_bulk_text(out, "id");
    resp_reply_integer(out, (int64_t)session->id);
    resp_reply_bulk_text(out, "mode");
    resp_reply_bulk_text(out, "standalone");
    resp_reply_bulk_text(out, "role");
    resp_reply_bulk_text(out, "master");
    resp_reply_bulk_text(out, "modules");
    resp_reply_array(out, 0);
}

/* Without tokens whatever a client was configured with is good. False: answered. */
static bool log_in(struct resp_turn *turn, struct slice token)
{
    struct resp_session *session = turn->session;
    bool good = access_log_in(turn->worker, &session->login, token);
    session->peer.rights = access_login_rights(turn->worker, &session->login);
    if (!good) {
        resp_reply_error_text(turn->out, "WRONGPASS invalid username-password pair or user is "
                                         "disabled.");
        metrics_request_error(turn->worker->metrics, METRICS_RESP, REQUEST_UNAUTHENTICATED);
    }
    return good;
}

/* HELLO [2|3 [AUTH user token] [SETNAME name]] */
void resp_connection_hello(struct resp_turn *turn, const struct resp_command *command)
{
    const struct slice *arguments = command->arguments;
    bool resp3 = turn->session->resp3;
    const struct slice *token = NULL;
    if (command->count > 1) {
        resp3 = slice_equal_text(arguments[1], "3");
        if (!resp3 && !slice_equal_text(arguments[1], "2")) {
            resp_reply_error_text(turn->out, "NOPROTO unsupported protocol version");
            metrics_request_error(turn->worker->metrics, METRICS_RESP, REQUEST_INVALID_ARGUMENT);
            return;
        }
    }
    for (uint32_t i = 2; i < command->count;) {
        uint32_t behind = command->count - i - 1;
        if (resp_turn_says(arguments[i], "AUTH") && behind >= 2) {
            token = &arguments[i + 2];
            i += 3;
        } else if (resp_turn_says(arguments[i], "SETNAME") && behind >= 1) {
            if (!set_name(turn, arguments[i + 1])) {
                return;
            }
            i += 2;
        } else {
            resp_turn_fail(turn, "Syntax error in HELLO: expected AUTH user token or SETNAME "
                                 "name behind the version");
            return;
        }
    }
    if (token != NULL && !log_in(turn, *token)) {
        return;
    }
    if (turn->session->peer.rights == 0) {
        resp_reply_error_text(turn->out, "NOAUTH HELLO must be called with the client already "
                                         "authenticated, otherwise the HELLO <proto> AUTH <user> "
                                         "<pass> option can be used");
        metrics_request_error(turn->worker->metrics, METRICS_RESP, REQUEST_UNAUTHENTICATED);
        return;
    }
    turn->session->resp3 = resp3;
    append_greeting(turn);
}

/* AUTH [user] token: the user's name says nothing. */
void resp_connection_auth(struct resp_turn *turn, const struct resp_command *command)
{
    if (log_in(turn, command->arguments[command->count - 1])) {
        resp_reply_simple(turn->out, "OK");
    }
}

static void append_info(struct resp_turn *turn)
{
    const struct resp_session *session = turn->session;
    char text[160];
    int size = snprintf(text, sizeof(text), "id=%llu name=%.*s db=0 resp=%d\n",
                        (unsigned long long)session->id, (int)session->name_size,
                        (const char *)session->name, session->resp3 ? 3 : 2);
    resp_reply_bulk(turn->out, slice_make(text, (size_t)size));
}

/* Told, and of no consequence here. */
static bool is_noted(struct slice word)
{
    static const char *const words[] = {"SETINFO", "MAINT_NOTIFICATIONS", "NO-EVICT", "NO-TOUCH"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (resp_turn_says(word, words[i])) {
            return true;
        }
    }
    return false;
}

void resp_connection_client(struct resp_turn *turn, const struct resp_command *command)
{
    const struct resp_session *session = turn->session;
    struct slice word = command->arguments[1];
    if (is_noted(word)) {
        resp_reply_simple(turn->out, "OK");
    } else if (resp_turn_says(word, "SETNAME") && command->count == 3) {
        if (set_name(turn, command->arguments[2])) {
            resp_reply_simple(turn->out, "OK");
        }
    } else if (resp_turn_says(word, "GETNAME") && command->count == 2) {
        if (session->name_size == 0) {
            resp_reply_nil(turn->out, session->resp3);
        } else {
            resp_reply_bulk(turn->out, slice_make(session->name, session->name_size));
        }
    } else if (resp_turn_says(word, "ID") && command->count == 2) {
        resp_reply_integer(turn->out, (int64_t)session->id);
    } else if ((resp_turn_says(word, "INFO") || resp_turn_says(word, "LIST")) &&
               command->count == 2) {
        append_info(turn);
    } else {
        resp_turn_fail(turn, "unknown subcommand or wrong number of arguments for CLIENT: "
                             "expected SETNAME, GETNAME, ID, INFO or SETINFO");
    }
}

void resp_connection_reset(struct resp_turn *turn, const struct resp_command *command)
{
    (void)command;
    turn->session->resp3 = false;
    turn->session->name_size = 0;
    turn->session->login = (struct access_login){0};
    turn->session->peer.rights = access_login_rights(turn->worker, &turn->session->login);
    resp_reply_simple(turn->out, "RESET");
}
