/* The blocking client against servers that misbehave: within its time-out, as on_error says, with
 * a reason, and well again afterwards (RB-47 f). */
#include "peer.h"
#include "sluice.h"
#include "sluice_socket.h"

#include <criterion/criterion.h>

#define TIMEOUT_MS 50
#define NS_PER_MS 1000000
/* What the machine may add: other tests run beside this one. */
#define SLACK_MS 250

static struct sluice *open_with(const char *url, enum sluice_on_error on_error, uint32_t timeout_ms)
{
    struct sluice *client;
    char why[200] = "";
    struct sluice_options options = {
        .timeout_ms = timeout_ms, .on_error = on_error, .why = why, .why_size = sizeof why};
    cr_assert_eq(sluice_open(url, &options, &client), SLUICE_OK, "%s", why);
    return client;
}

static struct sluice *open_client(const char *url, enum sluice_on_error on_error)
{
    return open_with(url, on_error, TIMEOUT_MS);
}

/* For answers that have to come, on a machine that may be busy. */
static struct sluice *open_patient(const char *url, enum sluice_on_error on_error)
{
    return open_with(url, on_error, 10000);
}

static const struct sluice_question question = {.key = {"k", 1}, .route = {"r", 1}};

static enum sluice_status ask_timed(struct sluice *client, struct sluice_answer *answer)
{
    int64_t start = sluice_socket_now_ns();
    enum sluice_status status = sluice_ask(client, &question, answer);
    int64_t ms = (sluice_socket_now_ns() - start) / NS_PER_MS;
    cr_assert_lt(ms, TIMEOUT_MS + SLACK_MS, "took %lld ms", (long long)ms);
    return status;
}

static void expect_undecided(enum peer_deed deed, enum sluice_status status, const char *word)
{
    for (int deny = 0; deny < 2; deny++) {
        struct peer peer = {.deeds = {deed}, .deed_count = 1};
        struct sluice_answer answer;
        cr_assert(peer_start(&peer, 0));
        struct sluice *client =
            open_client(peer.url, deny ? SLUICE_ON_ERROR_DENY : SLUICE_ON_ERROR_ALLOW);
        cr_expect_eq(ask_timed(client, &answer), status, "%s", answer.error.message.data);
        cr_expect_not(answer.decided);
        cr_expect_eq(answer.allowed, !deny);
        cr_expect_eq(answer.error.status, status);
        cr_expect(strstr(answer.error.message.data, word) != NULL, "%s",
                  answer.error.message.data);
        cr_expect_eq(sluice_allow(client, "k", "r"), !deny);
        sluice_close(&client);
        cr_expect_null(client);
        peer_stop(&peer);
    }
}

Test(blocking, decides)
{
    struct peer peer = {.deeds = {PEER_ANSWER, PEER_REFUSE}, .deed_count = 2};
    struct sluice_answer answer;
    cr_assert(peer_start(&peer, 0));
    struct sluice *client = open_patient(peer.url, SLUICE_ON_ERROR_DENY);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(ask_timed(client, &answer), SLUICE_OK);
        cr_assert(answer.decided && answer.allowed);
        cr_assert_eq(answer.limit, 9);
        cr_assert_eq(answer.remaining, 8);
        cr_assert_eq(answer.reason, SLUICE_REASON_UNDER_LIMIT);
    }
    cr_expect(sluice_allow(client, "k", "r"));
    cr_expect_eq(atomic_load(&peer.accepted), 1, "one connection serves all");
    sluice_close(&client);
    client = open_patient(peer.url, SLUICE_ON_ERROR_ALLOW);
    cr_expect_eq(ask_timed(client, &answer), SLUICE_OK);
    cr_expect(answer.decided && !answer.allowed, "a refusal is no failure");
    sluice_close(&client);
    peer_stop(&peer);
}

Test(blocking, silence)
{
    expect_undecided(PEER_SILENT, SLUICE_TIMEOUT, "no answer within 50 ms");
}

Test(blocking, a_frame_that_never_ends)
{
    expect_undecided(PEER_DRIBBLE, SLUICE_TIMEOUT, "no answer within 50 ms");
}

Test(blocking, a_closed_connection)
{
    expect_undecided(PEER_CLOSE, SLUICE_UNREACHABLE, "closed");
}

Test(blocking, garbage)
{
    expect_undecided(PEER_GARBAGE, SLUICE_PROTOCOL, "protocol");
}

