/* gRPC calls from the first byte of a message to the trailers, over nghttp2's client side. */
#include "http2_client.h"

#include "wire/grpc.h"
#include "wire/pb_fields.h"

#include <criterion/criterion.h>

#define SHOULD_ALLOW "/sluice.v1.RateLimiter/ShouldAllow"
#define BATCH "/sluice.v1.RateLimiter/ShouldAllowBatch"
#define REFUND "/sluice.v1.RateLimiter/Refund"
#define RESET "/sluice.v1.RateLimiter/Reset"
#define CHECK "/grpc.health.v1.Health/Check"
#define WATCH "/grpc.health.v1.Health/Watch"
#define LIST "/grpc.health.v1.Health/List"

static struct client client;

static void setup(void)
{
    client_init(&client);
}

static void teardown(void)
{
    client_deinit(&client);
}

TestSuite(grpc, .init = setup, .fini = teardown);

/* The only message of an answer. */
static struct slice only_message(const struct client_answer *answer)
{
    struct slice message = slice_make(NULL, 0);
    size_t used = 0;
    cr_assert_eq(answer->status, 200);
    cr_assert_eq(answer->code, 0, "code %d: %s", answer->code, answer->message);
    cr_assert_str_eq(answer->type, "application/grpc");
    cr_assert_eq(grpc_frame(buf_slice(&answer->body), &message, &used), GRPC_FRAME_WHOLE);
    cr_assert_eq(used, answer->body.size);
    return message;
}

/* A number of a message; 0 where it is not there. */
static uint64_t number(struct slice message, uint32_t field_number)
{
    struct pb_field field;
    uint64_t value = 0;
    while (pb_fields_next(&message, &field) == PB_FIELDS_ONE) {
        value = field.number == field_number && !field.is_bytes ? field.value : value;
    }
    return value;
}

static struct slice bytes(struct slice message, uint32_t field_number)
{
    struct slice out;
    cr_assert(pb_fields_bytes(message, field_number, &out));
    return out;
}

static struct slice ask(const char *key, const char *route)
{
    uint8_t message[256];
    return only_message(client_call(&client, SHOULD_ALLOW, message,
                                    client_ask(message, key, route)));
}

static void expect_failure(const struct client_answer *answer, int code, const char *words)
{
    cr_expect_eq(answer->status, 200);
    cr_expect_eq(answer->code, code, "code %d: %s", answer->code, answer->message);
    cr_expect_eq(answer->body.size, 0);
    cr_expect_not_null(strstr(answer->message, words), "\"%s\" is not in \"%s\"", words,
                       answer->message);
    cr_expect(answer->closed);
}

Test(grpc, three_pass_and_the_fourth_does_not)
{
    for (uint64_t left = 2; left + 1 > 0; left--) {
        struct slice answer = ask("alice", "fw");
        cr_expect_eq(number(answer, 1), 1);
        cr_expect_eq(number(answer, 2), 3);
        cr_expect_eq(number(answer, 3), left);
        cr_expect(slice_equal_text(bytes(answer, 7), "fw"));
    }
    struct slice answer = ask("alice", "fw");
    cr_expect_eq(number(answer, 1), 0);
    cr_expect_eq(number(answer, 8), REASON_OVER_LIMIT);
    cr_expect_eq(number(bytes(answer, 4), 1), 60, "the fixture stands at a window's start");
    cr_expect_eq(number(ask("bob", "fw"), 3), 2);
}

Test(grpc, answers_are_counted)
{
    (void)ask("alice", "fw");
    (void)ask("alice", "fw");
    struct metrics *metrics = client.fixture.metrics;
    cr_expect_eq(client.fixture.answered, 2);
    cr_expect_eq(metrics_read_requests(metrics, METRICS_GRPC, METRICS_SHOULD_ALLOW), 2);
    cr_expect_eq(metrics_read_request_errors(metrics, METRICS_GRPC, REQUEST_INVALID_ARGUMENT), 0);
    (void)client_call(&client, SHOULD_ALLOW, "\x0a\x00\x12\x01x", 5);
    cr_expect_eq(metrics_read_request_errors(metrics, METRICS_GRPC, REQUEST_INVALID_ARGUMENT), 1);
}

