/* Framing of HTTP/1.x: where requests end, and what is refused so that nobody can differ on it. */
#include "http_script.h"

#define ASK "{\"key\":\"a\",\"route\":\"big\"}"
#define ASK_LENGTH "Content-Length: 25\r\n"
#define POST HEAD("POST /v1/should-allow HTTP/1.1")
#define QUESTION GET("/v1/should-allow?key=a&route=big")

Test(http1, an_answer_byte_for_byte)
{
    struct http http;
    http_init(&http);
    const char *answer = http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"tb\"}");
    cr_expect_str_eq(answer, "HTTP/1.1 200 OK\r\n"
                             "content-type: application/json\r\n"
                             "cache-control: no-store\r\n"
                             "ratelimit-policy: \"tb\";q=5;w=10\r\n"
                             "ratelimit: \"tb\";r=4;t=2\r\n"
                             "date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
                             "content-length: 103\r\n"
                             "\r\n"
                             "{\"allowed\":true,\"limit\":5,\"remaining\":4,"
                             "\"reset_after_ms\":2000,\"limit_name\":\"tb\","
                             "\"reason\":\"UNDER_LIMIT\"}");
    cr_expect_eq(http.result, WIRE_MORE);
    http_deinit(&http);
}

/* What must be refused, each with the status and the end of the connection. The second request
 * behind it, which a lenient reader would see, must not be answered. */