Test(blocking, a_length_above_the_bound)
{
    expect_undecided(PEER_HUGE, SLUICE_PROTOCOL, "protocol");
}

Test(blocking, an_answer_to_another_question)
{
    expect_undecided(PEER_WRONG_ID, SLUICE_PROTOCOL, "another question");
}

Test(blocking, an_answer_of_another_kind)
{
    expect_undecided(PEER_WRONG_KIND, SLUICE_PROTOCOL, "no answer to this");
}

Test(blocking, a_daemon_that_leaves_for_good)
{
    expect_undecided(PEER_GOODBYE, SLUICE_UNREACHABLE, "shutting down");
}

Test(blocking, an_error_is_told_and_the_connection_stays)
{
    struct peer peer = {.deeds = {PEER_ERROR}, .deed_count = 1};
    struct sluice_answer answer;
    struct sluice_reset_answer reset;
    cr_assert(peer_start(&peer, 0));
    struct sluice *client = open_patient(peer.url, SLUICE_ON_ERROR_ALLOW);
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(ask_timed(client, &answer), SLUICE_ERROR);
        cr_expect(!answer.decided && answer.allowed);
        cr_expect_eq(answer.error.code, SLUICE_CODE_INVALID_ARGUMENT);
        cr_expect_str_eq(answer.error.field.data, "key");
        cr_expect_str_eq(answer.error.message.data, "no");
    }
    cr_expect_eq(sluice_reset(client, &question, &reset), SLUICE_ERROR);
    cr_expect_not(reset.decided);
    cr_expect_str_eq(reset.error.field.data, "key");
    cr_expect_eq(atomic_load(&peer.accepted), 1);
    sluice_close(&client);
    peer_stop(&peer);
}

/* What the daemon said goodbye to was not read: it is asked again, on a new connection. */
Test(blocking, a_daemon_that_hands_over)
{
    struct peer peer = {.deeds = {PEER_GOODBYE, PEER_ANSWER}, .deed_count = 2};
    struct sluice_answer answer;
    cr_assert(peer_start(&peer, 0));
    struct sluice *client = open_patient(peer.url, SLUICE_ON_ERROR_DENY);
    cr_expect_eq(ask_timed(client, &answer), SLUICE_OK, "%s", answer.error.message.data);
    cr_expect(answer.decided && answer.allowed);
    cr_expect_eq(atomic_load(&peer.accepted), 2);
    sluice_close(&client);
    peer_stop(&peer);
}

/* A connection that was closed after the answer must not reach a question twice, nor lose one. */
Test(blocking, a_question_that_may_have_been_counted_is_not_repeated)
{
    struct peer peer = {.deeds = {PEER_CLOSE, PEER_ANSWER}, .deed_count = 2};
    struct sluice_answer answer;
    cr_assert(peer_start(&peer, 0));
    struct sluice *client = open_patient(peer.url, SLUICE_ON_ERROR_DENY);
    cr_expect_eq(ask_timed(client, &answer), SLUICE_UNREACHABLE);
    cr_expect_eq(atomic_load(&peer.accepted), 1);
    cr_expect_eq(ask_timed(client, &answer), SLUICE_OK);
    sluice_close(&client);
    peer_stop(&peer);
}

Test(blocking, a_late_answer_does_not_meet_the_next_question)
{
    struct peer peer = {.deeds = {PEER_SILENT, PEER_ANSWER}, .deed_count = 2};
    struct sluice_answer answer;
    cr_assert(peer_start(&peer, 0));
    struct sluice *client = open_client(peer.url, SLUICE_ON_ERROR_DENY);
    cr_expect_eq(ask_timed(client, &answer), SLUICE_TIMEOUT);
    for (int i = 0; i < 20 && !answer.decided; i++) {
        (void)ask_timed(client, &answer);
    }
    cr_expect(answer.decided && answer.allowed, "a new connection");
    sluice_close(&client);
    peer_stop(&peer);
}