Test(grpc, details_are_rows)
{
    uint8_t message[64];
    size_t size = client_ask(message, "alice", "all");
    message[size++] = 5 << 3;
    message[size++] = 1;
    struct slice rest = only_message(client_call(&client, SHOULD_ALLOW, message, size));
    struct pb_field field;
    int rows = 0;
    while (pb_fields_next(&rest, &field) == PB_FIELDS_ONE) {
        rows += field.number == 9;
    }
    cr_expect_eq(rows, 3);
}

Test(grpc, unusual_messages_are_read_all_the_same)
{
    /* The route first, an unknown field, the key twice: the last counts. */
    static const uint8_t odd[] = "\x12\x02" "fw" "\xfa\x01\x01z" "\x0a\x01y" "\x0a\x01x";
    struct slice answer = only_message(client_call(&client, SHOULD_ALLOW, odd, sizeof(odd) - 1));
    cr_expect_eq(number(answer, 3), 2);
    cr_expect_eq(number(ask("x", "fw"), 3), 1);
    cr_expect_eq(number(ask("y", "fw"), 3), 2);
}

Test(grpc, errors_name_the_field)
{
    expect_failure(client_call(&client, SHOULD_ALLOW, "\x12\x02" "fw", 4), 3, "key");
    expect_failure(client_call(&client, SHOULD_ALLOW, "\x0a\x01k", 3), 3, "route");
    expect_failure(client_call(&client, SHOULD_ALLOW, "\x0a\x01\xff\x12\x01r", 6), 3, "key");
    static const uint8_t costly[] = "\x0a\x01k\x12\x02" "fw"
                                    "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    expect_failure(client_call(&client, SHOULD_ALLOW, costly, sizeof(costly) - 1), 3, "cost");
    expect_failure(client_call(&client, SHOULD_ALLOW, "\x0a\xff\xff", 3), 3,
                   "ShouldAllowRequest");
    cr_expect_eq(number(ask("k", "fw"), 3), 2, "nothing was charged");
}

Test(grpc, sentences_are_percent_encoded)
{
    /* A name with a percent sign, a line break and a letter beyond ASCII. */
    struct client_answer *answer = client_call(&client, CHECK, "\x0a\x06%\n\xc3\xa9..", 8);
    cr_expect_eq(answer->code, REQUEST_NOT_FOUND);
    cr_expect_not_null(strstr(answer->message, "%25\\n%C3%A9.."), "%s", answer->message);
}

Test(grpc, unknown_methods_are_unimplemented)
{
    expect_failure(client_call(&client, "/sluice.v1.RateLimiter/Fly", "", 0), 12, "method");
    expect_failure(client_call(&client, "/x.Y/Z", "", 0), 12, "method");
    expect_failure(client_call(&client, "/", "", 0), 12, "method");
    expect_failure(client_call(&client, "/sluice.v1.RateLimiter/ShouldAllow?x", "", 0), 12,
                   "method");
}

Test(grpc, batches_see_the_members_before)
{
    uint8_t message[512];
    size_t size = 0;
    for (int i = 0; i < 5; i++) {
        size_t member = client_ask(message + size + 2, "alice", "fw");
        message[size] = 0x0a;
        message[size + 1] = (uint8_t)member;
        size += 2 + member;
    }
    message[size++] = 0x0a; /* one that is invalid */
    message[size++] = 0;
    struct slice rest = only_message(client_call(&client, BATCH, message, size));
    struct pb_field field;
    for (uint64_t i = 0; i < 6; i++) {
        cr_assert_eq(pb_fields_next(&rest, &field), PB_FIELDS_ONE);
        struct slice response = bytes(field.bytes, 1);
        cr_expect_eq(number(response, 1), i < 3);
        cr_expect_eq(number(bytes(field.bytes, 2), 1), i == 5 ? REQUEST_INVALID_ARGUMENT : 0);
    }
    cr_expect_eq(rest.size, 0);
    cr_expect_eq(metrics_read_requests(client.fixture.metrics, METRICS_GRPC, METRICS_BATCH), 1);
}

Test(grpc, a_batch_of_more_than_a_thousand_is_refused_whole)
{
    static uint8_t message[1001 * 11];
    size_t size = 0;
    for (int i = 0; i < 1001; i++) {
        size_t member = client_ask(message + size + 2, "a", "big");
        message[size] = 0x0a;
        message[size + 1] = (uint8_t)member;
        size += 2 + member;
    }
    expect_failure(client_call(&client, BATCH, message, size), 3, "requests");
    cr_expect_eq(number(ask("a", "big"), 3), 999);
}