static const struct refused {
    const char *what;
    const char *text;
    int status;
} refused[] = {
    {"two lengths", POST ASK_LENGTH "Content-Length: 5\r\n\r\n" ASK, 400},
    {"two equal lengths", POST ASK_LENGTH ASK_LENGTH "\r\n" ASK, 400},
    {"a list of lengths", POST "Content-Length: 25, 25\r\n\r\n" ASK, 400},
    {"length and chunked", POST ASK_LENGTH "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"chunked and length", POST "Transfer-Encoding: chunked\r\n" ASK_LENGTH "\r\n0\r\n\r\n", 400},
    {"a plus in the length", POST "Content-Length: +5\r\n\r\nabcde", 400},
    {"a minus in the length", POST "Content-Length: -5\r\n\r\nabcde", 400},
    {"a hexadecimal length", POST "Content-Length: 0x5\r\n\r\nabcde", 400},
    {"blanks in the length", POST "Content-Length: 2 5\r\n\r\n" ASK, 400},
    {"an empty length", POST "Content-Length:\r\n\r\n", 400},
    {"a length of 2^64 + 5", POST "Content-Length: 18446744073709551621\r\n\r\nabcde", 413},
    {"a folded field", POST "X: a\r\n b\r\n" ASK_LENGTH "\r\n" ASK, 400},
    {"a field folded by a tab", POST "X: a\r\n\tb\r\n" ASK_LENGTH "\r\n" ASK, 400},
    {"a blank before the colon", POST "Content-Length : 25\r\n\r\n" ASK, 400},
    {"a tab before the colon", POST "Content-Length\t: 25\r\n\r\n" ASK, 400},
    {"a field without a colon", POST "X\r\n\r\n", 400},
    {"a field without a name", POST ": x\r\n\r\n", 400},
    {"a bare CR in a value", POST "X: a\rTransfer-Encoding: chunked\r\n" ASK_LENGTH "\r\n" ASK,
     400},
    {"a bare CR at a line's end", POST "X: a\r\r\n\r\n", 400},
    {"a bare LF", "GET /v1/should-allow?key=a&route=big HTTP/1.1\nHost: x\n\n", 400},
    {"a bare LF after a field", HEAD("GET / HTTP/1.1") "X: y\n\r\n", 400},
    {"a bare LF for the empty line", HEAD("GET / HTTP/1.1") "\n", 400},
    {"a control byte", POST "X: a\x01"
                            "b\r\n\r\n",
     400},
    {"a DEL", POST "X: a\x7f\r\n\r\n", 400},
    {"no Host", "GET /v1/should-allow?key=a&route=big HTTP/1.1\r\n\r\n", 400},
    {"two Hosts", HEAD("GET / HTTP/1.1") "Host: y\r\n\r\n", 400},
    {"two equal Hosts", HEAD("GET / HTTP/1.1") "host: x\r\n\r\n", 400},
    {"a Host with a blank", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
    {"a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
    {"gzip", POST "Transfer-Encoding: gzip\r\n\r\n", 501},
    {"gzip, chunked", POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
    {"chunked, chunked", POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 501},
    {"chunked twice", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
                           "0\r\n\r\n",
     400},
    {"xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
    {"chunked, identity in HTTP/1.0",
     "POST /v1/should-allow HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {"a chunk size with a blank", POST "Transfer-Encoding: chunked\r\n\r\n5 \r\nabcde\r\n0\r\n\r\n",
     400},
    {"a chunk size 0x5", POST "Transfer-Encoding: chunked\r\n\r\n0x5\r\nabcde\r\n0\r\n\r\n", 400},
    {"a chunk size -1", POST "Transfer-Encoding: chunked\r\n\r\n-1\r\nabcde\r\n0\r\n\r\n", 400},
    {"no chunk size", POST "Transfer-Encoding: chunked\r\n\r\n\r\nabcde\r\n0\r\n\r\n", 400},
    {"a chunk size of nine digits",
     POST "Transfer-Encoding: chunked\r\n\r\n100000005\r\nabcde\r\n0\r\n\r\n", 400},
    {"a chunk's line ended by LF", POST "Transfer-Encoding: chunked\r\n\r\n5\nabcde\r\n0\r\n\r\n",
     400},
    {"a chunk's data ended by LF", POST "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\n0\r\n\r\n",
     400},
    {"a chunk longer than it says", POST "Transfer-Encoding: chunked\r\n\r\n4\r\nabcde\r\n", 400},
    {"a bare CR in a chunk's extension",
     POST "Transfer-Encoding: chunked\r\n\r\n5;a\rb\r\nabcde\r\n0\r\n\r\n", 400},
    {"a trailer that is none", POST "Transfer-Encoding: chunked\r\n\r\n0\r\nX : y\r\n\r\n", 400},
    {"a body longer than is taken", POST "Content-Length: 65537\r\n\r\n", 413},
    {"a chunk longer than is taken", POST "Transfer-Encoding: chunked\r\n\r\n10001\r\n", 413},
    {"another expectation", POST "Expect: 200-ok\r\n" ASK_LENGTH "\r\n" ASK, 417},
    {"HTTP/3.0", HEAD("GET / HTTP/3.0") "\r\n", 505},
    {"HTTP/2.0", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
    {"HTTP/1.2", HEAD("GET / HTTP/1.2") "\r\n", 505},
    {"HTTP/1", HEAD("GET / HTTP/1") "\r\n", 400},
    {"http/1.1", HEAD("GET / http/1.1") "\r\n", 400},
    {"HTTP/1.1 with a blank behind", HEAD("GET / HTTP/1.1 ") "\r\n", 400},
    {"HTTP/0.9", "GET /\r\n", 400},
    {"two blanks", HEAD("GET  / HTTP/1.1") "\r\n", 400},
    {"a tab for a blank", HEAD("GET\t/ HTTP/1.1") "\r\n", 400},
    {"no slash", HEAD("GET v1/auth HTTP/1.1") "\r\n", 400},
    {"a byte above ASCII in the target", HEAD("GET /\xff HTTP/1.1") "\r\n", 400},
    {"a target with an authority alone", HEAD("CONNECT x:443 HTTP/1.1") "\r\n", 400},
    {"the Redis protocol", "*1\r\n$4\r\nPING\r\n", 400},
    {"TLS", "\x16\x03\x01\x02", 400},
    {"two empty lines", "\r\n\r\n" QUESTION, 400},
};

Test(http1, what_is_ambiguous_is_refused_and_the_connection_ends)
{
    struct http http;
    struct buf text;
    http_init(&http);
    buf_init(&text, 0);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        buf_clear(&text);
        buf_append_text(&text, refused[i].text);
        buf_append_text(&text, QUESTION);
        buf_append_byte(&text, 0);
        const char *answer = http_say(&http, (const char *)text.data + text.start);
        cr_expect_eq(http_status(answer), refused[i].status, "%s: %s", refused[i].what, answer);
        cr_expect_eq(http.result, WIRE_CLOSE, "%s", refused[i].what);
        cr_expect_eq(http_count(answer, "content-length: "), 1, "%s: %s", refused[i].what, answer);
        expect_has(answer, "connection: close\r\n");
        expect_has(answer, "application/problem+json");
    }
    cr_expect_eq(http.fixture.answered, 0);
    buf_deinit(&text);
    http_deinit(&http);
}

Test(http1, a_NUL_ends_nothing)
{
    static const char field[] = POST "X: a\0b\r\n\r\n";
    static const char name[] = POST "X\0: b\r\n\r\n";
    static const char target[] = "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n";
    struct http http;
    http_init(&http);
    expect_status(http_send(&http, field, sizeof(field) - 1), 400);
    (void)http_say(&http, "");
    expect_status(http_send(&http, name, sizeof(name) - 1), 400);
    (void)http_say(&http, "");
    expect_status(http_send(&http, target, sizeof(target) - 1), 400);
    http_deinit(&http);
}

/* Requests that are in order, if unusual; each is answered and the next is, too. */
static const struct taken {
    const char *what;
    const char *text;
} taken[] = {
    {"a chunked body", POST "Transfer-Encoding: chunked\r\n\r\n"
                            "11\r\n{\"key\":\"ch\",\"rout\r\n9\r\ne\":\"big\"}\r\n0\r\n\r\n"},
    {"a chunk size with zeros and extensions",
     POST "Transfer-Encoding: Chunked\r\n\r\n"
          "0000019;name=value;other=\"quoted\"\r\n" ASK "\r\n0\r\n\r\n"},
    {"trailers", POST "Transfer-Encoding: chunked\r\n\r\n19\r\n" ASK "\r\n0\r\nX: y\r\nZ:\r\n\r\n"},
    {"a field of bytes above ASCII", POST "X: \xc3\xa4\xff\r\n" ASK_LENGTH "\r\n" ASK},
    {"blanks around values", POST "Content-Length: \t 25 \t \r\n\r\n" ASK},
    {"no blank after the colon", POST "Content-Length:25\r\n\r\n" ASK},
    {"names in any case", POST "cOnTeNt-LeNgTh: 25\r\n\r\n" ASK},
    {"one empty line in front", "\r\n" QUESTION},
    {"an absolute target",
     HEAD("GET http://sluice.test:80/v1/should-allow?key=a&route=big HTTP/1.1") "\r\n"},
    {"a Host with a port", "GET /v1/should-allow?key=a&route=big HTTP/1.1\r\nHost: [::1]:80\r\n"
                           "\r\n"},
    {"an empty Host", "GET /v1/should-allow?key=a&route=big HTTP/1.1\r\nHost:\r\n\r\n"},
    {"a GET with an empty body",
     HEAD("GET /v1/should-allow?key=a&route=big HTTP/1.1") "Content-Length: 0\r\n\r\n"},
    {"an expectation whose body is there", POST "Expect: 100-continue\r\n" ASK_LENGTH "\r\n" ASK},
    {"HTTP/1.0 that stays", "GET /v1/should-allow?key=a&route=big HTTP/1.0\r\n"
                            "Connection: foo, Keep-Alive\r\n\r\n"},
};

Test(http1, what_is_unusual_and_clear_is_taken)
{
    struct http http;
    struct buf text;
    http_init(&http);
    buf_init(&text, 0);
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        buf_clear(&text);
        buf_append_text(&text, taken[i].text);
        buf_append_text(&text, QUESTION);
        buf_append_byte(&text, 0);
        const char *answer = http_say(&http, (const char *)text.data + text.start);
        cr_expect_eq(http_count(answer, "HTTP/1.1 200 OK"), 2, "%s: %s", taken[i].what, answer);
        cr_expect_eq(http.result, WIRE_MORE, "%s", taken[i].what);
    }
    buf_deinit(&text);
    http_deinit(&http);
}

/* Feeds `text` in pieces of `step` bytes to a connection of a fresh engine. */
static void replay(const char *text, size_t step, struct buf *out, enum wire_result *result)
{
    struct http http;
    http_init(&http);
    buf_clear(out);
    *result = WIRE_MORE;
    for (size_t at = 0, size = strlen(text); at < size && *result == WIRE_MORE; at += step) {
        size_t left = size - at;
        struct slice piece = slice_make(text + at, left < step ? left : step);
        *result = fixture_feed(&http.fixture, piece, out);
    }
    http_deinit(&http);
}

static void replay_in_pieces(const char *what, const char *text)
{
    struct buf whole;
    struct buf split;
    enum wire_result at_once;
    enum wire_result in_pieces;
    buf_init(&whole, 0);
    buf_init(&split, 0);
    replay(text, strlen(text), &whole, &at_once);
    for (size_t step = 1; step < 40; step += step < 4 ? 1 : 17) {
        replay(text, step, &split, &in_pieces);
        cr_expect(slice_equal(buf_slice(&whole), buf_slice(&split)), "%s by %zu: %.*s", what, step,
                  (int)split.size, (const char *)split.data);
        cr_expect_eq(at_once, in_pieces, "%s by %zu", what, step);
    }
    buf_deinit(&whole);
    buf_deinit(&split);
}

Test(http1, pieces_of_any_size_are_answered_alike)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        replay_in_pieces(refused[i].what, refused[i].text);
    }
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        if (strstr(taken[i].text, "100-continue") == NULL) {
            replay_in_pieces(taken[i].what, taken[i].text);
        }
    }
}

Test(http1, an_expecting_peer_is_told_once_to_go_on)
{
    static const char head[] = POST "Expect: 100-continue\r\n" ASK_LENGTH "\r\n";
    struct http http;
    http_init(&http);
    cr_expect_str_eq(http_say(&http, head), "HTTP/1.1 100 Continue\r\n\r\n");
    cr_expect_str_eq(http_send(&http, ASK, 10), "");
    expect_status(http_send(&http, &ASK[10], sizeof(ASK) - 11), 200);
    cr_expect_str_eq(http_send(&http, head, sizeof(head) - 1), "HTTP/1.1 100 Continue\r\n\r\n",
                     "the next one is told again");
    expect_status(http_say(&http, POST "Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n"),
                  413);
    http_deinit(&http);
}

Test(http1, connections_end_when_either_side_says_so)
{
    struct http http;
    http_init(&http);
    const char *answer = http_say(
        &http, HEAD("GET /v1/should-allow?key=a&route=big HTTP/1.1") "Connection: x,close\r\n\r\n");
    expect_status(answer, 200);
    expect_has(answer, "connection: close\r\n");
    cr_expect_eq(http.result, WIRE_CLOSE);
    answer = http_say(&http, "GET /v1/should-allow?key=a&route=big HTTP/1.0\r\n\r\n");
    expect_status(answer, 200);
    cr_expect_eq(http.result, WIRE_CLOSE);
    answer = http_say(&http, "GET /v1/should-allow?key=a&route=big HTTP/1.0\r\n"
                             "Connection: keep-alive\r\n\r\n");
    expect_has(answer, "connection: keep-alive\r\n");
    cr_expect_eq(http.result, WIRE_MORE);
    http_deinit(&http);
}

Test(http1, HEAD_is_a_GET_without_its_body)
{
    struct http http;
    http_init(&http);
    const char *answer =
        http_say(&http, HEAD("HEAD /v1/should-allow?key=a&route=tb HTTP/1.1") "\r\n");
    expect_status(answer, 200);
    expect_has(answer, "content-length: 103\r\n");
    cr_expect_str_eq(http_body(answer), "");
    answer = http_say(&http, HEAD("HEAD /nowhere HTTP/1.1") "\r\n");
    expect_status(answer, 404);
    cr_expect_str_eq(http_body(answer), "");
    http_deinit(&http);
}

Test(http1, a_long_head_is_refused)
{
    struct http http;
    struct buf text;
    http_init(&http);
    buf_init(&text, 0);
    buf_append_text(&text, HEAD("GET /v1/should-allow?key=a&route=big HTTP/1.1") "X: ");
    while (text.size < 8192 - 4) {
        buf_append_byte(&text, 'a');
    }
    buf_append_text(&text, "\r\n\r\n");
    expect_status(http_send(&http, text.data, text.size), 200);
    (void)http_say(&http, "");
    buf_clear(&text);
    buf_append_text(&text, "GET /");
    while (text.size < 8192) {
        buf_append_byte(&text, 'a');
    }
    expect_status(http_send(&http, text.data, text.size), 431);
    cr_expect_eq(http.result, WIRE_CLOSE);
    buf_clear(&text);
    buf_append_text(&text, HEAD("GET /v1/should-allow?key=a&route=big HTTP/1.1"));
    for (int i = 0; i < 64; i++) {
        buf_append_text(&text, "a: b\r\n");
    }
    buf_append_text(&text, "\r\n");
    (void)http_say(&http, "");
    expect_status(http_send(&http, text.data, text.size), 431);
    buf_deinit(&text);
    http_deinit(&http);
}

/* A batch may be longer than a question, however it is framed. */
Test(http1, bodies_have_their_endpoint_s_bound)
{
    struct http http;
    struct buf body;
    struct buf text;
    http_init(&http);
    buf_init(&body, 0);
    buf_init(&text, 0);
    buf_append_text(&body, "{\"requests\":[{\"key\":\"a\",\"route\":\"big\"}]}");
    while (body.size < 256 * 1024) {
        buf_append_byte(&body, ' ');
    }
    buf_append_byte(&body, 0);
    expect_status(http_post(&http, "/v1/should-allow-batch", (const char *)body.data), 200);
    expect_status(http_post(&http, "/v1/should-allow", (const char *)body.data), 413);
    buf_append_text(&text, HEAD("POST /v1/should-allow-batch HTTP/1.1")
                               "Transfer-Encoding: chunked\r\n\r\n");
    for (size_t at = 0; at < 64 * 1024; at += 8) {
        buf_printf(&text, "8\r\n%.8s\r\n", (const char *)body.data + at);
    }
    buf_append_text(&text, "0\r\n\r\n");
    (void)http_say(&http, "");
    expect_status(http_send(&http, text.data, text.size), 200);
    /* Framing alone must not grow without end: a byte a chunk, with extensions. */
    buf_clear(&text);
    buf_append_text(&text, HEAD("POST /v1/should-allow-batch HTTP/1.1")
                               "Transfer-Encoding: chunked\r\n\r\n");
    while (text.size < http1_protocol.input_bytes_max + 64 * 1024) {
        buf_append_text(&text, "1;extensionextensionextension\r\n \r\n");
    }
    (void)http_say(&http, "");
    expect_status(http_send(&http, text.data, text.size), 413);
    buf_deinit(&text);
    buf_deinit(&body);
    http_deinit(&http);
}

Test(http1, output_is_bounded_however_much_is_asked)
{
    struct http http;
    struct buf text;
    size_t most = 0;
    size_t rounds = 0;
    http_init(&http);
    buf_init(&text, 0);
    for (int i = 0; i < 4000; i++) {
        buf_append_text(&text, QUESTION);
    }
    struct slice rest = buf_slice(&text);
    enum wire_result result = WIRE_FULL;
    while (result == WIRE_FULL) {
        size_t used = 0;
        result = http1_protocol.feed(http.fixture.session, &http.fixture.worker, rest, &used,
                                     FIXTURE_NOW_NS, &http.fixture.out, &http.fixture.answered);
        most = http.fixture.out.size > most ? http.fixture.out.size : most;
        buf_clear(&http.fixture.out);
        rest = slice_make(rest.data + used, rest.size - used);
        rounds++;
    }
    cr_expect_eq(http.fixture.answered, 4000);
    cr_expect_eq(rest.size, 0);
    cr_expect_gt(rounds, 3);
    cr_expect_lt(most, WIRE_OUT_HIGH_BYTES + 4096);
    buf_deinit(&text);
    http_deinit(&http);
}

Test(http1, what_is_not_finished_is_told_so)
{
    struct http http;
    struct buf *out;
    http_init(&http);
    out = &http.fixture.out;
    (void)http_say(&http, "GET / HTTP/1.1\r\nHo");
    cr_expect(http1_protocol.is_waiting(http.fixture.session, http.fixture.in.size));
    http1_protocol.timed_out(http.fixture.session, &http.fixture.worker, out);
    buf_append_byte(out, 0);
    expect_status((const char *)out->data, 408);
    expect_has((const char *)out->data, "connection: close\r\n");

    (void)http_say(&http, "GET / HTTP/1.1\r\nHo");
    buf_clear(out);
    cr_expect(http1_protocol.shutdown(http.fixture.session, out));
    buf_append_byte(out, 0);
    expect_status((const char *)out->data, 503);

    (void)http_say(&http, QUESTION);
    buf_clear(out);
    cr_expect(http1_protocol.shutdown(http.fixture.session, out));
    cr_expect_eq(out->size, 0, "an idle connection just ends");

    http1_protocol.refuse(out);
    buf_append_byte(out, 0);
    const char *answer = (const char *)out->data + out->start;
    expect_status(answer, 503);
    const char *length = strstr(answer, "content-length: ");
    cr_assert_not_null(length);
    cr_expect_eq(strlen(http_body(answer)), (size_t)atoi(length + 16));
    http_deinit(&http);
}
