/* The pipelined client: each question answered once, within its time-out, whatever the server
 * does. */
#include "peer.h"
#include "sluice_async.h"
#include "sluice_pending.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

#define TIMEOUT_MS 50
#define SLACK_MS 250

static const struct sluice_question question = {.key = {"k", 1}, .route = {"r", 1}};

struct run {
    uv_loop_t loop;
    struct sluice_async *client;
    struct peer peer;
    int left;    /* questions not answered yet */
    int again;   /* questions to ask from callbacks */
    int decided;
    int allowed;
    int calls;
    uint64_t asked_ms;
    uint64_t slowest_ms;
    struct sluice_error error; /* of the last answer, its message copied */
    char message[400];
    bool closed;
    bool close_when_done;
    uint32_t timeout_ms; /* 0: TIMEOUT_MS */
};

/* For answers that have to come, on a machine that may be busy. */
#define PATIENT_MS 10000

static void on_closed(void *context)
{
    struct run *run = context;
    cr_assert_not(run->closed);
    run->closed = true;
}

static void on_answer(void *context, const struct sluice_answer *answer);

static void ask(struct run *run, int count)
{
    for (int i = 0; i < count; i++) {
        run->left++;
        cr_assert_eq(sluice_async_ask(run->client, &question, on_answer, run), SLUICE_OK);
    }
}

static void on_answer(void *context, const struct sluice_answer *answer)
{
    struct run *run = context;
    uint64_t ms = uv_hrtime() / 1000000 - run->asked_ms;
    run->left--;
    run->calls++;
    run->decided += answer->decided;
    run->allowed += answer->allowed;
    run->slowest_ms = ms > run->slowest_ms ? ms : run->slowest_ms;
    run->error = answer->error;
    (void)snprintf(run->message, sizeof run->message, "%s", answer->error.message.data);
    if (run->again > 0 && run->client != NULL) {
        run->again--;
        run->asked_ms = uv_hrtime() / 1000000;
        ask(run, 1);
    }
    if (run->left == 0 && run->close_when_done && run->client != NULL) {
        sluice_async_close(&run->client, on_closed, run);
    }
}

static void begin(struct run *run, const char *url, enum sluice_on_error on_error)
{
    char why[200] = "";
    struct sluice_options options = {
        .timeout_ms = run->timeout_ms == 0 ? TIMEOUT_MS : run->timeout_ms,
        .on_error = on_error,
        .why = why,
        .why_size = sizeof why,
    };
    (void)signal(SIGPIPE, SIG_IGN);
    cr_assert_eq(uv_loop_init(&run->loop), 0);
    cr_assert_eq(sluice_async_open(&run->loop, url, &options, &run->client), SLUICE_OK, "%s",
                 why);
    run->asked_ms = uv_hrtime() / 1000000;
    run->close_when_done = true;
}

static void begin_peer(struct run *run, enum peer_deed deed, enum sluice_on_error on_error)
{
    run->peer.deeds[0] = deed;
    run->peer.deed_count = 1;
    cr_assert(peer_start(&run->peer, 0));
    begin(run, run->peer.url, on_error);
}

/* Until the last answer; the client closes itself then. */
static void finish(struct run *run)
{
    cr_assert_eq(uv_run(&run->loop, UV_RUN_DEFAULT), 0);
    cr_assert_eq(run->left, 0);
    cr_assert(run->closed);
    cr_assert_eq(uv_loop_close(&run->loop), 0, "nothing is left on the loop");
}

Test(async, many_in_flight)
{
    struct run run = {.again = 500, .timeout_ms = PATIENT_MS};
    begin_peer(&run, PEER_ANSWER, SLUICE_ON_ERROR_DENY);
    ask(&run, 100);
    cr_expect_eq(run.calls, 0, "never from inside the call");
    finish(&run);
    cr_expect_eq(run.calls, 600);
    cr_expect_eq(run.decided, 600);
    cr_expect_eq(run.allowed, 600);
    cr_expect_eq(atomic_load(&run.peer.accepted), 1);
    peer_stop(&run.peer);
}

