#include "sluice.h"

#include "sluice_decode.h"
#include "sluice_encode.h"
#include "sluice_keep.h"
#include "sluice_login.h"
#include "sluice_resolve.h"
#include "sluice_resp.h"
#include "sluice_socket.h"
#include "sluice_url.h"
#include "sluice_web.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The blocking client: one connection, one question on it at a time, one deadline a call.
 *
 *   quiet connection? -> send -> receive until a whole frame -> is it the answer to this?
 *
 * Whatever goes wrong on a connection ends it, so that a late answer cannot meet a later question;
 * the next call makes a new one. A call starts over once, on a new connection, when it is certain
 * that the daemon did not read the question: it said goodbye, or nothing of it was sent. */

#define NS_PER_MS INT64_C(1000000)
/* After a connection that timed out (a host that is down says nothing), calls answer at once for a
 * while instead of each waiting its full time-out. */
#define PAUSE_NS (200 * NS_PER_MS)

struct sluice {
    struct sluice_url url;
    int64_t timeout_ns;
    enum sluice_on_error on_error;
    int fd;            /* -1: not connected */
    uint64_t last_id;  /* of the question before */
    int64_t resume_ns; /* no connecting before this instant */
    struct sluice_resolve *lookup;
    struct sluice_buffer out;
    struct sluice_buffer in;
    size_t taken; /* bytes of `in` that the last frame took */
    struct sluice_web *web;    /* asked by HTTP or gRPC: then none of the above is used */
    struct sluice_buffer body; /* of an answer that came by RESP */
    char *token;               /* NULL: none */
    struct sluice_keep keep;
    char message[320];
};

const char *sluice_status_text(enum sluice_status status)
{
    switch (status) {
    case SLUICE_OK:
        return "decided";
    case SLUICE_INVALID:
        return "not valid";
    case SLUICE_UNSUPPORTED:
        return "not in this build";
    case SLUICE_NO_MEMORY:
        return "out of memory";
    case SLUICE_TIMEOUT:
        return "no answer in time";
    case SLUICE_UNREACHABLE:
        return "no connection to the daemon";
    case SLUICE_PROTOCOL:
        return "not an answer to the question";
    case SLUICE_ERROR:
        return "answered with an error";
    case SLUICE_BUSY:
        return "too many in flight";
    }
    return "unknown";
}

const char *sluice_reason_text(enum sluice_reason reason)
{
    static const char *const names[] = {
        "UNSPECIFIED", "UNDER_LIMIT",        "UNLIMITED", "NO_LIMIT",  "SHADOWED",
        "OVER_LIMIT",  "COST_EXCEEDS_LIMIT", "BLOCKED",   "STORE_FULL"};
    return (unsigned)reason < sizeof names / sizeof names[0] ? names[reason] : "UNKNOWN";
}

const char *sluice_code_text(enum sluice_code code)
{
    switch (code) {
    case SLUICE_CODE_NONE:
        return "OK";
    case SLUICE_CODE_INVALID_ARGUMENT:
        return "INVALID_ARGUMENT";
    case SLUICE_CODE_NOT_FOUND:
        return "NOT_FOUND";
    case SLUICE_CODE_PERMISSION_DENIED:
        return "PERMISSION_DENIED";
    case SLUICE_CODE_RESOURCE_EXHAUSTED:
        return "RESOURCE_EXHAUSTED";
    case SLUICE_CODE_UNIMPLEMENTED:
        return "UNIMPLEMENTED";
    case SLUICE_CODE_INTERNAL:
        return "INTERNAL";
    case SLUICE_CODE_UNAVAILABLE:
        return "UNAVAILABLE";
    case SLUICE_CODE_UNAUTHENTICATED:
        return "UNAUTHENTICATED";
    }
    return "UNKNOWN";
}

static void disconnect(struct sluice *client)
{
    if (client->fd >= 0) {
        close(client->fd);
        client->fd = -1;
    }
    sluice_buffer_clear(&client->in);
    client->taken = 0;
}

/* Notes why there is no decision, and gives `status` back. */
__attribute__((format(printf, 3, 4))) static enum sluice_status
fail(struct sluice *client, enum sluice_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(client->message, sizeof client->message, format, args);
    va_end(args);
    return status;
}

static enum sluice_status fail_timeout(struct sluice *client)
{
    return fail(client, SLUICE_TIMEOUT, "no answer within %lld ms",
                (long long)(client->timeout_ns / NS_PER_MS));
}

