/* The HTTP/2 adapter: golden frames, replays in pieces, the JSON API over it, floods and bounds,
 * going away. */
#include "http2_client.h"

#include "wire/web.h"

#include <criterion/criterion.h>

#define SHOULD_ALLOW "/sluice.v1.RateLimiter/ShouldAllow"

static struct client client;

static void setup(void)
{
    client_init(&client);
}

static void teardown(void)
{
    client_deinit(&client);
}

TestSuite(http2, .init = setup, .fini = teardown);

/* A conversation written out by hand: preface, SETTINGS, and a call of Health/Check whose header
 * fields are literals that enter no table. */
static const uint8_t golden_in[] =
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    "\0\0\0\x04\0\0\0\0\0"
    "\0\0\x63\x01\x04\0\0\0\x01"
    "\x83\x86" /* :method POST, :scheme http */
    "\x04\x1c/grpc.health.v1.Health/Check"
    "\x01\x04here"
    "\x00\x02te\x08trailers"
    "\x00\x0c" "content-type\x10" "application/grpc"
    "\x00\x0cgrpc-timeout\x02" "1S"
    "\0\0\x05\0\x01\0\0\0\x01\0\0\0\0\0";

static const uint8_t golden_out[] =
    "\0\0\x18\x04\0\0\0\0\0"         /* SETTINGS */
    "\0\x03\0\0\x04\0"               /* at most 1024 streams */
    "\0\x04\0\x05\0\x05"             /* windows of 327685 bytes */
    "\0\x06\0\0\x40\0"               /* header lists of 16384 */
    "\0\x09\0\0\0\x01"               /* no priorities */
    "\0\0\x04\x08\0\0\0\0\0\0\x1f\0\x01" /* WINDOW_UPDATE: 2 MiB in all */
    "\0\0\0\x04\x01\0\0\0\0"         /* SETTINGS, acknowledged */
    "\0\0\x0e\x01\x04\0\0\0\x01"     /* HEADERS */
    "\x88"                           /* :status 200 */
    "\x5f\x8b\x1d\x75\xd0\x62\x0d\x26\x3d\x4c\x4d\x65\x64" /* content-type application/grpc */
    "\0\0\x07\0\0\0\0\0\x01"         /* DATA */
    "\0\0\0\0\x02\x08\x01"           /* SERVING */
    "\0\0\x0c\x01\x05\0\0\0\x01"     /* trailers */
    "\x40\x88\x9a\xca\xc8\xb2\x12\x34\xda\x8f\x01\x30"; /* grpc-status 0 */

static void expect_golden(const struct wire_protocol *protocol, size_t step)
{
    struct fixture fixture;
    struct buf out;
    buf_init(&out, 0);
    fixture_init_as(&fixture, protocol);
    buf_append_slice(&out, buf_slice(&fixture.out)); /* the greeting */
    buf_clear(&fixture.out);
    size_t size = sizeof(golden_in) - 1;
    for (size_t at = 0; at < size; at += step) {
        size_t some = size - at < step ? size - at : step;
        cr_expect_eq(fixture_feed(&fixture, slice_make(golden_in + at, some), &out), WIRE_MORE);
    }
    cr_expect_eq(out.size, sizeof(golden_out) - 1);
    size_t same = 0;
    while (same < out.size && same < sizeof(golden_out) - 1 &&
           out.data[same] == golden_out[same]) {
        same++;
    }
    cr_expect_eq(same, sizeof(golden_out) - 1, "byte %zu is %02x", same, out.data[same]);
    buf_deinit(&out);
    fixture_deinit(&fixture);
}

Test(http2, golden_frames)
{
    expect_golden(&http2_protocol, sizeof(golden_in));
    expect_golden(&web_protocol, sizeof(golden_in));
}

Test(http2, golden_frames_in_pieces)
{
    for (size_t step = 1; step < 40; step++) {
        expect_golden(&http2_protocol, step);
        expect_golden(&web_protocol, step);
    }
}

static const char json[] = "{\"key\":\"alice\",\"route\":\"fw\"}";

static struct client_answer *ask_json(const char *method, const char *path, struct slice body)
{
    struct client_request request = {.method = method,
                                     .path = path,
                                     .type = "application/json",
                                     .body = body,
                                     .no_body = body.size == 0};
    int32_t stream = client_submit(&client, &request);
    client_run(&client);
    cr_expect(client_answer(&client, stream)->closed);
    return client_answer(&client, stream);
}