static void expect_undecided(enum peer_deed deed, enum sluice_status status, const char *word)
{
    for (int deny = 0; deny < 2; deny++) {
        struct run run = {.again = 2};
        begin_peer(&run, deed, deny ? SLUICE_ON_ERROR_DENY : SLUICE_ON_ERROR_ALLOW);
        ask(&run, 3);
        finish(&run);
        cr_expect_eq(run.calls, 5);
        cr_expect_eq(run.decided, 0);
        cr_expect_eq(run.allowed, deny ? 0 : 5);
        cr_expect_eq(run.error.status, status, "%s", run.message);
        cr_expect(strstr(run.message, word) != NULL, "%s", run.message);
        cr_expect_lt(run.slowest_ms, TIMEOUT_MS + SLACK_MS);
        peer_stop(&run.peer);
    }
}

Test(async, silence)
{
    expect_undecided(PEER_SILENT, SLUICE_TIMEOUT, "no answer within 50 ms");
}

Test(async, a_frame_that_never_ends)
{
    expect_undecided(PEER_DRIBBLE, SLUICE_TIMEOUT, "no answer within 50 ms");
}

Test(async, a_closed_connection)
{
    expect_undecided(PEER_CLOSE, SLUICE_UNREACHABLE, "ended");
}

Test(async, garbage)
{
    expect_undecided(PEER_GARBAGE, SLUICE_PROTOCOL, "protocol");
}

Test(async, a_length_above_the_bound)
{
    expect_undecided(PEER_HUGE, SLUICE_PROTOCOL, "protocol");
}

Test(async, an_answer_to_a_question_never_asked)
{
    expect_undecided(PEER_WRONG_ID, SLUICE_PROTOCOL, "protocol");
}

Test(async, an_answer_of_another_kind)
{
    expect_undecided(PEER_WRONG_KIND, SLUICE_PROTOCOL, "");
}

Test(async, a_goodbye)
{
    expect_undecided(PEER_GOODBYE, SLUICE_UNREACHABLE, "ended the connection: ok");
}

Test(async, errors)
{
    expect_undecided(PEER_ERROR, SLUICE_ERROR, "no");
}

Test(async, nobody_there_then_somebody)
{
    struct run run = {.timeout_ms = PATIENT_MS};
    begin_peer(&run, PEER_ANSWER, SLUICE_ON_ERROR_ALLOW);
    run.close_when_done = false;
    int port = run.peer.port;
    for (int round = 0; round < 3; round++) {
        peer_stop(&run.peer);
        ask(&run, 4);
        while (run.left > 0) {
            uv_run(&run.loop, UV_RUN_ONCE);
        }
        cr_expect_eq(run.error.status, SLUICE_UNREACHABLE);
        cr_assert(peer_start(&run.peer, port));
        uint64_t back_ms = uv_hrtime() / 1000000;
        run.decided = 0;
        while (run.decided == 0) {
            ask(&run, 1);
            while (run.left > 0) {
                uv_run(&run.loop, UV_RUN_ONCE);
            }
            cr_assert_lt(uv_hrtime() / 1000000 - back_ms, 1000, "%s", run.message);
        }
    }
    sluice_async_close(&run.client, on_closed, &run);
    finish(&run);
    peer_stop(&run.peer);
}

Test(async, closing_answers_what_is_in_flight)
{
    struct run run = {0};
    begin_peer(&run, PEER_SILENT, SLUICE_ON_ERROR_ALLOW);
    run.close_when_done = false;
    ask(&run, 10);
    sluice_async_close(&run.client, on_closed, &run);
    cr_expect_null(run.client);
    cr_expect_eq(run.calls, 0);
    finish(&run);
    cr_expect_eq(run.calls, 10);
    cr_expect_eq(run.allowed, 10);
    cr_expect_str_eq(run.message, "the client was closed");
    peer_stop(&run.peer);
}

Test(async, a_unix_socket_that_is_not_there)
{
    struct run run = {.again = 3};
    begin(&run, "unix:/nonexistent/sluice.sock", SLUICE_ON_ERROR_DENY);
    ask(&run, 2);
    finish(&run);
    cr_expect_eq(run.calls, 5);
    cr_expect_eq(run.error.status, SLUICE_UNREACHABLE);
    cr_expect_eq(run.allowed, 0);
}