Test(grpc, refunds_and_resets)
{
    uint8_t message[64];
    size_t size = client_ask(message, "alice", "fw");
    (void)ask("alice", "fw");
    (void)ask("alice", "fw");
    cr_expect_eq(number(only_message(client_call(&client, REFUND, message, size)), 3), 2);
    cr_expect_eq(number(only_message(client_call(&client, RESET, message, size)), 1), 1);
    cr_expect_eq(number(only_message(client_call(&client, RESET, message, size)), 1), 0);
    cr_expect_eq(number(ask("alice", "fw"), 3), 2);
}

Test(grpc, changes_are_not_everybodys)
{
    uint8_t message[64];
    size_t size = client_ask(message, "alice", "fw");
    client.fixture.config.allow_changes = WIRE_CHANGES_NONE;
    expect_failure(client_call(&client, REFUND, message, size), REQUEST_PERMISSION_DENIED, "");
    expect_failure(client_call(&client, RESET, message, size), REQUEST_PERMISSION_DENIED, "");
}

static struct client_answer *call_raw(const char *body, size_t size, const char *timeout)
{
    struct client_request request = {
        .path = SHOULD_ALLOW, .body = slice_make(body, size), .timeout = timeout};
    int32_t stream = client_submit(&client, &request);
    client_run(&client);
    return client_answer(&client, stream);
}

Test(grpc, framing_is_checked)
{
    expect_failure(call_raw("", 0, NULL), 3, "ended before");
    expect_failure(call_raw("\0\0\0\0", 4, NULL), 3, "ended before");
    expect_failure(call_raw("\0\0\0\0\x05\x0a\x01k", 8, NULL), 3, "ended before");
    expect_failure(call_raw("\0\0\0\0\x02\x0a\0\0", 8, NULL), 3, "more than the one message");
    expect_failure(call_raw("\x01\0\0\0\x01x", 6, NULL), 12, "compressed");
    expect_failure(call_raw("\x02\0\0\0\x01x", 6, NULL), 3, "first byte");
    expect_failure(call_raw("\0\0\x04\0\x01", 5, NULL), 8, "262144");
}

Test(grpc, a_message_too_large_is_answered_before_it_has_come)
{
    static uint8_t body[70000] = {0, 0, 8, 0, 0};
    struct client_request request = {
        .path = SHOULD_ALLOW, .body = slice_make(body, sizeof(body)), .open = true};
    int32_t stream = client_submit(&client, &request);
    client_run(&client);
    expect_failure(client_answer(&client, stream), 8, "262144");
    cr_expect_eq(client_answer(&client, stream)->error, NGHTTP2_NO_ERROR);
    cr_expect_eq(number(ask("k", "fw"), 3), 2, "the connection goes on");
}

Test(grpc, the_longest_message_is_taken)
{
    static uint8_t message[LIMITS_GRPC_MESSAGE_BYTES_MAX];
    size_t size = client_ask(message, "alice", "fw");
    /* An unknown field fills it up. */
    size_t filler = sizeof(message) - size - 5;
    message[size] = 0xfa;
    message[size + 1] = 0x01;
    message[size + 2] = (uint8_t)(filler | 0x80);
    message[size + 3] = (uint8_t)(filler >> 7 | 0x80);
    message[size + 4] = (uint8_t)(filler >> 14);
    struct client_answer *answer = client_call(&client, SHOULD_ALLOW, message, sizeof(message));
    cr_expect_eq(number(only_message(answer), 3), 2);
}