static bool has(const struct client_answer *answer, const char *text)
{
    return memmem(answer->body.data, answer->body.size, text, strlen(text)) != NULL;
}

Test(http2, json_is_answered)
{
    for (int i = 0; i < 3; i++) {
        struct client_answer *answer = ask_json("POST", "/v1/should-allow", slice_text(json));
        cr_expect_eq(answer->status, 200);
        cr_expect(has(answer, "\"allowed\":true"));
        cr_expect_str_eq(answer->type, "application/json");
    }
    struct client_answer *answer = ask_json("POST", "/v1/should-allow", slice_text(json));
    cr_expect_eq(answer->status, 429);
    cr_expect_str_eq(answer->retry, "60");
    answer = ask_json("GET", "/v1/should-allow?key=bob&route=fw", slice_make(NULL, 0));
    cr_expect_eq(answer->status, 200);
    cr_expect(has(answer, "\"remaining\":2"));
    answer = ask_json("HEAD", "/v1/should-allow?key=bob&route=fw", slice_make(NULL, 0));
    cr_expect_eq(answer->status, 200);
    cr_expect_eq(answer->body.size, 0);
    cr_expect_eq(ask_json("GET", "/nope", slice_make(NULL, 0))->status, 404);
    cr_expect_eq(ask_json("DELETE", "/v1/should-allow", slice_make(NULL, 0))->status, 405);
    cr_expect_eq(ask_json("POST", "/v1/should-allow", slice_text("[]"))->status, 400);
    cr_expect_eq(client.fixture.answered, 6);
}

Test(http2, headers_of_the_json_api)
{
    struct client_request request = {.method = "GET",
                                     .path = "/v1/auth?route=fw",
                                     .type = "",
                                     .more = {"x-sluice-key", "alice"},
                                     .no_body = true};
    for (int i = 0; i < 4; i++) {
        int32_t stream = client_submit(&client, &request);
        client_run(&client);
        cr_expect_eq(client_answer(&client, stream)->status, i < 3 ? 200 : 429);
        cr_expect_eq(client_answer(&client, stream)->body.size, 0);
    }
}

Test(http2, a_body_too_long_is_told_before_it_ends)
{
    static uint8_t body[LIMITS_HTTP_BODY_BYTES_MAX + 1];
    struct client_request request = {.path = "/v1/should-allow",
                                     .type = "application/json",
                                     .body = slice_make(body, sizeof(body)),
                                     .open = true};
    int32_t stream = client_submit(&client, &request);
    client_run(&client);
    cr_expect_eq(client_answer(&client, stream)->status, 413);
    cr_expect(client_answer(&client, stream)->closed);
    cr_expect_eq(ask_json("POST", "/v1/should-allow", slice_text(json))->status, 200);
}

Test(http2, header_lists_too_large)
{
    static char value[15000];
    memset(value, 'v', sizeof(value) - 1);
    static char twice[17000];
    memset(twice, 'v', sizeof(twice) - 1);
    struct client_request request = {.path = SHOULD_ALLOW,
                                     .body = slice_make("\0\0\0\0\x07\x0a\x01k\x12\x02" "fw", 12),
                                     .more = {"x-long", value}};
    int32_t fits = client_submit(&client, &request);
    request.more[1] = twice;
    int32_t call = client_submit(&client, &request);
    request.path = "/v1/should-allow";
    request.type = "application/json";
    int32_t plain = client_submit(&client, &request);
    client_run(&client);
    cr_expect_eq(client_answer(&client, fits)->code, 0);
    cr_expect_eq(client_answer(&client, call)->code, REQUEST_RESOURCE_EXHAUSTED);
    cr_expect_eq(client_answer(&client, plain)->status, 431);
    cr_expect_eq(client.fixture.answered, 1);
}

/* Frames of the test's own, behind what the client has said so far. */
static void flood(const void *frame, size_t size, unsigned count)
{
    for (unsigned i = 0; i < count && client.result == WIRE_MORE; i++) {
        client_send(&client, frame, size);
    }
}

/* Is a GOAWAY with this error among the latest bytes? */
static bool went_away(uint8_t error)
{
    static const uint8_t goaway[] = {0, 0, 8, NGHTTP2_GOAWAY, 0, 0, 0, 0, 0};
    for (size_t i = 0; i + 17 <= client.last_size; i++) {
        if (memcmp(client.last + i, goaway, sizeof(goaway)) == 0) {
            return client.last[i + 16] == error;
        }
    }
    return false;
}

