/* Envoy's rate limit service: the messages byte for byte, over gRPC and as JSON. */
#include "http_script.h"

#include "wire/envoy_wire.h"

#define METHOD "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"

static struct http http;

static void setup(void)
{
    http_init(&http);
    http.fixture.now_ns = FIXTURE_NOW_NS + INT64_C(27000000000);
}

static void teardown(void)
{
    http_deinit(&http);
}

TestSuite(envoy, .init = setup, .fini = teardown);

static size_t unhex(const char *hex, uint8_t *out)
{
    size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        cr_assert_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (uint8_t)byte;
    }
    return size;
}

/* The answer's message in hex, or "<code> <field>: <sentence>". Static. */
static const char *call(const char *hex)
{
    static char said[4096];
    struct fixture *fixture = &http.fixture;
    uint8_t message[2048];
    struct request_error error = {0};
    struct buf out;
    buf_init(&out, 0);
    arena_reset(&fixture->arena);
    engine_enter(fixture->worker.engine);
    struct grpc_call grpc = {.worker = &fixture->worker,
                             .peer = &fixture->peer,
                             .now_ns = fixture->now_ns,
                             .message = slice_make(message, unhex(hex, message)),
                             .out = &out,
                             .answered = &fixture->answered,
                             .error = &error};
    const struct grpc_method *method = grpc_find(slice_text(METHOD));
    cr_assert_not_null(method);
    enum request_code code = grpc_answer(method, &grpc);
    if (code != REQUEST_OK) {
        cr_expect_eq(out.size, 0);
        (void)snprintf(said, sizeof(said), "%d %s: %s", code, error.field, error.message);
    } else {
        for (size_t i = LIMITS_GRPC_PREFIX_BYTES; i < out.size; i++) {
            (void)sprintf(said + 2 * (i - LIMITS_GRPC_PREFIX_BYTES), "%02x",
                          buf_slice(&out).data[i]);
        }
    }
    engine_leave(fixture->worker.engine);
    buf_deinit(&out);
    return said;
}

#define EXPECT_CALL(hex, expected)                                                                \
    do {                                                                                          \
        const char *said_ = call(hex);                                                            \
        cr_expect_str_eq(said_, expected, "%s; expected %s", said_, expected);                    \
    } while (0)

#define FOO_BAR "0a02726c120c0a0a0a03666f6f1203626172"
#define FOO_BAR_LOOK "0a02726c120e0a0a0a03666f6f12036261721a00"

/* What envoyproxy/ratelimit itself was seen to send and answer. */
Test(envoy, golden_bytes)
{
    EXPECT_CALL(FOO_BAR, "0801120e0801120408021002180122020821");
    EXPECT_CALL(FOO_BAR_LOOK, "0801120e0801120408021002180122020821");
    EXPECT_CALL(FOO_BAR, "0801120c080112040802100222020821");
    EXPECT_CALL(FOO_BAR, "0802120c080212040802100222020821");
    EXPECT_CALL("0a02726c120a0a080a016e1203626172", "080112020801");
    EXPECT_CALL("0a02726c120c0a0a0a03666f6f1203766970", "08011208080118ffffffff0f");
    EXPECT_CALL("0a02726c12180a0a0a03666f6f1203626172"
                "1204082a10031a02080520011807",
                "0801120f08011204082a1003182a220308f51b");
    cr_expect_eq(http.fixture.answered, 7);
}

/* named=x is limited by a rule with a name; two descriptors have two statuses, in order. */
Test(envoy, names_and_several_statuses)
{
    EXPECT_CALL("0a02726c120c0a0a0a056e616d6564120178",
                "080112140801120908091003"
                "1a036ec3a9" "1808" "220308f51b");
    EXPECT_CALL("0a02726c" "12080a060a016e120178" "120c0a0a0a03666f6f1203626172" "1802",
                "0801" "12020801" "120c080112040802100222020821");
}