Test(grpc, timeouts_are_read)
{
    static const struct {
        const char *text;
        int64_t ns; /* -1: refused */
    } cases[] = {
        {"1n", 1}, {"20m", 20000000}, {"19998417u", INT64_C(19998417000)}, {"1S", 1000000000},
        {"2M", INT64_C(120000000000)}, {"1H", INT64_C(3600000000000)},
        {"99999999H", INT64_MAX / 2}, {"0m", 0}, {"", -1}, {"m", -1}, {"5", -1}, {"5x", -1},
        {"123456789m", -1}, {"-1m", -1}, {"1.5S", -1}, {" 1S", -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ns = -1;
        bool good = grpc_timeout(slice_text(cases[i].text), &ns);
        cr_expect_eq(good, cases[i].ns >= 0, "%s", cases[i].text);
        cr_expect_eq(good ? ns : -1, cases[i].ns, "%s", cases[i].text);
    }
}

Test(grpc, an_expired_call_is_not_decided)
{
    static const char body[] = "\0\0\0\0\x07\x0a\x01k\x12\x02" "fw";
    expect_failure(call_raw(body, 12, "0m"), 4, "deadline");
    expect_failure(call_raw(body, 12, "1x"), 3, "grpc-timeout");
    /* The end of the body comes after 20 ms. */
    struct client_request request = {
        .path = SHOULD_ALLOW, .body = slice_make(body, 6), .timeout = "20m", .open = true};
    int32_t late = client_submit(&client, &request);
    int32_t timely = client_submit(&client, &request);
    client_run(&client);
    client.fixture.now_ns += 19999999;
    client_more(&client, timely, slice_make(body + 6, 6), false);
    cr_expect_eq(client_answer(&client, timely)->code, 0);
    client.fixture.now_ns += 1;
    client_more(&client, late, slice_make(body + 6, 6), false);
    expect_failure(client_answer(&client, late), 4, "deadline");
    cr_expect_eq(number(ask("k", "fw"), 3), 1, "one was counted");
}

Test(grpc, a_call_needs_its_content_type_and_post)
{
    static const char body[] = "\0\0\0\0\x07\x0a\x01k\x12\x02" "fw";
    struct client_request request = {
        .path = SHOULD_ALLOW, .body = slice_make(body, 12), .type = "application/json"};
    int32_t json = client_submit(&client, &request);
    request.type = "application/grpc-web";
    int32_t web = client_submit(&client, &request);
    request.type = "application/grpc+proto";
    int32_t proto = client_submit(&client, &request);
    request.type = "application/grpc";
    request.method = "PUT";
    int32_t put = client_submit(&client, &request);
    client_run(&client);
    cr_expect_eq(client_answer(&client, json)->status, 415);
    cr_expect_eq(client_answer(&client, web)->status, 415);
    cr_expect_eq(client_answer(&client, proto)->code, 0);
    cr_expect_eq(client_answer(&client, put)->status, 405);
}

Test(grpc, health_knows_its_services)
{
    static const char *const names[] = {"", "ratelimit", "sluice.v1.RateLimiter",
                                        "envoy.service.ratelimit.v3.RateLimitService"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct buf message;
        buf_init(&message, 0);
        pb_fields_put_bytes(&message, 1, slice_text(names[i]));
        struct slice answer = only_message(client_call(&client, CHECK, message.data,
                                                       message.size));
        cr_expect_eq(number(answer, 1), 1, "%s", names[i]);
        buf_deinit(&message);
    }
    expect_failure(client_call(&client, CHECK, "\x0a\x04nope", 6), 5, "nope");
    expect_failure(client_call(&client, CHECK, "\x0a\x01\xff", 3), 3, "HealthCheckRequest");
    struct slice rest = only_message(client_call(&client, LIST, "", 0));
    struct pb_field field;
    size_t found = 0;
    while (pb_fields_next(&rest, &field) == PB_FIELDS_ONE) {
        cr_expect_eq(number(bytes(field.bytes, 2), 1), 1);
        found++;
    }
    cr_expect_eq(found, sizeof(names) / sizeof(names[0]));
}

Test(grpc, a_watch_stays_until_the_server_goes)
{
    struct client_answer *answer = client_call(&client, WATCH, "\x0a\x09ratelimit", 11);
    struct client_answer *other = client_call(&client, WATCH, "\x0a\x04nope", 6);
    cr_assert_eq(answer->body.size, 7);
    cr_expect_eq(answer->body.data[6], 1, "SERVING");
    cr_expect_eq(other->body.data[6], 3, "SERVICE_UNKNOWN");
    cr_expect(!answer->closed && !other->closed);
    struct buf out;
    buf_init(&out, 0);
    cr_expect(!http2_protocol.shutdown(client.fixture.session, &out));
    (void)nghttp2_session_mem_recv(client.codec, out.data, out.size);
    buf_deinit(&out);
    client_run(&client);
    cr_expect_eq(answer->body.size, 14);
    cr_expect_eq(answer->body.data[13], 2, "NOT_SERVING");
    cr_expect_eq(answer->code, REQUEST_UNAVAILABLE);
    cr_expect(answer->closed && other->closed);
}
