/* HTTP/1.1 over an engine, without sockets: requests in, answers out, as text. */
#ifndef TESTS_WIRE_HTTP_SCRIPT_H
#define TESTS_WIRE_HTTP_SCRIPT_H

#include "native_fixture.h"
#include "wire/http1.h"

#include <criterion/criterion.h>

#define HEAD(line) line "\r\nHost: x\r\n"
#define GET(target) HEAD("GET " target " HTTP/1.1") "\r\n"

struct http {
    struct fixture fixture;
    struct buf out; /* what was answered, ended by a NUL after each http_say */
    enum wire_result result;
};

static inline void http_init(struct http *http)
{
    fixture_init_as(&http->fixture, &http1_protocol);
    buf_init(&http->out, 0);
}

static inline void http_deinit(struct http *http)
{
    buf_deinit(&http->out);
    fixture_deinit(&http->fixture);
}

/* Sends bytes on the connection at hand; the answers so far. */
static inline const char *http_send(struct http *http, const void *bytes, size_t size)
{
    buf_clear(&http->out);
    http->result = fixture_feed(&http->fixture, slice_make(bytes, size), &http->out);
    buf_append_byte(&http->out, 0);
    return (const char *)http->out.data + http->out.start;
}

/* The answer to a text on a connection of its own. */
static inline const char *http_say(struct http *http, const char *text)
{
    fixture_close(&http->fixture);
    fixture_open(&http->fixture);
    return http_send(http, text, strlen(text));
}

static inline void http_put_post(struct buf *out, const char *target, const char *fields,
                                 const char *body)
{
    buf_printf(out, "POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n\r\n%s", target,
               fields, strlen(body), body);
}

static inline const char *http_post_with(struct http *http, const char *target, const char *fields,
                                         const char *body)
{
    struct buf text;
    buf_init(&text, 0);
    http_put_post(&text, target, fields, body);
    buf_append_byte(&text, 0);
    const char *answer = http_say(http, (const char *)text.data + text.start);
    buf_deinit(&text);
    return answer;
}

static inline const char *http_post(struct http *http, const char *target, const char *body)
{
    return http_post_with(http, target, "Content-Type: application/json\r\n", body);
}

static inline int http_status(const char *answer)
{
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : 0;
}

static inline const char *http_body(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    return end == NULL ? "" : end + 4;
}

static inline unsigned http_count(const char *text, const char *what)
{
    unsigned count = 0;
    for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what)) {
        count++;
    }
    return count;
}

#define expect_status(answer, status) \
    cr_expect_eq(http_status(answer), status, "%d was expected: %s", status, answer)
#define expect_has(answer, text) \
    cr_expect_not_null(strstr(answer, text), "%s was expected: %s", text, answer)
#define expect_lacks(answer, text) \
    cr_expect_null(strstr(answer, text), "%s was not expected: %s", text, answer)

#endif