Test(envoy, what_proto3_allows)
{
    /* unknown fields, fields in another order, a domain twice (the last one counts), and the halves
     * of a descriptor's limit apart */
    EXPECT_CALL("1801" "7a0168" "120c0a0a0a03666f6f1203626172" "0a0178" "0a02726c",
                "0801120e0801120408021002180122020821");
    EXPECT_CALL("0a02726c" "1210" "0a060a0171120178" "1202082a" "12021003",
                "0801120f08011204082a10031829220308f51b");
}

Test(envoy, messages_that_are_none)
{
    EXPECT_CALL("0affff", "3 : the message is no RateLimitRequest");
    EXPECT_CALL("0a02726c12040a0a0a03",
                "3 : the message is no RateLimitRequest");
    EXPECT_CALL("0a01ff120c0a0a0a03666f6f1203626172", "3 : the message is no RateLimitRequest");
    EXPECT_CALL("0a02726c12080a060a01ff120178", "3 : the message is no RateLimitRequest");
    EXPECT_CALL("", "3 domain: rate limit domain must not be empty");
    EXPECT_CALL("0a02726c", "3 descriptors: rate limit descriptor list must not be empty");
    EXPECT_CALL("0a02726c1200", "3 descriptors[0].entries: a descriptor needs at least one entry");
    EXPECT_CALL("0a02726c" "120e" "0a060a0171120178" "1204" "08011000",
                "3 descriptors[0].limit.unit: an unknown unit; expected SECOND, MINUTE, HOUR, DAY, "
                "WEEK, MONTH or YEAR");
    EXPECT_CALL("0a02726c" "1212" "0a060a0171120178" "1208" "080110031a020802",
                "3 descriptors[0].limit.unit_multiplier: only a single unit can be asked for");
    cr_expect_eq(http.fixture.answered, 0);
}

/* --allow-changes is not about them: the gateway's operator has configured them. */
Test(envoy, negative_hits_need_no_leave)
{
    http.fixture.peer.local = false;
    http.fixture.config.allow_changes = WIRE_CHANGES_NONE;
    EXPECT_CALL("0a02726c120c0a0a0a03666f6f1203626172" "1802", "0801120c080112040802100222020821");
    EXPECT_CALL("0a02726c120e0a0a0a03666f6f12036261722001",
                "0801120e0801120408021002180122020821");
}

/* The last that is over, else the one with the least left; none where nothing limits. */
Test(envoy, headers_for_the_response)
{
    static const char names[] = "0a11582d526174654c696d69742d4c696d6974"
                                "0a15582d526174654c696d69742d52656d61696e696e67"
                                "0a11582d526174654c696d69742d5265736574";
    char expected[512];
    http.fixture.config.x_ratelimit_headers = true;
    (void)snprintf(expected, sizeof(expected),
                   "0801120e0801120408021002180122020821"
                   "1a16%.38s120132" "1a1a%.46s120131" "1a17%.38s12023333",
                   names, names + 38, names + 84);
    EXPECT_CALL(FOO_BAR, expected);
    EXPECT_CALL("0a02726c120a0a080a016e1203626172", "080112020801");
}

static void expect_json(const char *body, int status, const char *expected)
{
    const char *said = http_post_with(&http, "/json", "", body);
    char line[32];
    (void)snprintf(line, sizeof(line), "HTTP/1.1 %d ", status);
    cr_expect_eq(strncmp(said, line, strlen(line)), 0, "%s:\n%s", body, said);
    const char *sent = strstr(said, "\r\n\r\n");
    cr_assert_not_null(sent);
    cr_expect_not_null(strstr(sent, expected), "%s is not in\n%s", expected, said);
}

#define ENTRIES "[{\"entries\":[{\"key\":\"foo\",\"value\":\"js\"}]}]"
#define ASK "{\"domain\":\"rl\",\"descriptors\":" ENTRIES "}"