/* What only some clients have. */
static bool open_parts(struct sluice *client, const struct sluice_options *options)
{
    enum sluice_url_scheme scheme = client->url.scheme;
    if (scheme == SLUICE_URL_HTTP || scheme == SLUICE_URL_GRPC) {
        client->web = sluice_web_create(&client->url, options);
        return client->web != NULL;
    }
    client->token = options->token == NULL ? NULL : strdup(options->token);
    return client->token != NULL || options->token == NULL;
}

enum sluice_status sluice_open(const char *url, const struct sluice_options *options,
                               struct sluice **client)
{
    *client = NULL;
    if (options->on_error != SLUICE_ON_ERROR_ALLOW && options->on_error != SLUICE_ON_ERROR_DENY) {
        if (options->why != NULL) {
            (void)snprintf(options->why, options->why_size,
                           "on_error must be SLUICE_ON_ERROR_ALLOW or SLUICE_ON_ERROR_DENY");
        }
        return SLUICE_INVALID;
    }
    struct sluice *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return SLUICE_NO_MEMORY;
    }
    enum sluice_status status =
        sluice_url_parse(url, &made->url, options->why, options->why_size);
    if (status != SLUICE_OK) {
        free(made);
        return status;
    }
    uint32_t timeout_ms = options->timeout_ms;
    made->timeout_ns = (timeout_ms == 0 ? SLUICE_TIMEOUT_MS_DEFAULT : timeout_ms) * NS_PER_MS;
    made->on_error = options->on_error;
    made->fd = -1;
    if (!open_parts(made, options)) {
        sluice_close(&made);
        return SLUICE_NO_MEMORY;
    }
    *client = made;
    return SLUICE_OK;
}

void sluice_close(struct sluice **client)
{
    struct sluice *gone = *client;
    if (gone == NULL) {
        return;
    }
    disconnect(gone);
    sluice_resolve_drop(&gone->lookup);
    sluice_buffer_deinit(&gone->out);
    sluice_buffer_deinit(&gone->in);
    sluice_buffer_deinit(&gone->body);
    sluice_web_destroy(&gone->web);
    sluice_keep_deinit(&gone->keep);
    free(gone->token);
    free(gone);
    *client = NULL;
}

static enum sluice_status resolve(struct sluice *client, int64_t deadline_ns,
                                  struct sluice_resolve_addresses *found)
{
    const struct sluice_url *url = &client->url;
    const char *why = "";
    if (sluice_resolve_numeric(url->host, url->port, found)) {
        return SLUICE_OK;
    }
    if (client->lookup == NULL) {
        client->lookup = sluice_resolve_begin(url->host, url->port);
    }
    if (client->lookup == NULL) {
        return fail(client, SLUICE_NO_MEMORY, "no thread to look %s up", url->host);
    }
    enum sluice_status status = sluice_resolve_wait(client->lookup, deadline_ns, found, &why);
    if (status == SLUICE_TIMEOUT) {
        return fail_timeout(client);
    }
    sluice_resolve_drop(&client->lookup);
    if (status != SLUICE_OK) {
        return fail(client, status, "%s cannot be looked up: %s", url->host, why);
    }
    return SLUICE_OK;
}

/* Each address gets its share of the time that is left. */
static enum sluice_status connect_tcp(struct sluice *client, int64_t deadline_ns)
{
    struct sluice_resolve_addresses found;
    enum sluice_status status = resolve(client, deadline_ns, &found);
    for (size_t i = 0; i < found.count && status == SLUICE_OK && client->fd < 0; i++) {
        int64_t now = sluice_socket_now_ns();
        int64_t share = (deadline_ns - now) / (int64_t)(found.count - i);
        status = sluice_socket_connect((const struct sockaddr *)&found.list[i].storage,
                                       found.list[i].size, now + share, &client->fd);
        if (status == SLUICE_UNREACHABLE) {
            fail(client, status, "cannot connect to %s port %s: %s", client->url.host,
                 client->url.port, strerror(errno));
        } else if (status == SLUICE_TIMEOUT) {
            fail(client, status, "%s port %s does not answer within %lld ms", client->url.host,
                 client->url.port, (long long)(client->timeout_ns / NS_PER_MS));
        }
        if (status != SLUICE_OK && i + 1 < found.count) {
            status = SLUICE_OK;
        }
    }
    return status;
}