static void expect_calm(bool calm, const char *what)
{
    cr_expect_eq(client.result, calm ? WIRE_MORE : WIRE_CLOSE, "%s", what);
    cr_expect(calm || went_away(NGHTTP2_ENHANCE_YOUR_CALM), "%s", what);
}

Test(http2, floods_of_frames_that_ask_for_nothing)
{
    static const struct {
        const char *what;
        const char *frame;
        size_t size;
    } floods[] = {
        {"ping", "\0\0\x08\x06\0\0\0\0\0" "12345678", 17},
        {"settings", "\0\0\0\x04\0\0\0\0\0", 9},
        {"window", "\0\0\x04\x08\0\0\0\0\0\0\0\0\x01", 13},
    };
    for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
        client_run(&client);
        flood(floods[i].frame, floods[i].size, LIMITS_HTTP2_CONTROL_FRAMES_MAX / 2);
        expect_calm(true, floods[i].what);
        flood(floods[i].frame, floods[i].size, LIMITS_HTTP2_CONTROL_FRAMES_MAX);
        expect_calm(false, floods[i].what);
        client_deinit(&client);
        client_init(&client);
    }
}

Test(http2, pings_over_hours_are_no_flood)
{
    client_run(&client);
    for (int quarter = 0; quarter < 80; quarter++) {
        flood("\0\0\x08\x06\0\0\0\0\0" "12345678", 17, LIMITS_HTTP2_CONTROL_FRAMES_MAX / 5);
        client.fixture.now_ns += INT64_C(15000000000);
    }
    expect_calm(true, "800 each 15 s");
    cr_expect_eq(ask_json("POST", "/v1/should-allow", slice_text(json))->status, 200);
}

Test(http2, empty_data_is_a_flood_too)
{
    struct client_request request = {.path = SHOULD_ALLOW, .open = true};
    (void)client_submit(&client, &request);
    client_run(&client);
    flood("\0\0\0\0\0\0\0\0\x01", 9, 2 * LIMITS_HTTP2_CONTROL_FRAMES_MAX);
    expect_calm(false, "empty DATA");
}

Test(http2, rapid_resets_end_the_connection)
{
    unsigned resets = 0;
    while (client.result == WIRE_MORE && resets < CLIENT_STREAMS - 1 && client.goaways == 0) {
        struct client_request request = {.path = SHOULD_ALLOW, .open = true};
        int32_t stream = client_submit(&client, &request);
        client_run(&client);
        (void)nghttp2_submit_rst_stream(client.codec, NGHTTP2_FLAG_NONE, stream,
                                        NGHTTP2_CANCEL);
        client_run(&client);
        resets++;
    }
    cr_expect_eq(client.goaways, 1);
    cr_expect_geq(resets, LIMITS_HTTP2_RESETS_MAX);
    cr_expect_leq(resets, LIMITS_HTTP2_RESETS_MAX + 200);
    cr_expect_eq(client.fixture.answered, 0, "what was taken back was not decided");
}

Test(http2, continuation_flood)
{
    client_run(&client);
    /* HEADERS without END_HEADERS, then CONTINUATION without end. */
    client_send(&client, "\0\0\x02\x01\0\0\0\0\x01\x83\x86", 11);
    for (int i = 0; i < 100 && client.result == WIRE_MORE; i++) {
        client_send(&client, "\0\0\x03\x09\0\0\0\0\x01\0\x01x", 12);
    }
    cr_expect_eq(client.result, WIRE_CLOSE);
}

Test(http2, no_more_streams_than_announced)
{
    struct client_request request = {.path = SHOULD_ALLOW, .open = true};
    client_run(&client);
    for (int i = 0; i < LIMITS_HTTP2_STREAMS_MAX + 10; i++) {
        (void)client_submit(&client, &request);
    }
    client_run(&client);
    /* nghttp2's client keeps what is too many back: it has our SETTINGS. */
    cr_expect_eq(client.goaways, 0);
    cr_expect_eq(client.result, WIRE_MORE);
    cr_expect(http2_protocol.is_waiting(client.fixture.session, 0));
    cr_expect_eq(http2_protocol.waiting_since(client.fixture.session), FIXTURE_NOW_NS);
}