Test(async, a_name_that_does_not_exist)
{
    struct run run = {0};
    begin(&run, "native://no-such-host.invalid:7070", SLUICE_ON_ERROR_ALLOW);
    ask(&run, 2);
    finish(&run);
    cr_expect_eq(run.allowed, 2);
    cr_expect_eq(run.decided, 0);
    cr_expect_lt(run.slowest_ms, TIMEOUT_MS + SLACK_MS);
}

static void on_batch(void *context, const struct sluice_answer *answers, size_t count)
{
    struct run *run = context;
    cr_expect_eq(count, 3);
    for (size_t i = 0; i < count; i++) {
        cr_expect(!answers[i].decided && answers[i].allowed);
        cr_expect_str_eq(answers[i].error.field.data, "key");
    }
    run->left--;
    ask(run, 1);
}

static void on_reset(void *context, const struct sluice_reset_answer *answer)
{
    struct run *run = context;
    cr_expect_not(answer->decided);
    cr_expect_eq(answer->error.code, SLUICE_CODE_INVALID_ARGUMENT);
    run->left--;
}

Test(async, batches_refunds_and_resets)
{
    const struct sluice_question three[] = {question, question, question};
    struct run run = {.left = 2, .timeout_ms = PATIENT_MS};
    begin_peer(&run, PEER_ERROR, SLUICE_ON_ERROR_ALLOW);
    cr_assert_eq(sluice_async_reset(run.client, &question, on_reset, &run), SLUICE_OK);
    cr_assert_eq(sluice_async_ask_batch(run.client, three, 3, on_batch, &run), SLUICE_OK);
    run.left++;
    cr_assert_eq(sluice_async_refund(run.client, &question, on_answer, &run), SLUICE_OK);
    finish(&run);
    cr_expect_eq(run.calls, 2);
    peer_stop(&run.peer);
}

Test(async, a_call_that_fails_has_no_callback)
{
    static char big[300 * 1024];
    struct sluice_question *many = calloc(1001, sizeof *many);
    const struct sluice_question large = {.key = {big, sizeof big}, .route = {"r", 1}};
    struct run run = {.timeout_ms = PATIENT_MS};
    begin_peer(&run, PEER_ANSWER, SLUICE_ON_ERROR_DENY);
    cr_expect_eq(sluice_async_ask(run.client, &large, on_answer, &run), SLUICE_INVALID);
    cr_expect_eq(sluice_async_ask_batch(run.client, many, 1001, on_batch, &run), SLUICE_INVALID);
    ask(&run, 1);
    finish(&run);
    cr_expect_eq(run.calls, 1);
    cr_expect_eq(run.decided, 1);
    peer_stop(&run.peer);
    free(many);
}

Test(pending, a_ring_that_grows_and_keeps_its_order)
{
    struct sluice_pending pending;
    struct sluice_pending_item item = {.kind = 2};
    sluice_pending_init(&pending);
    cr_expect_null(sluice_pending_oldest(&pending));
    for (int64_t i = 1; i <= 1000; i++) {
        item.asked_ns = i;
        cr_assert_eq(sluice_pending_add(&pending, &item, 1000), SLUICE_OK);
    }
    cr_expect_eq(sluice_pending_add(&pending, &item, 1000), SLUICE_BUSY);
    for (uint64_t id = 2; id <= 1000; id += 2) {
        cr_assert(sluice_pending_take(&pending, id, &item));
        cr_assert_eq((uint64_t)item.asked_ns, id);
        cr_assert_not(sluice_pending_take(&pending, id, &item), "only once");
    }
    cr_expect_eq(sluice_pending_oldest(&pending)->asked_ns, 1);
    cr_expect(sluice_pending_take(&pending, 1, &item));
    cr_expect_eq(sluice_pending_oldest(&pending)->asked_ns, 3);
    cr_expect_eq(sluice_pending_add(&pending, &item, 1000), SLUICE_OK, "room again");
    cr_expect_not(sluice_pending_take(&pending, 0, &item));
    cr_expect_not(sluice_pending_take(&pending, 1002, &item));
    for (uint64_t id = 3; id <= 1001; id++) {
        cr_assert_eq(sluice_pending_take(&pending, id, &item), id == 1001 || id % 2 == 1);
    }
    cr_expect_eq(pending.live, 0);
    cr_expect_null(sluice_pending_oldest(&pending));
    sluice_pending_deinit(&pending);
}
