#include "sluice_async.h"

#include "sluice_encode.h"
#include "sluice_keep.h"
#include "sluice_link.h"
#include "sluice_pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Questions go into the link's buffer and into the ring of those that wait; a timer watches the
 * oldest. Whatever ends a connection answers all that wait, and the next question makes a new
 * one. */

#define NS_PER_MS INT64_C(1000000)
/* After a connection that timed out, questions are answered at once for a while. */
#define PAUSE_NS (200 * NS_PER_MS)

struct sluice_async {
    struct sluice_link link;
    struct sluice_pending pending;
    uv_timer_t timer;
    int64_t timeout_ns;
    int64_t resume_ns; /* no connecting before this instant */
    enum sluice_on_error on_error;
    struct sluice_keep keep;
    unsigned open_parts;          /* timer and link, when closing */
    bool closing;
    void (*closed)(void *context);
    void *closed_context;
};

static int64_t now_ns(void)
{
    return (int64_t)uv_hrtime();
}

static void give_undecided(struct sluice_async *client, const struct sluice_pending_item *item,
                           enum sluice_status status, const char *message)
{
    struct sluice_answer one;
    struct sluice_reset_answer reset = {
        .error = {status, SLUICE_CODE_NONE, {"", 0}, {message, strlen(message)}}};
    if (item->kind == SLUICE_ENCODE_RESET) {
        item->answered.reset(item->context, &reset);
        return;
    }
    if (item->kind != SLUICE_ENCODE_BATCH) {
        sluice_keep_undecided(&one, 1, status, message, client->on_error);
        item->answered.one(item->context, &one);
        return;
    }
    sluice_keep_undecided(item->answers, item->count, status, message, client->on_error);
    item->answered.many(item->context, item->answers, item->count);
    free(item->answers);
}

/* Answers those that wait now; what their callbacks ask anew waits for the next connection. */
static void fail_all(struct sluice_async *client, enum sluice_status status, const char *message)
{
    struct sluice_pending_item item;
    uint64_t end = client->pending.next;
    for (uint64_t id = client->pending.first; id < end; id++) {
        if (sluice_pending_take(&client->pending, id, &item)) {
            give_undecided(client, &item, status, message);
        }
    }
}

static void on_timer(uv_timer_t *timer);