Test(http2, bodies_of_one_connection_are_bounded_together)
{
    static uint8_t body[200000] = {0, 0, 3, 0x7f, 0xff}; /* a message that never ends */
    int32_t streams[20];
    for (int i = 0; i < 20; i++) {
        struct client_request request = {
            .path = SHOULD_ALLOW, .body = slice_make(body, sizeof(body)), .open = true};
        streams[i] = client_submit(&client, &request);
    }
    client_run(&client);
    int refused = 0;
    for (int i = 0; i < 20; i++) {
        refused += client_answer(&client, streams[i])->code == REQUEST_RESOURCE_EXHAUSTED;
    }
    /* 20 of 200000 bytes are 1.9 times 2 MiB. */
    cr_expect_geq(refused, 9);
    cr_expect_leq(refused, 11);
    cr_expect_eq(ask_json("POST", "/v1/should-allow", slice_text(json))->status, 200);
}

Test(http2, nothing_is_decided_while_answers_wait_for_the_peer)
{
    /* The peer opens no window for answers; each batch's answer is about 100 KiB. */
    static uint8_t batch[1000 * 24];
    size_t size = 0;
    for (int i = 0; i < 1000; i++) {
        size_t member = client_ask(batch + size + 2, "alice", "all");
        batch[size] = 0x0a;
        batch[size + 1] = (uint8_t)(member + 2);
        batch[size + 2 + member] = 5 << 3; /* details */
        batch[size + 3 + member] = 1;
        size += 4 + member;
    }
    struct buf body;
    buf_init(&body, 0);
    struct client_request request = {.path = "/sluice.v1.RateLimiter/ShouldAllowBatch",
                                     .body = client_message(&body, batch, size)};
    nghttp2_settings_entry closed = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0};
    (void)nghttp2_submit_settings(client.codec, NGHTTP2_FLAG_NONE, &closed, 1);
    client_run(&client);
    int32_t streams[20];
    for (int i = 0; i < 20; i++) {
        streams[i] = client_submit(&client, &request);
        client_run(&client);
    }
    uint64_t decided = client.fixture.answered;
    cr_expect_lt(decided, 5 * 1000, "%lu members were decided", (unsigned long)decided);
    cr_expect_eq(client.result, WIRE_MORE, "no busy loop");
    nghttp2_settings_entry open = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 30};
    (void)nghttp2_submit_settings(client.codec, NGHTTP2_FLAG_NONE, &open, 1);
    (void)nghttp2_session_set_local_window_size(client.codec, NGHTTP2_FLAG_NONE, 0, 1 << 30);
    client_run(&client);
    for (int i = 0; i < 20; i++) {
        cr_expect_eq(client_answer(&client, streams[i])->code, 0);
        cr_expect_gt(client_answer(&client, streams[i])->body.size, 100000);
    }
    cr_expect_eq(client.fixture.answered, 20 * 1000);
    buf_deinit(&body);
}

static void goodbye(void)
{
    struct buf out;
    buf_init(&out, 0);
    cr_expect(!http2_protocol.shutdown(client.fixture.session, &out));
    (void)nghttp2_session_mem_recv(client.codec, out.data, out.size);
    buf_deinit(&out);
}

Test(http2, going_away_fails_no_call)
{
    static const char body[] = "\0\0\0\0\x07\x0a\x01k\x12\x02" "fw";
    struct client_request request = {
        .path = SHOULD_ALLOW, .body = slice_make(body, 6), .open = true};
    int32_t begun = client_submit(&client, &request);
    client_run(&client);
    struct buf notice;
    buf_init(&notice, 0);
    cr_expect(!http2_protocol.shutdown(client.fixture.session, &notice));
    /* A call that was on its way when the notice came. */
    request = (struct client_request){.path = SHOULD_ALLOW, .body = slice_make(body, 12)};
    int32_t crossed = client_submit(&client, &request);
    const uint8_t *bytes;
    ssize_t size;
    struct buf sent;
    buf_init(&sent, 0);
    while ((size = nghttp2_session_mem_send(client.codec, &bytes)) > 0) {
        buf_append(&sent, bytes, (size_t)size);
    }
    (void)nghttp2_session_mem_recv(client.codec, notice.data, notice.size);
    cr_expect_eq(client.goaways, 1, "the notice");
    cr_expect_eq(client.goaway_last, INT32_MAX);
    client_send(&client, sent.data, sent.size);
    cr_expect_eq(client_answer(&client, crossed)->code, 0);
    client_run(&client);
    buf_deinit(&sent);
    buf_deinit(&notice);
    cr_expect_eq(client.goaways, 2, "the PING came back");
    cr_expect_eq(client.goaway_error, NGHTTP2_NO_ERROR);
    cr_expect_eq(client.goaway_last, crossed);
    cr_expect_eq(client.result, WIRE_MORE, "a call is open");
    client_more(&client, begun, slice_make(body + 6, 6), false);
    cr_expect_eq(client_answer(&client, begun)->code, 0);
    cr_expect_eq(client.result, WIRE_CLOSE);
}

