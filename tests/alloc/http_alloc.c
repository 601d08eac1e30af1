/* 10 000 questions over HTTP/1.1 in every form, allowed, refused and wrong, warm: not one call of
 * malloc. */
#include "../wire/native_fixture.h"
#include "wire/http1.h"

/* The C library's own names for them. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *at, size_t size);

static unsigned long calls;

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *at, size_t size)
{
    calls++;
    return __libc_realloc(at, size);
}

enum { ROUNDS = 100, QUESTIONS = 100 };

static void put_post(struct buf *out, const char *target, const char *body)
{
    buf_printf(out,
               "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
               "Content-Length: %zu\r\n\r\n%s",
               target, strlen(body), body);
}

static void put_question(struct buf *out, unsigned number)
{
    char body[160];
    (void)snprintf(body, sizeof(body),
                   "{\"key\":\"key%02u\",\"route\":\"all\",\"details\":%s,"
                   "\"attributes\":{\"ip\":\"192.0.2.%u\",\"name\":\"\\u00e4\"}}",
                   number % 97, number % 3 == 0 ? "true" : "false", number % 256);
    put_post(out, "/v1/should-allow", body);
}

static void write_round(struct buf *out)
{
    for (unsigned i = 0; i < QUESTIONS; i++) {
        put_question(out, i);
    }
    buf_append_text(out, "GET /v1/should-allow?key=a%20b&route=tb HTTP/1.1\r\nHost: x\r\n\r\n");
    buf_append_text(out, "GET /v1/auth HTTP/1.1\r\nHost: x\r\nX-Sluice-Key: a\r\n"
                         "X-Forwarded-Method: POST\r\nX-Forwarded-Uri: /login?x\r\n\r\n");
    buf_append_text(out, "POST /v1/should-allow HTTP/1.1\r\nHost: x\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n"
                         "17\r\n{\"key\":\"a\",\"route\":\"tb\"\r\n1\r\n}\r\n0\r\n\r\n");
    put_post(out, "/v1/should-allow-batch",
             "{\"requests\":[{\"key\":\"a\",\"route\":\"tb\"},{\"key\":\"\"}]}");
    put_post(out, "/v1/should-allow", "{\"key\":\"\",\"route\":\"tb\"}");
    put_post(out, "/nowhere", "");
}

int main(void)
{
    struct fixture fixture;
    struct buf round;
    unsigned long before = 0;
    buf_init(&round, 0);
    write_round(&round);
    fixture_init_as(&fixture, &http1_protocol);
    for (int i = 0; i < ROUNDS + 2; i++) {
        if (i == 2) {
            before = calls;
        }
        fixture_require(fixture_feed(&fixture, buf_slice(&round), NULL) == WIRE_MORE, "feed");
    }
    unsigned long warm = calls - before;
    uint64_t answered = fixture.answered;
    fixture_deinit(&fixture);
    buf_deinit(&round);
    (void)printf("%llu answers, %lu allocations once warm\n", (unsigned long long)answered, warm);
    return warm == 0 && answered == (uint64_t)(ROUNDS + 2) * (QUESTIONS + 4) ? 0 : 1;
}