/* Wakes when the oldest question becomes late. */
static void watch(struct sluice_async *client)
{
    const struct sluice_pending_item *oldest = sluice_pending_oldest(&client->pending);
    if (client->closing) {
        return;
    }
    if (oldest == NULL) {
        (void)uv_timer_stop(&client->timer);
        return;
    }
    int64_t now = now_ns();
    int64_t due =
        sluice_link_is_idle(&client->link) ? now : oldest->asked_ns + client->timeout_ns;
    int64_t wait_ms = due > now ? (due - now + NS_PER_MS - 1) / NS_PER_MS : 0;
    uv_update_time(client->link.loop);
    (void)uv_timer_start(&client->timer, on_timer, (uint64_t)wait_ms, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct sluice_async *client = timer->data;
    struct sluice_pending_item item;
    char message[64];
    int64_t now = now_ns();
    const struct sluice_pending_item *oldest = sluice_pending_oldest(&client->pending);
    if (sluice_link_is_idle(&client->link)) {
        fail_all(client, SLUICE_UNREACHABLE,
                 "the connection timed out a moment ago; it is tried again soon");
        watch(client);
        return;
    }
    (void)snprintf(message, sizeof message, "no answer within %lld ms",
                   (long long)(client->timeout_ns / NS_PER_MS));
    if (oldest != NULL && now - oldest->asked_ns >= client->timeout_ns &&
        (!client->link.connected || client->link.heard_ns <= oldest->asked_ns)) {
        /* Not connected in time, or not a byte since: the connection is no use to anybody. */
        client->resume_ns = client->link.connected ? 0 : now + PAUSE_NS;
        sluice_link_drop(&client->link);
        fail_all(client, SLUICE_TIMEOUT, message);
    }
    while (!client->closing && (oldest = sluice_pending_oldest(&client->pending)) != NULL &&
           now - oldest->asked_ns >= client->timeout_ns &&
           sluice_pending_take(&client->pending, client->pending.first, &item)) {
        give_undecided(client, &item, SLUICE_TIMEOUT, message);
    }
    watch(client);
}

static bool give_answer(struct sluice_async *client, const struct sluice_pending_item *item,
                        const struct sluice_decode_frame *frame)
{
    struct sluice_answer one;
    struct sluice_reset_answer reset;
    bool is_batch = item->kind == SLUICE_ENCODE_BATCH;
    struct sluice_answer *answers = is_batch ? item->answers : &one;
    enum sluice_status status;
    if (item->kind == SLUICE_ENCODE_RESET) {
        status = sluice_keep_reset(&client->keep, frame, &reset);
        item->answered.reset(item->context, &reset);
        return status != SLUICE_PROTOCOL;
    }
    status = sluice_keep_answers(&client->keep, frame, item->kind, client->on_error, answers,
                                 item->count);
    if (is_batch) {
        item->answered.many(item->context, answers, item->count);
        free(answers);
    } else {
        item->answered.one(item->context, answers);
    }
    return status != SLUICE_PROTOCOL;
}

static bool on_frame(void *owner, const struct sluice_decode_frame *frame)
{
    struct sluice_async *client = owner;
    struct sluice_pending_item item;
    struct sluice_error error;
    if (frame->id == 0 && frame->kind == SLUICE_DECODE_ERROR &&
        sluice_decode_error(frame->body, &error)) {
        char message[320];
        (void)snprintf(message, sizeof message, "the daemon ended the connection: %.*s",
                       (int)error.message.size, error.message.data);
        sluice_link_drop(&client->link);
        fail_all(client, SLUICE_UNREACHABLE, message);
        watch(client);
        return true;
    }
    if (frame->id >= client->pending.next || frame->id == 0) {
        return false; /* never asked */
    }
    if (!sluice_pending_take(&client->pending, frame->id, &item)) {
        return true; /* too late */
    }
    bool ok = give_answer(client, &item, frame);
    if (client->pending.live == 0) {
        watch(client);
    }
    return ok;
}

static void on_down(void *owner, enum sluice_status status, const char *message)
{
    struct sluice_async *client = owner;
    fail_all(client, status, message);
    watch(client);
}

/* The timer and the link have both let go: the last callbacks, then the memory. */
static void part_closed(struct sluice_async *client)
{
    if (--client->open_parts > 0) {
        return;
    }
    fail_all(client, SLUICE_UNREACHABLE, "the client was closed");
    if (client->closed != NULL) {
        client->closed(client->closed_context);
    }
    sluice_pending_deinit(&client->pending);
    sluice_keep_deinit(&client->keep);
    free(client);
}

static void on_link_closed(void *owner)
{
    part_closed(owner);
}

static void on_timer_closed(uv_handle_t *handle)
{
    part_closed(handle->data);
}

static const struct sluice_link_events events = {
    .frame = on_frame, .down = on_down, .closed = on_link_closed};

enum sluice_status sluice_async_open(uv_loop_t *loop, const char *url,
                                     const struct sluice_options *options,
                                     struct sluice_async **client)
{
    struct sluice *probe;
    struct sluice_url parsed;
    *client = NULL;
    /* The same checks, with the same sentences. */
    enum sluice_status status = sluice_open(url, options, &probe);
    if (status != SLUICE_OK) {
        return status;
    }
    sluice_close(&probe);
    status = sluice_url_parse(url, &parsed, NULL, 0);
    if (status == SLUICE_OK && (parsed.scheme != SLUICE_URL_NATIVE || options->token != NULL)) {
        if (options->why != NULL) {
            (void)snprintf(options->why, options->why_size,
                           "asking on a loop takes native:// or unix:, and no token, in this "
                           "build");
        }
        return SLUICE_UNSUPPORTED;
    }
    struct sluice_async *made = calloc(1, sizeof *made);
    if (status != SLUICE_OK || made == NULL || uv_timer_init(loop, &made->timer) != 0) {
        free(made);
        return status == SLUICE_OK ? SLUICE_NO_MEMORY : status;
    }
    uint32_t timeout_ms = options->timeout_ms;
    made->timer.data = made;
    made->timeout_ns = (timeout_ms == 0 ? SLUICE_TIMEOUT_MS_DEFAULT : timeout_ms) * NS_PER_MS;
    made->on_error = options->on_error;
    sluice_pending_init(&made->pending);
    /* uv_prepare_init and uv_timer_init do not fail on a loop that works. */
    (void)sluice_link_init(&made->link, loop, &parsed, &events, made);
    *client = made;
    return SLUICE_OK;
}

void sluice_async_close(struct sluice_async **client, void (*closed)(void *context),
                        void *context)
{
    struct sluice_async *gone = *client;
    *client = NULL;
    if (gone == NULL || gone->closing) {
        return;
    }
    gone->closing = true;
    gone->closed = closed;
    gone->closed_context = context;
    gone->open_parts = 2;
    sluice_link_close(&gone->link);
    uv_close((uv_handle_t *)&gone->timer, on_timer_closed);
}

static enum sluice_status start(struct sluice_async *client,
                                const struct sluice_question *questions,
                                const struct sluice_pending_item *item)
{
    struct sluice_buffer *out = &client->link.out;
    if (client->closing) {
        return SLUICE_INVALID;
    }
    if (sluice_buffer_size(out) > SLUICE_ASYNC_UNSENT_BYTES_MAX) {
        return SLUICE_BUSY;
    }
    size_t before = out->end - out->start;
    enum sluice_status status = sluice_encode(out, client->pending.next,
                                              (enum sluice_encode_kind)item->kind, questions,
                                              item->count);
    if (status != SLUICE_OK) {
        return status;
    }
    bool first = client->pending.live == 0;
    status = sluice_pending_add(&client->pending, item, SLUICE_ASYNC_IN_FLIGHT_MAX);
    if (status != SLUICE_OK) {
        out->end = out->start + before;
        return status;
    }
    if (now_ns() < client->resume_ns) {
        sluice_buffer_clear(out);
    } else {
        sluice_link_want(&client->link);
    }
    if (first) {
        watch(client);
    }
    return SLUICE_OK;
}

static enum sluice_status ask(struct sluice_async *client, unsigned kind,
                              const struct sluice_question *question,
                              void (*answered)(void *, const struct sluice_answer *),
                              void *context)
{
    const struct sluice_pending_item item = {
        .kind = kind,
        .count = 1,
        .asked_ns = now_ns(),
        .context = context,
        .answered.one = answered,
    };
    return start(client, question, &item);
}

enum sluice_status sluice_async_ask(struct sluice_async *client,
                                    const struct sluice_question *question,
                                    void (*answered)(void *context,
                                                     const struct sluice_answer *answer),
                                    void *context)
{
    return ask(client, SLUICE_ENCODE_ASK, question, answered, context);
}

enum sluice_status sluice_async_refund(struct sluice_async *client,
                                       const struct sluice_question *question,
                                       void (*answered)(void *context,
                                                        const struct sluice_answer *answer),
                                       void *context)
{
    return ask(client, SLUICE_ENCODE_REFUND, question, answered, context);
}

enum sluice_status sluice_async_ask_batch(struct sluice_async *client,
                                          const struct sluice_question *questions, size_t count,
                                          void (*answered)(void *context,
                                                           const struct sluice_answer *answers,
                                                           size_t count),
                                          void *context)
{
    const struct sluice_pending_item item = {
        .kind = SLUICE_ENCODE_BATCH,
        .count = count,
        .answers = count > SLUICE_ENCODE_BATCH_MAX ? NULL : calloc(count + 1, sizeof *item.answers),
        .asked_ns = now_ns(),
        .context = context,
        .answered.many = answered,
    };
    if (item.answers == NULL) {
        return count > SLUICE_ENCODE_BATCH_MAX ? SLUICE_INVALID : SLUICE_NO_MEMORY;
    }
    enum sluice_status status = start(client, questions, &item);
    if (status != SLUICE_OK) {
        free(item.answers);
    }
    return status;
}

enum sluice_status sluice_async_reset(struct sluice_async *client,
                                      const struct sluice_question *question,
                                      void (*answered)(void *context,
                                                       const struct sluice_reset_answer *answer),
                                      void *context)
{
    const struct sluice_pending_item item = {
        .kind = SLUICE_ENCODE_RESET,
        .count = 1,
        .asked_ns = now_ns(),
        .context = context,
        .answered.reset = answered,
    };
    return start(client, question, &item);
}
