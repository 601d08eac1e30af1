/* The adapter of the Redis protocol.
 *
 *   feed:  gather   questions are read and prepared, up to WIRE_SCRATCH_AHEAD of them: their
 *                   counters are on the way into the cache
 *          answer   then each is decided and its answer appended, in the same order
 *          run      a command of another kind ended the gathering: served by itself
 *
 * Output is bounded: before each round WIRE_OUT_HIGH_BYTES must not have been reached, and no reply
 * is longer than the command it answers and a few kilobytes. */
#include "wire/resp.h"

#include "wire/resp_ask.h"
#include "wire/resp_commands.h"
#include "wire/resp_reply.h"

#include <stdlib.h>

enum next {
    NEXT_AGAIN,   /* there may be more to read */
    NEXT_MORE,    /* the next command is not all here */
    NEXT_COMMAND, /* the next command is in `command` and no question */
    NEXT_BROKEN   /* nothing more can be read: close */
};

/* The input of one feed. */
struct input {
    struct slice bytes;
    size_t used;
    uint32_t gathered;
    char why[RESP_PARSE_WHY_BYTES]; /* of NEXT_BROKEN */
    struct resp_command command;    /* of NEXT_COMMAND */
};

static void *resp_open(struct wire_worker *worker, const struct wire_peer *peer, struct buf *out)
{
    struct hash_key random;
    (void)worker;
    (void)out;
    struct resp_session *session = calloc(1, sizeof(*session));
    if (session != NULL) {
        session->peer = *peer;
        hash_random_key(&random);
        memcpy(&session->id, random.bytes, sizeof(session->id));
        session->id = (session->id >> 11) + 1; /* a double holds it: some clients have no other */
    }
    return session;
}

static void resp_close(void **session)
{
    free(*session);
    *session = NULL;
}

/* Reads and prepares questions up to the first command of another kind. */
static enum next gather(struct resp_turn *turn, struct input *in)
{
    struct engine_worker *engine = turn->worker->engine;
    engine_rewind(engine);
    uint32_t room = engine_room(engine);
    room = room < WIRE_SCRATCH_AHEAD ? room : WIRE_SCRATCH_AHEAD;
    in->gathered = 0;
    while (in->gathered < room) {
        struct slice rest = slice_make(in->bytes.data + in->used, in->bytes.size - in->used);
        size_t used = 0;
        enum resp_parse_result result =
            resp_parse_command(rest, turn->worker->arena, &in->command, &used, in->why);
        if (result == RESP_PARSE_MORE || result == RESP_PARSE_BROKEN) {
            return result == RESP_PARSE_MORE ? NEXT_MORE : NEXT_BROKEN;
        }
        in->used += used;
        if (result == RESP_PARSE_NOTHING) {
            continue;
        }
        enum resp_ask_kind kind = resp_ask_kind(in->command.arguments[0]);
        if (kind == RESP_ASK_OTHER || (turn->session->peer.rights & ACCESS_ASK) == 0) {
            return NEXT_COMMAND;
        }
        resp_ask_prepare(turn, in->gathered++, kind, &in->command);
    }
    return NEXT_AGAIN;
}

static void append_broken(struct resp_turn *turn, const struct input *in)
{
    buf_append_text(turn->out, "-ERR Protocol error: ");
    buf_append_text(turn->out, in->why);
    buf_append_text(turn->out, "\r\n");
    metrics_request_error(turn->worker->metrics, METRICS_RESP, REQUEST_INVALID_ARGUMENT);
}

static enum wire_result resp_feed(void *session, struct wire_worker *worker, struct slice in,
                                  size_t *consumed, int64_t now_ns, struct buf *out,
                                  uint64_t *answered)
{
    struct resp_turn turn = {.worker = worker,
                             .scratch = worker->scratch,
                             .session = session,
                             .out = out,
                             .now_ns = now_ns};
    struct input input;
    enum next next = NEXT_AGAIN;
    input.bytes = in;
    input.used = 0;
    turn.session->peer.rights = access_login_rights(worker, &turn.session->login);
    arena_reset(worker->arena);
    engine_enter(worker->engine);
    while (next == NEXT_AGAIN && out->size < WIRE_OUT_HIGH_BYTES && !out->failed) {
        next = gather(&turn, &input);
        resp_ask_answer(&turn, input.gathered);
        if (next == NEXT_COMMAND) {
            resp_commands_run(&turn, &input.command);
            next = turn.closing ? NEXT_BROKEN : NEXT_AGAIN;
        } else if (next == NEXT_BROKEN) {
            append_broken(&turn, &input);
        }
    }
    engine_leave(worker->engine);
    *consumed = input.used;
    *answered += turn.answered;
    if (next == NEXT_BROKEN || out->failed) {
        return WIRE_CLOSE;
    }
    return next == NEXT_MORE ? WIRE_MORE : WIRE_FULL;
}

static bool resp_is_waiting(const void *session, size_t unconsumed)
{
    (void)session;
    return unconsumed > 0;
}

static void resp_timed_out(void *session, struct wire_worker *worker, struct buf *out)
{
    (void)session;
    resp_reply_error_text(out, "ERR a command was not finished within the request time-out");
    metrics_request_error(worker->metrics, METRICS_RESP, REQUEST_UNAVAILABLE);
}

/* Nothing is said: a reply that nobody asked for would be taken for the answer to the next
 * command. */
static bool resp_shutdown(void *session, struct buf *out)
{
    (void)session;
    (void)out;
    return true;
}

static void resp_refuse(struct buf *out)
{
    resp_reply_error_text(out, "ERR max number of clients reached");
}

const struct wire_protocol resp_protocol = {
    .name = "resp",
    .metrics = METRICS_RESP,
    .input_bytes_max = LIMITS_RESP_COMMAND_BYTES_MAX + 64,
    .open = resp_open,
    .feed = resp_feed,
    .is_waiting = resp_is_waiting,
    .timed_out = resp_timed_out,
    .shutdown = resp_shutdown,
    .close = resp_close,
    .refuse = resp_refuse,
};