static enum sluice_status connect_any(struct sluice *client, int64_t deadline_ns)
{
    if (sluice_socket_now_ns() < client->resume_ns) {
        return fail(client, SLUICE_UNREACHABLE,
                    "the connection timed out a moment ago; it is tried again soon");
    }
    enum sluice_status status;
    if (client->url.is_unix) {
        status = sluice_socket_connect_unix(client->url.path, deadline_ns, &client->fd);
        if (status != SLUICE_OK) {
            fail(client, status, "cannot connect to %s: %s", client->url.path,
                 status == SLUICE_TIMEOUT ? "it does not answer" : strerror(errno));
        }
    } else {
        status = connect_tcp(client, deadline_ns);
    }
    if (status == SLUICE_TIMEOUT) {
        client->resume_ns = sluice_socket_now_ns() + PAUSE_NS;
    }
    return status;
}

/* The first answer in `in`, to a question of that kind. */
static enum sluice_decode_result decode(struct sluice *client, enum sluice_encode_kind kind,
                                        struct sluice_decode_frame *frame)
{
    const uint8_t *data = client->in.data + client->in.start;
    size_t size = sluice_buffer_size(&client->in);
    struct sluice_decode_view bytes;
    if (client->url.scheme == SLUICE_URL_RESP) {
        enum sluice_decode_result result =
            sluice_resp_decode(data, size, kind, &client->body, frame, &client->taken);
        frame->id = client->last_id;
        return result;
    }
    enum sluice_decode_result found = sluice_decode_next(data, size, &bytes, &client->taken);
    return found == SLUICE_DECODE_OK && !sluice_decode_frame(bytes, frame) ? SLUICE_DECODE_BROKEN
                                                                           : found;
}

/* Drops the frame before and waits for the next. */
static enum sluice_status receive_frame(struct sluice *client, enum sluice_encode_kind kind,
                                        int64_t deadline_ns, struct sluice_decode_frame *frame)
{
    sluice_buffer_consume(&client->in, client->taken);
    client->taken = 0;
    for (;;) {
        enum sluice_decode_result found = decode(client, kind, frame);
        if (found == SLUICE_DECODE_OK) {
            return SLUICE_OK;
        }
        if (found != SLUICE_DECODE_MORE) {
            return fail(client, SLUICE_PROTOCOL, "the server does not speak Sluice's protocol");
        }
        enum sluice_status status = sluice_socket_receive(client->fd, &client->in, deadline_ns);
        if (status == SLUICE_TIMEOUT) {
            return fail_timeout(client);
        }
        if (status != SLUICE_OK) {
            return fail(client, status, "the connection ended before the answer: %s",
                        errno == 0 ? "the daemon closed it" : strerror(errno));
        }
    }
}

static bool is_goodbye(const struct sluice_decode_frame *frame)
{
    struct sluice_error error;
    return frame->id == 0 && frame->kind == SLUICE_DECODE_ERROR &&
           sluice_decode_error(frame->body, &error) && error.code == SLUICE_CODE_UNAVAILABLE;
}

/* Shows the token on a new connection. */
static enum sluice_status log_in(struct sluice *client, int64_t deadline_ns)
{
    const struct sluice_login login = {.fd = client->fd,
                                       .is_resp = client->url.scheme == SLUICE_URL_RESP,
                                       .token = client->token,
                                       .deadline_ns = deadline_ns};
    return sluice_login(&login, client->message, sizeof client->message);
}

/* One try. *again: it failed, and the daemon has surely not read the question. */
static enum sluice_status try_once(struct sluice *client, enum sluice_encode_kind kind,
                                   int64_t deadline_ns,
                                   struct sluice_decode_frame *frame, bool *again)
{
    size_t sent;
    enum sluice_status status = SLUICE_OK;
    *again = false;
    if (client->fd >= 0 && !sluice_socket_is_quiet(client->fd)) {
        disconnect(client);
    }
    if (client->fd < 0) {
        status = connect_any(client, deadline_ns);
        if (status == SLUICE_OK && client->token != NULL) {
            status = log_in(client, deadline_ns);
        }
    }
    if (status != SLUICE_OK) {
        return status;
    }
    status = sluice_socket_send(client->fd, client->out.data + client->out.start,
                                sluice_buffer_size(&client->out), deadline_ns, &sent);
    if (status == SLUICE_TIMEOUT) {
        return fail_timeout(client);
    }
    if (status != SLUICE_OK) {
        *again = sent == 0;
        return fail(client, status, "the connection ended: %s", strerror(errno));
    }
    status = receive_frame(client, kind, deadline_ns, frame);
    if (status == SLUICE_OK && is_goodbye(frame)) {
        *again = true;
        return fail(client, SLUICE_UNREACHABLE, "the daemon is shutting down");
    }
    if (status == SLUICE_OK && frame->id != client->last_id && frame->id != 0) {
        return fail(client, SLUICE_PROTOCOL, "the server answered another question");
    }
    return status;
}