Test(envoy, json_asks_and_is_answered)
{
    expect_json(ASK, 200,
                "\r\n\r\n{\"overallCode\":\"OK\",\"statuses\":[{\"code\":\"OK\",\"currentLimit\":{"
                "\"requestsPerUnit\":2,\"unit\":\"MINUTE\"},\"limitRemaining\":1,"
                "\"durationUntilReset\":\"33s\"}]}");
    expect_json("{\"hits_addend\":\"1\",\"domain\":\"rl\",\"descriptors\":" ENTRIES "}", 200,
                "{\"code\":\"OK\",\"currentLimit\":{\"requestsPerUnit\":2,\"unit\":\"MINUTE\"},"
                "\"durationUntilReset\":\"33s\"}");
    expect_json(ASK, 429, "{\"overallCode\":\"OVER_LIMIT\",\"statuses\":[{\"code\":\"OVER_LIMIT\"");
    expect_json("{\"domain\":\"rl\",\"descriptors\":[{\"entries\":[{\"key\":\"foo\",\"value\":"
                "\"js\"}],\"isNegativeHits\":true,\"hitsAddend\":\"2\",\"limit\":null}]}",
                200, "\"limitRemaining\":2");
    expect_json("{\"domain\":\"rl\",\"descriptors\":[{\"entries\":[{\"key\":\"o\"}],\"limit\":{"
                "\"requestsPerUnit\":1,\"unit\":\"WEEK\"}},{\"entries\":[{\"key\":\"o\"}],"
                "\"limit\":{\"requests_per_unit\":3,\"unit\":3},\"hitsAddend\":0}]}",
                200, "\"unit\":\"WEEK\"},\"durationUntilReset\"");
    expect_json("{\"domain\":\"rl\",\"descriptors\":[{\"entries\":[{\"key\":\"\\u0066oo\",\"value\""
                ":\"vip\"}]}]}",
                200, "{\"code\":\"OK\",\"limitRemaining\":4294967295}");
}

Test(envoy, json_with_headers_for_the_response)
{
    http.fixture.config.x_ratelimit_headers = true;
    expect_json(ASK, 200,
                "],\"responseHeadersToAdd\":[{\"key\":\"X-RateLimit-Limit\",\"value\":\"2\"},"
                "{\"key\":\"X-RateLimit-Remaining\",\"value\":\"1\"},"
                "{\"key\":\"X-RateLimit-Reset\",\"value\":\"33\"}]}");
}

Test(envoy, json_that_is_no_request)
{
    static const struct {
        const char *body;
        const char *words;
    } cases[] = {
        {"", "an object was expected"},
        {"[]", "an object was expected"},
        {"{", "a string was expected"},
        {"{\"domain\":\"rl\",\"x\":1}", "does not know"},
        {"{\"domain\":\"rl\",\"domain\":\"rl\"}", "twice"},
        {"{\"domain\":1}", "a string was expected"},
        {"{\"domain\":\"rl\"}", "list must not be empty"},
        {"{\"descriptors\":" ENTRIES "}", "domain must not be empty"},
        {ASK "x", "expected"},
        {"{\"hitsAddend\":4294967296}", "up to 4294967295"},
        {"{\"hitsAddend\":1.5}", "up to 4294967295"},
        {"{\"hitsAddend\":-1}", "up to 4294967295"},
        {"{\"descriptors\":[{\"hitsAddend\":18446744073709551616}]}", "up to 18446744073709551615"},
        {"{\"descriptors\":[{\"limit\":{\"unit\":\"AGE\"}}]}", "a unit such as MINUTE"},
        {"{\"descriptors\":[{\"isNegativeHits\":1}]}", "true or false"},
        {"{\"descriptors\":{}}", "a list of descriptors"},
        {"{\"domain\":\"\xff\"}", "not UTF-8"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_json(cases[i].body, 400, cases[i].words);
    }
    const char *said = http_say(&http, GET("/json"));
    cr_expect_eq(strncmp(said, "HTTP/1.1 405 ", 13), 0, "%s", said);
}