Test(blocking, nobody_there_then_somebody)
{
    struct peer peer = {.deeds = {PEER_ANSWER}, .deed_count = 1};
    struct sluice_answer answer;
    cr_assert(peer_start(&peer, 0));
    int port = peer.port;
    struct sluice *client = open_patient(peer.url, SLUICE_ON_ERROR_ALLOW);
    cr_expect_eq(ask_timed(client, &answer), SLUICE_OK);
    for (int round = 0; round < 3; round++) {
        peer_stop(&peer);
        for (int i = 0; i < 5; i++) {
            cr_expect_eq(ask_timed(client, &answer), SLUICE_UNREACHABLE);
            cr_expect(!answer.decided && answer.allowed);
            cr_expect(answer.error.message.size > 0);
        }
        cr_assert(peer_start(&peer, port));
        int64_t back = sluice_socket_now_ns();
        while (ask_timed(client, &answer) != SLUICE_OK) {
            cr_assert_lt(sluice_socket_now_ns() - back, INT64_C(1000) * NS_PER_MS,
                         "not back within a second: %s", answer.error.message.data);
        }
    }
    sluice_close(&client);
    peer_stop(&peer);
}

/* A listener whose queue is full answers no connection: the time-out covers connecting too. */
Test(blocking, connecting_takes_no_longer_than_the_time_out)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    struct sluice_answer answer;
    char url[64];
    int fillers[64];
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(listen(listener, 0), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    for (int i = 0; i < 64; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&address, size);
    }
    (void)snprintf(url, sizeof url, "native://127.0.0.1:%d", ntohs(address.sin_port));
    struct sluice *client = open_client(url, SLUICE_ON_ERROR_DENY);
    for (int i = 0; i < 5; i++) {
        cr_expect_neq(ask_timed(client, &answer), SLUICE_OK);
        cr_expect_not(answer.allowed);
    }
    sluice_close(&client);
    for (int i = 0; i < 64; i++) {
        close(fillers[i]);
    }
    close(listener);
}

Test(blocking, a_name_that_does_not_exist)
{
    struct sluice_answer answer;
    struct sluice *client =
        open_client("native://no-such-host.invalid:7070", SLUICE_ON_ERROR_ALLOW);
    cr_expect_neq(ask_timed(client, &answer), SLUICE_OK);
    cr_expect(answer.allowed && !answer.decided);
    sluice_close(&client);
}

Test(blocking, names_are_looked_up)
{
    struct peer peer = {.deeds = {PEER_ANSWER}, .deed_count = 1};
    struct sluice_answer answer;
    char url[64];
    cr_assert(peer_start(&peer, 0));
    (void)snprintf(url, sizeof url, "native://localhost:%d", peer.port);
    struct sluice *client = open_patient(url, SLUICE_ON_ERROR_DENY);
    cr_expect_eq(sluice_ask(client, &question, &answer), SLUICE_OK, "%s",
                 answer.error.message.data);
    sluice_close(&client);
    peer_stop(&peer);
}

Test(blocking, no_socket_file)
{
    struct sluice_answer answer;
    struct sluice *client = open_client("unix:/nonexistent/sluice.sock", SLUICE_ON_ERROR_DENY);
    cr_expect_eq(ask_timed(client, &answer), SLUICE_UNREACHABLE);
    cr_expect(strstr(answer.error.message.data, "No such file") != NULL);
    sluice_close(&client);
}

Test(blocking, the_caller_must_choose)
{
    struct sluice *client;
    char why[200] = "";
    struct sluice_options options = {.why = why, .why_size = sizeof why};
    cr_expect_eq(sluice_open("native://127.0.0.1:1", &options, &client), SLUICE_INVALID);
    cr_expect_null(client);
    cr_expect(strstr(why, "on_error") != NULL);
    options.on_error = SLUICE_ON_ERROR_ALLOW;
    cr_expect_eq(sluice_open("resps://127.0.0.1:1", &options, &client), SLUICE_UNSUPPORTED);
    cr_expect_str_eq(why, "resps is not in this build");
}

Test(blocking, a_question_too_large_is_not_sent)
{
    struct peer peer = {.deeds = {PEER_ANSWER}, .deed_count = 1};
    struct sluice_answer answer;
    static char big[300 * 1024];
    cr_assert(peer_start(&peer, 0));
    struct sluice *client = open_patient(peer.url, SLUICE_ON_ERROR_DENY);
    const struct sluice_question large = {.key = {big, sizeof big}, .route = {"r", 1}};
    cr_expect_eq(sluice_ask(client, &large, &answer), SLUICE_INVALID);
    cr_expect(strstr(answer.error.message.data, "256 KiB") != NULL);
    cr_expect_eq(sluice_ask(client, &question, &answer), SLUICE_OK);
    sluice_close(&client);
    peer_stop(&peer);
}