/* Sends the questions and receives the frame that answers them. */
static enum sluice_status exchange(struct sluice *client, enum sluice_encode_kind kind,
                                   const struct sluice_question *questions, size_t count,
                                   struct sluice_decode_frame *frame)
{
    int64_t deadline_ns = sluice_socket_now_ns() + client->timeout_ns;
    bool again = true;
    sluice_buffer_clear(&client->out);
    if (client->web != NULL) {
        client->last_id = 1;
        return sluice_web_exchange(client->web, kind, questions, count, client->timeout_ns, frame,
                                   client->message, sizeof client->message);
    }
    client->last_id++;
    enum sluice_status status =
        client->url.scheme == SLUICE_URL_RESP
            ? sluice_resp_encode(&client->out, kind, questions)
            : sluice_encode(&client->out, client->last_id, kind, questions, count);
    if (status == SLUICE_UNSUPPORTED) {
        return fail(client, status, "the Redis protocol has no such question; ask over native");
    }
    if (status == SLUICE_INVALID) {
        return fail(client, status, "the question is too large: at most %u KiB and %u in a batch",
                    SLUICE_ENCODE_FRAME_BYTES_MAX / 1024, SLUICE_ENCODE_BATCH_MAX);
    }
    if (status != SLUICE_OK) {
        return fail(client, status, "there is no memory for the question");
    }
    for (int tries = 0; again && tries < 2; tries++) {
        status = try_once(client, kind, deadline_ns, frame, &again);
        if (status != SLUICE_OK) {
            disconnect(client);
        }
    }
    return status;
}

static enum sluice_status ask(struct sluice *client, enum sluice_encode_kind kind,
                              const struct sluice_question *questions, size_t count,
                              struct sluice_answer *answers)
{
    struct sluice_decode_frame frame;
    enum sluice_status status = exchange(client, kind, questions, count, &frame);
    if (status != SLUICE_OK) {
        sluice_keep_undecided(answers, count, status, client->message, client->on_error);
        return status;
    }
    status = sluice_keep_answers(&client->keep, &frame, kind, client->on_error, answers, count);
    if (status == SLUICE_PROTOCOL || frame.id == 0) {
        disconnect(client);
    }
    return status;
}

enum sluice_status sluice_ask(struct sluice *client, const struct sluice_question *question,
                              struct sluice_answer *answer)
{
    return ask(client, SLUICE_ENCODE_ASK, question, 1, answer);
}

enum sluice_status sluice_ask_batch(struct sluice *client, const struct sluice_question *questions,
                                    size_t count, struct sluice_answer *answers)
{
    return ask(client, SLUICE_ENCODE_BATCH, questions, count, answers);
}

enum sluice_status sluice_refund(struct sluice *client, const struct sluice_question *question,
                                 struct sluice_answer *answer)
{
    return ask(client, SLUICE_ENCODE_REFUND, question, 1, answer);
}

bool sluice_allow(struct sluice *client, const char *key, const char *route)
{
    struct sluice_answer answer;
    const struct sluice_question question = {.key = {key, strlen(key)},
                                             .route = {route, strlen(route)}};
    (void)sluice_ask(client, &question, &answer);
    return answer.allowed;
}

enum sluice_status sluice_reset(struct sluice *client, const struct sluice_question *question,
                                struct sluice_reset_answer *answer)
{
    struct sluice_decode_frame frame;
    enum sluice_status status = exchange(client, SLUICE_ENCODE_RESET, question, 1, &frame);
    if (status != SLUICE_OK) {
        *answer = (struct sluice_reset_answer){
            .error = {status, SLUICE_CODE_NONE, {"", 0}, {client->message,
                                                          strlen(client->message)}}};
        return status;
    }
    status = sluice_keep_reset(&client->keep, &frame, answer);
    if (status == SLUICE_PROTOCOL || frame.id == 0) {
        disconnect(client);
    }
    return status;
}

enum sluice_status sluice_stats(struct sluice *client, struct sluice_stats_answer *answer)
{
    struct sluice_decode_frame frame;
    enum sluice_status status = exchange(client, SLUICE_ENCODE_STATS, NULL, 0, &frame);
    if (status != SLUICE_OK) {
        *answer = (struct sluice_stats_answer){
            .text = {"", 0},
            .error = {status, SLUICE_CODE_NONE, {"", 0}, {client->message,
                                                          strlen(client->message)}}};
        return status;
    }
    status = sluice_keep_stats(&client->keep, &frame, answer);
    if (status == SLUICE_PROTOCOL || frame.id == 0) {
        disconnect(client);
    }
    return status;
}