Test(http2, an_idle_connection_closes_once_the_notice_is_seen)
{
    cr_expect_eq(ask_json("POST", "/v1/should-allow", slice_text(json))->status, 200);
    goodbye();
    cr_expect_eq(client.result, WIRE_MORE);
    client_run(&client);
    cr_expect_eq(client.result, WIRE_CLOSE);
    cr_expect(went_away(NGHTTP2_NO_ERROR));
}

Test(http2, a_peer_that_answers_no_ping_is_left_once_nothing_is_under_way)
{
    static const char body[] = "\0\0\0\0\x07\x0a\x01k\x12\x02" "fw";
    struct client_request request = {
        .path = SHOULD_ALLOW, .body = slice_make(body, 6), .open = true};
    int32_t stream = client_submit(&client, &request);
    struct buf out;
    buf_init(&out, 0);
    client_run(&client);
    cr_expect(!http2_protocol.shutdown(client.fixture.session, &out));
    cr_expect(!http2_protocol.shutdown(client.fixture.session, &out), "a call is open");
    client_more(&client, stream, slice_make(body + 6, 6), false);
    cr_expect_eq(client_answer(&client, stream)->code, 0);
    buf_clear(&out);
    cr_expect(http2_protocol.shutdown(client.fixture.session, &out));
    cr_expect_eq(out.size, 17);
    cr_expect_eq(out.data[3], NGHTTP2_GOAWAY);
    cr_expect_eq(out.data[12], stream);
    buf_deinit(&out);
}

Test(http2, a_request_that_never_ends_times_out)
{
    struct client_request request = {.path = SHOULD_ALLOW, .open = true};
    int32_t call = client_submit(&client, &request);
    client_run(&client);
    client.fixture.now_ns += 1000;
    request.path = "/v1/should-allow";
    request.type = "application/json";
    int32_t plain = client_submit(&client, &request);
    client_run(&client);
    cr_expect_eq(http2_protocol.waiting_since(client.fixture.session), FIXTURE_NOW_NS);
    struct buf out;
    buf_init(&out, 0);
    http2_protocol.timed_out(client.fixture.session, &client.fixture.worker, &out);
    (void)nghttp2_session_mem_recv(client.codec, out.data, out.size);
    buf_deinit(&out);
    cr_expect_eq(client_answer(&client, call)->code, REQUEST_UNAVAILABLE);
    cr_expect_eq(client_answer(&client, plain)->status, 408);
    cr_expect_eq(client.goaways, 1);
}

Test(http2, what_is_not_http2_is_closed)
{
    struct fixture fixture;
    fixture_init_as(&fixture, &http2_protocol);
    cr_expect_eq(fixture_feed(&fixture, slice_text("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), NULL),
                 WIRE_CLOSE);
    fixture_deinit(&fixture);
    fixture_init_as(&fixture, &http2_protocol);
    cr_expect_eq(fixture_feed(&fixture,
                              slice_make("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\1\xff\xff\0\0\0\0x"
                                         "\0\0\x09\x04\0\0\0\0\0", 43), NULL), WIRE_CLOSE);
    fixture_deinit(&fixture);
}

Test(http2, a_refusal_is_a_goaway)
{
    struct buf out;
    buf_init(&out, 0);
    http2_protocol.refuse(&out);
    nghttp2_session_del(client.codec);
    nghttp2_session_callbacks *callbacks;
    cr_assert_eq(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, client_on_frame);
    cr_assert_eq(nghttp2_session_client_new(&client.codec, callbacks, &client), 0);
    nghttp2_session_callbacks_del(callbacks);
    cr_expect_eq(nghttp2_session_mem_recv(client.codec, out.data, out.size), (ssize_t)out.size);
    cr_expect_eq(client.goaways, 1);
    buf_deinit(&out);
}
