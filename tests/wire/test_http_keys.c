/* Odd keys over HTTP: each has a counter of its own, whichever way it is sent. */
#include "http_script.h"

#define FULL ",\"route\":\"fw\",\"cost\":3}"

/* As JSON has them, and the same bytes in a query. */
static const struct key {
    const char *json;
    const char *query;
} keys[] = {
    {"a", "a"},
    {"a ", "a%20"},
    {" a", "%20a"},
    {"A", "A"},
    {"a\\t", "a%09"},
    {"a\\r\\n", "a%0d%0A"},
    {"a\\u0000", "a%00"},
    {"\\u0000", "%00"},
    {"\xc3\xa9", "%C3%A9"},
    {"e\\u0301", "e%CC%81"},
    {"\\ud83d\\ude00", "%f0%9f%98%80"},
    {"\\u200f", "%e2%80%8f"},
    {"\\u200b", "%e2%80%8b"},
    {"unlimited", "unlimited"},
    {"null", "null"},
    {"undefined", "undefined"},
    {"-", "-"},
    {"*", "*"},
    {"+", "+"},
    {"%", "%25"},
    {"a&b=c", "a%26b%3Dc"},
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

Test(http_keys, no_key_affects_another)
{
    struct http http;
    char text[256];
    http_init(&http);
    for (size_t i = 0; i < KEYS; i++) {
        (void)snprintf(text, sizeof(text), "{\"key\":\"%s\"" FULL, keys[i].json);
        cr_expect_eq(http_status(http_post(&http, "/v1/should-allow", text)), 200, "%s", text);
    }
    for (size_t i = 0; i < KEYS; i++) {
        (void)snprintf(text, sizeof(text),
                       "GET /v1/should-allow?route=fw&key=%s HTTP/1.1\r\nHost: x\r\n\r\n",
                       keys[i].query);
        cr_expect_eq(http_status(http_say(&http, text)), 429, "%s", text);
    }
    cr_expect_eq(http.fixture.answered, 2 * KEYS);
    http_deinit(&http);
}

/* A field's value is what stands between its blanks, byte for byte. */
Test(http_keys, fields_carry_bytes)
{
    static const char *const values[] = {"a", "A", "a%20", "\xc3\xa9", "e\xcc\x81", "\xff\xfe",
                                         "null", "a b", "\"a\"", "a,b"};
    struct http http;
    char text[256];
    http_init(&http);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            (void)snprintf(text, sizeof(text),
                           "GET /v1/auth?route=fw&cost=3 HTTP/1.1\r\nHost: x\r\n"
                           "X-Sluice-Key: \t%s  \r\n\r\n",
                           values[i]);
            cr_expect_eq(http_status(http_say(&http, text)), round == 0 ? 200 : 429, "%s", text);
        }
    }
    http_deinit(&http);
}

/* A key as long as it may be, and its twin that differs in the last byte; one longer is refused. */
Test(http_keys, length_is_bounded_and_never_cut)
{
    struct http http;
    char key[1026];
    char text[1200];
    http_init(&http);
    memset(key, 'k', sizeof(key));
    for (int size = 1024; size <= 1025; size++) {
        for (int last = 'a'; last <= 'b'; last++) {
            key[size - 1] = (char)last;
            key[size] = '\0';
            (void)snprintf(text, sizeof(text), "{\"key\":\"%s\"" FULL, key);
            const char *answer = http_post(&http, "/v1/should-allow", text);
            expect_status(answer, size == 1024 ? 200 : 400);
            cr_expect(size == 1024 || strstr(answer, "\"field\":\"key\"") != NULL);
            cr_expect_eq(http.result, WIRE_MORE);
        }
    }
    http_deinit(&http);
}

Test(http_keys, what_is_no_text_is_refused_without_an_echo)
{
    struct http http;
    http_init(&http);
    const char *answer = http_post(&http, "/v1/should-allow", "{\"key\":\"\xff\xfe\"" FULL);
    expect_status(answer, 400);
    expect_has(answer, "\"detail\":\"key is not valid UTF-8\",\"field\":\"key\"");
    answer = http_post(&http, "/v1/should-allow",
                       "{\"key\":\"a\",\"route\":\"fw\",\"attributes\":{\"\xff\":\"b\"}}");
    expect_status(answer, 400);
    expect_lacks(answer, "\xff");
    answer = http_post(&http, "/v1/should-allow", "{\"a\\r\\nx: y\":1}");
    expect_status(answer, 400);
    expect_has(answer, "\"field\":\"a\\u000d\\u000ax: y\"");
    http_deinit(&http);
}

/* Limit, remaining and reset stand on refusals too, in the unit that their field has. */
Test(http_keys, resets_are_delays_in_their_field_s_unit)
{
    struct http http;
    http_init(&http);
    http.fixture.config.x_ratelimit_headers = true;
    http.fixture.now_ns = FIXTURE_NOW_NS + INT64_C(20000000000);
    const char *answer = http_post(&http, "/v1/should-allow", "{\"key\":\"a\"" FULL);
    expect_has(answer, "\"fw\";r=0;t=40\r\n");
    expect_has(answer, "\"reset_after_ms\":40000,");
    http.fixture.now_ns += INT64_C(2999000000);
    answer = http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"fw\"}");
    expect_status(answer, 429);
    expect_has(answer, "\r\nretry-after: 38\r\n");
    expect_has(answer, "\"fw\";r=0;t=38\r\n");
    expect_has(answer, "\r\nx-ratelimit-limit: 3\r\n");
    expect_has(answer, "\r\nx-ratelimit-remaining: 0\r\n");
    expect_has(answer, "\r\nx-ratelimit-reset: 38\r\n");
    expect_has(answer, "\"retry_after_ms\":37001,\"reset_after_ms\":37001,");
    http.fixture.now_ns = FIXTURE_NOW_NS + INT64_C(59999999999);
    answer = http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"fw\"}");
    expect_has(answer, "\r\nretry-after: 1\r\n");
    expect_has(answer, "\"retry_after_ms\":1,");
    http_deinit(&http);
}
