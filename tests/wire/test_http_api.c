/* What the endpoints of the HTTP API mean, and how decisions look in JSON and in header fields. */
#include "http_script.h"

#define AUTH(target, fields) HEAD("GET /v1/auth" target " HTTP/1.1") fields "\r\n"

Test(http_api, five_pass_and_the_sixth_is_told_when_to_come_again)
{
    struct http http;
    http_init(&http);
    for (int i = 0; i < 5; i++) {
        const char *answer =
            http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"POST /login\"}");
        expect_status(answer, 200);
        expect_lacks(answer, "retry-after");
    }
    http.fixture.now_ns += 300000001;
    const char *answer =
        http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"POST /login\"}");
    expect_status(answer, 429);
    expect_has(answer, "\r\nretry-after: 2\r\n");
    expect_has(answer, "\r\nratelimit-policy: \"tb\";q=5;w=10\r\n");
    expect_has(answer, "\r\nratelimit: \"tb\";r=0;t=2\r\n");
    cr_expect_str_eq(http_body(answer),
                     "{\"allowed\":false,\"limit\":5,\"remaining\":0,\"retry_after_ms\":1700,"
                     "\"reset_after_ms\":9700,\"limit_name\":\"tb\",\"reason\":\"OVER_LIMIT\"}");
    http_deinit(&http);
}

/* A cost that needs 6.2 s: 3.1 units at one in two seconds. */
Test(http_api, seconds_are_rounded_up)
{
    struct http http;
    http_init(&http);
    (void)http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"tb\",\"cost\":5}");
    http.fixture.now_ns += 1800000000;
    const char *answer =
        http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"tb\",\"cost\":4}");
    expect_has(answer, "\r\nretry-after: 7\r\n");
    expect_has(answer, "\r\nratelimit: \"tb\";r=0;t=7\r\n");
    expect_has(answer, "\"retry_after_ms\":6200,");
    http_deinit(&http);
}

Test(http_api, what_can_never_pass_has_no_time)
{
    struct http http;
    http_init(&http);
    const char *answer =
        http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"tb\",\"cost\":6}");
    expect_status(answer, 429);
    expect_lacks(answer, "\r\nretry-after");
    expect_has(answer, "\r\nratelimit: \"tb\";r=5\r\n");
    expect_has(answer, "\"retry_after_ms\":null,");
    expect_has(answer, "\"reason\":\"COST_EXCEEDS_LIMIT\"");
    http_deinit(&http);
}

Test(http_api, each_enforced_limit_has_its_item)
{
    struct http http;
    http_init(&http);
    const char *answer = http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"all\"}");
    expect_has(answer, "\r\nratelimit-policy: \"tb\";q=5;w=10, \"fw\";q=3;w=60\r\n");
    expect_has(answer, "\r\nratelimit: \"tb\";r=4;t=2, \"fw\";r=2;t=60\r\n");
    for (int i = 0; i < 3; i++) {
        answer = http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"all\"}");
    }
    expect_status(answer, 429);
    expect_has(answer, "\r\nratelimit: \"tb\";r=2, \"fw\";r=0;t=60\r\n");
    answer = http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"nowhere\"}");
    expect_status(answer, 200);
    expect_lacks(answer, "\r\nratelimit");
    cr_expect_str_eq(http_body(answer), "{\"allowed\":true,\"limit\":999999999999999,"
                                        "\"remaining\":999999999999999,\"reason\":\"NO_LIMIT\"}");
    http_deinit(&http);
}

Test(http_api, a_bucket_s_window_is_the_time_it_drains_in)
{
    struct http http;
    http_init(&http);
    const char *answer =
        http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"lb\",\"cost\":3}");
    expect_has(answer, "\r\nratelimit-policy: \"lb\";q=4;w=2\r\n");
    answer = http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"lb\"}");
    expect_has(answer, "\"delay_ms\":1500,");
    http_deinit(&http);
}

Test(http_api, x_ratelimit_only_where_it_is_asked_for)
{
    struct http http;
    http_init(&http);
    expect_lacks(http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"tb\"}"),
                 "x-ratelimit");
    http.fixture.config.x_ratelimit_headers = true;
    const char *answer =
        http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"tb\"}");
    expect_has(answer, "\r\nx-ratelimit-limit: 5\r\n");
    expect_has(answer, "\r\nx-ratelimit-remaining: 3\r\n");
    expect_has(answer, "\r\nx-ratelimit-reset: 4\r\n");
    answer = http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"nowhere\"}");
    expect_lacks(answer, "x-ratelimit");
    http_deinit(&http);
}

Test(http_api, details_are_rows_in_the_route_s_order)
{
    struct http http;
    http_init(&http);
    const char *answer = http_post(&http, "/v1/should-allow",
                                   "{\"key\":\"a\",\"route\":\"all\",\"details\":true}");
    expect_has(answer,
               ",\"details\":[{\"limit_name\":\"tb\",\"allowed\":true,\"limit\":5,\"remaining\":4,"
               "\"reset_after_ms\":2000,\"shadow\":false,\"window_ms\":10000,"
               "\"algorithm\":\"token_bucket\"},{\"limit_name\":\"fw\",");
    expect_has(answer, "\"shadow\":true,\"window_ms\":60000,\"algorithm\":\"fixed_window\"}]}");
    http_deinit(&http);
}

Test(http_api, problem_json_for_who_names_it)
{
    static const struct {
        const char *accept;
        bool problem;
    } accepts[] = {
        {"Accept: application/problem+json\r\n", true},
        {"Accept: text/html, application/problem+json;q=0.5\r\n", true},
        {"Accept: Application/Problem+JSON\r\n", true},
        {"Accept: */*\r\n", false},
        {"Accept: application/json\r\n", false},
        {"Accept: application/problem+json;q=0\r\n", false},
        {"Accept: application/problem+json; q=0.000, */*\r\n", false},
        {"Accept: application/problem+jsonx\r\n", false},
        {"", false},
    };
    struct http http;
    http_init(&http);
    for (size_t i = 0; i < sizeof(accepts) / sizeof(accepts[0]); i++) {
        const char *answer = http_post_with(&http, "/v1/should-allow", accepts[i].accept,
                                            "{\"key\":\"a\",\"route\":\"tb\",\"cost\":6}");
        expect_status(answer, 429);
        cr_expect_eq(strstr(answer, "content-type: application/problem+json") != NULL,
                     accepts[i].problem, "%s", accepts[i].accept);
        cr_expect_eq(strstr(answer, "\"status\":429,\"violated-policies\":[\"tb\"],\"allowed\":"
                                    "false,") != NULL,
                     accepts[i].problem, "%s", answer);
    }
    http_deinit(&http);
}

Test(http_api, a_GET_decodes_its_query_exactly)
{
    struct http http;
    http_init(&http);
    const char *answer =
        http_say(&http, GET("/v1/should-allow?key=a%20b&route=ip&cost=2&attribute.ip=192.0.2.7"));
    expect_has(answer, "\"remaining\":1,");
    answer = http_post(&http, "/v1/should-allow",
                       "{\"key\":\"c\",\"route\":\"ip\",\"cost\":0,"
                       "\"attributes\":{\"ip\":\"192.0.2.7\"}}");
    expect_has(answer, "\"remaining\":1,");
    expect_status(http_say(&http, GET("/v1/should-allow?key=a+b&route=tb&cost=5")), 200);
    expect_status(http_say(&http, GET("/v1/should-allow?key=a%2Bb&route=tb")), 429);
    expect_status(http_say(&http, GET("/v1/should-allow?key=a%20b&route=tb")), 200);
    expect_status(http_say(&http, GET("/v1/should-allow?key=a%00b&route=tb")), 200);
    expect_has(http_say(&http, GET("/v1/should-allow?key=a&route=tb&details=true")), "details");
    http_deinit(&http);
}

static const struct wrong {
    const char *text;
    int status;
    const char *has;
} wrong[] = {
    {GET("/v1/should-allow?key=a&route=tb&key=b"), 400, "\"field\":\"key\""},
    {GET("/v1/should-allow?key=a&route=tb&cost=1&cost=1"), 400, "\"field\":\"cost\""},
    {GET("/v1/should-allow?key=a&route=tb&attribute.a=1&attribute.a=1"), 400,
     "\"field\":\"attributes\""},
    {GET("/v1/should-allow?key=a&route=tb&x=1"), 400, "\"field\":\"x\""},
    {GET("/v1/should-allow?key=a&route=tb&x=%zz"), 400, "hexadecimal"},
    {GET("/v1/should-allow?key=%4"), 400, "hexadecimal"},
    {GET("/v1/should-allow?key=%"), 400, "hexadecimal"},
    {GET("/v1/should-allow?key=a"), 400, "\"field\":\"route\""},
    {GET("/v1/should-allow"), 400, "\"field\":\"key\""},
    {GET("/v1/should-allow?key=&route=tb"), 400, "\"field\":\"key\""},
    {GET("/v1/should-allow?key=%ff&route=tb"), 400, "\"field\":\"key\""},
    {GET("/v1/should-allow?key=a&route=tb&cost=1.5"), 400, "\"field\":\"cost\""},
    {GET("/v1/should-allow?key=a&route=tb&cost=-1"), 400, "\"field\":\"cost\""},
    {GET("/v1/should-allow?key=a&route=tb&cost=9223372036854775808"), 400, "\"field\":\"cost\""},
    {GET("/v1/should-allow?key=a&route=tb&details=1"), 400, "\"field\":\"details\""},
    {GET("/v1/should-allow?key=a&route=ip"), 400, "\"field\":\"attributes.ip\""},
    {HEAD("GET /v1/should-allow?key=a&route=tb HTTP/1.1") "Content-Length: 2\r\n\r\n{}", 400,
     "body"},
    {HEAD("POST /v1/should-allow?key=a HTTP/1.1") "Content-Length: 2\r\n\r\n{}", 400, "query"},
    {HEAD("POST /v1/should-allow HTTP/1.1") "\r\n", 411, "Content-Length"},
    {HEAD("POST /v1/should-allow HTTP/1.1") "Content-Length: 0\r\n\r\n", 400, "at byte 0"},
    {HEAD("POST /v1/should-allow HTTP/1.1") "Content-Type: text/csv\r\nContent-Length: 2\r\n\r\n{}",
     415, "application/json"},
    {HEAD("POST /v1/should-allow HTTP/1.1")
         "Content-Type: application/json; charset=latin1\r\nContent-Length: 2\r\n\r\n{}",
     415, "application/json"},
    {HEAD("POST /v1/should-allow HTTP/1.1") "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
     415, "Content-Encoding"},
    {GET("/"), 404, "endpoint"},
    {GET("/v1/should-allow/"), 404, "endpoint"},
    {GET("*"), 404, "endpoint"},
    {GET("/v1/refund"), 405, "\r\nallow: POST\r\n"},
    {GET("/v1/should-allow-batch"), 405, "\r\nallow: POST\r\n"},
    {HEAD("DELETE /v1/should-allow HTTP/1.1") "\r\n", 405, "\r\nallow: GET, HEAD, POST\r\n"},
    {HEAD("get /v1/should-allow HTTP/1.1") "\r\n", 405, "allow"},
};

Test(http_api, what_is_wrong_is_told_and_the_connection_goes_on)
{
    struct http http;
    http_init(&http);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *answer = http_say(&http, wrong[i].text);
        cr_expect_eq(http_status(answer), wrong[i].status, "%s -> %s", wrong[i].text, answer);
        cr_expect_not_null(strstr(answer, wrong[i].has), "%s -> %s", wrong[i].text, answer);
        expect_has(answer, "content-type: application/problem+json\r\n");
        cr_expect_eq(http.result, WIRE_MORE, "%s", wrong[i].text);
    }
    cr_expect_eq(http.fixture.answered, 0);
    http_deinit(&http);
}

Test(http_api, json_is_taken_by_any_of_its_names)
{
    struct http http;
    http_init(&http);
    static const char *const types[] = {"", "Content-Type: application/json\r\n",
                                        "Content-Type: Application/JSON ; charset=UTF-8\r\n",
                                        "Content-Type: application/json;charset=\"utf-8\"\r\n"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        expect_status(http_post_with(&http, "/v1/should-allow", types[i],
                                     "{\"key\":\"a\",\"route\":\"big\"}"),
                      200);
    }
    http_deinit(&http);
}

Test(http_api, auth_answers_by_status_and_fields_alone)
{
    struct http http;
    http_init(&http);
    const char *answer = http_say(&http, AUTH("", "X-Sluice-Key: a\r\nX-Sluice-Route: tb\r\n"
                                                  "X-Sluice-Cost: 5\r\n"));
    expect_status(answer, 200);
    expect_has(answer, "\r\nratelimit: \"tb\";r=0;t=10\r\n");
    cr_expect_str_eq(http_body(answer), "");
    answer = http_say(&http, AUTH("?deny=403", "X-Sluice-Key:  a \t\r\nX-Sluice-Route: tb\r\n"));
    expect_status(answer, 403);
    expect_has(answer, "\r\nretry-after: 2\r\n");
    cr_expect_str_eq(http_body(answer), "");
    expect_status(http_say(&http, AUTH("", "X-Sluice-Key: a\r\nX-Sluice-Route: tb\r\n")), 429);
    /* Any method, with a body that is nobody's. */
    expect_status(http_say(&http, HEAD("PURGE /v1/auth HTTP/1.1")
                                      "X-Sluice-Key: b\r\nX-Sluice-Route: tb\r\n"
                                      "Content-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc"),
                  200);
    /* Bytes are bytes, and not decoded. */
    expect_status(http_say(&http, AUTH("", "X-Sluice-Key: a%20b\xff\r\nX-Sluice-Route: tb\r\n")),
                  200);
    http_deinit(&http);
}

Test(http_api, auth_takes_what_the_operator_wrote_unless_a_field_says_more)
{
    struct http http;
    http_init(&http);
    const char *answer =
        http_say(&http, AUTH("?route=tb&cost=2&key_header=X-User", "x-user: u\r\n"));
    expect_has(answer, "r=3;");
    answer = http_say(&http, AUTH("?route=fw&cost=2&key_header=X-User",
                                  "X-User: v\r\nX-Sluice-Key: u\r\nX-Sluice-Route: tb\r\n"
                                  "X-Sluice-Cost: 1\r\n"));
    expect_has(answer, "r=2;");
    answer = http_say(&http, AUTH("?route=ip&attribute.ip=192.0.2.1",
                                  "X-Sluice-Key: u\r\nX-Sluice-Attribute-IP: 192.0.2.9\r\n"));
    expect_has(answer, "\"ip\";r=2;");
    answer = http_say(&http, GET("/v1/should-allow?key=x&route=ip&attribute.ip=192.0.2.9"));
    expect_has(answer, "\"ip\";r=1;");
    http_deinit(&http);
}

Test(http_api, auth_builds_the_route_from_what_gateways_forward)
{
    struct http http;
    http_init(&http);
    const char *answer =
        http_say(&http, AUTH("", "X-Sluice-Key: a\r\nX-Forwarded-Method: POST\r\n"
                                 "X-Forwarded-Uri: /login?next=/home?x\r\n"));
    expect_has(answer, "\"tb\";r=4;");
    answer = http_say(&http, AUTH("", "X-Sluice-Key: a\r\nX-Original-Method: POST\r\n"
                                      "X-Original-Uri: /login\r\n"));
    expect_has(answer, "\"tb\";r=3;");
    answer = http_say(&http, AUTH("?route=fw", "X-Sluice-Key: a\r\nX-Original-Method: POST\r\n"
                                               "X-Original-Uri: /login\r\n"));
    expect_has(answer, "\"fw\";r=2;");
    http_deinit(&http);
}

Test(http_api, auth_refuses_what_two_could_have_written)
{
    static const struct wrong cases[] = {
        {AUTH("", "X-Sluice-Key: a\r\nX-Sluice-Key: b\r\nX-Sluice-Route: tb\r\n"), 400, "repeated"},
        {AUTH("", "X-Sluice-Key: a\r\nX-Sluice-Route: tb\r\nx-sluice-route: tb\r\n"), 400,
         "repeated"},
        {AUTH("", "X-Sluice-Key: a\r\nX-Sluice-Route: tb\r\nX-Sluice-Cost: 1\r\n"
                  "X-Sluice-Cost: 0\r\n"),
         400, "repeated"},
        {AUTH("", "X-Sluice-Key: a\r\nX-Sluice-Route: tb\r\nX-Sluice-Attribute-A: 1\r\n"
                  "X-Sluice-Attribute-a: 1\r\n"),
         400, "\"field\":\"attributes.a\""},
        {AUTH("?route=tb&key_header=x-user", "X-User: a\r\nX-User: b\r\n"), 400, "repeated"},
        {AUTH("", "X-Sluice-Route: tb\r\n"), 400, "\"field\":\"key\""},
        {AUTH("", "X-Sluice-Key:\r\nX-Sluice-Route: tb\r\n"), 400, "\"field\":\"key\""},
        {AUTH("?route=tb&key_header=X-User", ""), 400, "\"field\":\"key\""},
        {AUTH("", "X-Sluice-Key: a\r\n"), 400, "\"field\":\"route\""},
        {AUTH("", "X-Sluice-Key: a\r\nX-Forwarded-Uri: /x\r\n"), 400, "\"field\":\"route\""},
        {AUTH("", "X-Sluice-Key: a\r\nX-Sluice-Route: tb\r\nX-Sluice-Cost: 1.0\r\n"), 400,
         "\"field\":\"cost\""},
        {AUTH("?deny=200", "X-Sluice-Key: a\r\nX-Sluice-Route: tb\r\n"), 400, "\"field\":\"deny\""},
        {AUTH("?deny=600", "X-Sluice-Key: a\r\nX-Sluice-Route: tb\r\n"), 400, "\"field\":\"deny\""},
        {AUTH("?key=a", "X-Sluice-Key: a\r\nX-Sluice-Route: tb\r\n"), 400, "parameter"},
        {AUTH("?route=a&route=b", "X-Sluice-Key: a\r\n"), 400, "twice"},
    };
    struct http http;
    http_init(&http);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *answer = http_say(&http, cases[i].text);
        cr_expect_eq(http_status(answer), cases[i].status, "%s -> %s", cases[i].text, answer);
        cr_expect_not_null(strstr(answer, cases[i].has), "%s -> %s", cases[i].text, answer);
    }
    cr_expect_eq(http.fixture.answered, 0);
    http_deinit(&http);
}

Test(http_api, a_batch_is_decided_in_order)
{
    struct http http;
    http_init(&http);
    const char *answer =
        http_post(&http, "/v1/should-allow-batch",
                  "{\"requests\":[{\"key\":\"a\",\"route\":\"tb\",\"cost\":4},"
                  "{\"key\":\"\",\"route\":\"tb\"},{\"key\":\"a\",\"route\":\"tb\",\"cost\":2},"
                  "{\"kee\":[{}]},7,{\"key\":\"a\",\"route\":\"tb\",\"details\":true}]}");
    expect_status(answer, 200);
    const char *body = http_body(answer);
    cr_expect_eq(strncmp(body, "{\"results\":[{\"response\":{\"allowed\":true,\"limit\":5,", 48), 0,
                 "%s", body);
    expect_has(body, "},{\"error\":{\"code\":\"INVALID_ARGUMENT\",\"field\":\"key\",\"message\":");
    expect_has(body, "},{\"response\":{\"allowed\":false,\"limit\":5,\"remaining\":1,"
                     "\"retry_after_ms\":2000,");
    expect_has(body, "\"field\":\"kee\"");
    expect_has(body, "a JSON object was expected");
    expect_has(body, "\"remaining\":0,\"reset_after_ms\":10000,\"limit_name\":\"tb\","
                     "\"reason\":\"UNDER_LIMIT\",\"details\":[{");
    cr_expect_eq(http_count(body, "\"response\""), 3);
    cr_expect_eq(http_count(body, "\"error\""), 3);
    cr_expect_str_eq(body + strlen(body) - 5, "]}}]}");
    cr_expect_eq(http.fixture.answered, 3);
    cr_expect_str_eq(http_body(http_post(&http, "/v1/should-allow-batch", "{\"requests\":[]}")),
                     "{\"results\":[]}");
    http_deinit(&http);
}

Test(http_api, a_batch_that_is_wrong_as_a_whole_charges_nothing)
{
    static const char *const bodies[] = {
        "", "[]", "{}", "{\"requests\":{}}", "{\"requests\":[{\"key\":\"a\",\"route\":\"tb\"}]",
        "{\"requests\":[{\"key\":\"a\",\"route\":\"tb\"},]}",
        "{\"requests\":[{\"key\":\"a\",\"route\":\"tb\"}],\"x\":1}",
        "{\"requests\":[{\"key\":\"a\",\"route\":\"tb\"}]} x",
        "{\"request\":[{\"key\":\"a\",\"route\":\"tb\"}]}",
        "{\"requests\":[{\"key\":\"a\",\"route\":\"tb\"} {\"key\":\"a\",\"route\":\"tb\"}]}",
    };
    struct http http;
    struct buf body;
    http_init(&http);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        const char *answer = http_post(&http, "/v1/should-allow-batch", bodies[i]);
        cr_expect_eq(http_status(answer), 400, "%s -> %s", bodies[i], answer);
    }
    buf_init(&body, 0);
    for (int i = 0; i < 1001; i++) {
        buf_append_text(&body, i == 0 ? "{\"requests\":[" : ",");
        buf_append_text(&body, "{\"key\":\"a\",\"route\":\"big\"}");
    }
    buf_append_text(&body, "]}");
    buf_append_byte(&body, 0);
    const char *answer = http_post(&http, "/v1/should-allow-batch", (const char *)body.data);
    expect_status(answer, 400);
    expect_has(answer, "\"field\":\"requests\"");
    cr_expect_eq(http.fixture.answered, 0);
    buf_deinit(&body);
    http_deinit(&http);
}

Test(http_api, refund_and_reset_are_for_who_may)
{
    struct http http;
    http_init(&http);
    (void)http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"tb\",\"cost\":5}");
    const char *answer =
        http_post(&http, "/v1/refund", "{\"key\":\"a\",\"route\":\"tb\",\"cost\":2}");
    expect_status(answer, 200);
    expect_has(answer, "\"remaining\":2,");
    answer = http_post(&http, "/v1/reset", "{\"key\":\"a\",\"route\":\"tb\"}");
    expect_status(answer, 200);
    cr_expect_str_eq(http_body(answer), "{\"counters\":1}");
    answer = http_post(&http, "/v1/reset", "{\"key\":\"a\",\"route\":\"tb\",\"cost\":1}");
    expect_status(answer, 400);
    answer = http_post(&http, "/v1/refund", "{\"key\":\"a\",\"route\":\"tb\",\"details\":true}");
    expect_status(answer, 400);
    http.fixture.config.allow_changes = WIRE_CHANGES_NONE;
    answer = http_post(&http, "/v1/refund", "{\"key\":\"a\",\"route\":\"tb\"}");
    expect_status(answer, 403);
    expect_status(http_post(&http, "/v1/reset", "{\"key\":\"a\",\"route\":\"tb\"}"), 403);
    http_deinit(&http);
}

Test(http_api, requests_and_errors_are_counted)
{
    struct http http;
    http_init(&http);
    (void)http_post(&http, "/v1/should-allow", "{\"key\":\"a\",\"route\":\"tb\"}");
    (void)http_post(&http, "/v1/should-allow", "{\"key\":\"\",\"route\":\"tb\"}");
    (void)http_post(&http, "/v1/should-allow-batch", "{\"requests\":[{\"key\":\"a\"}]}");
    (void)http_say(&http, GET("/nowhere"));
    struct metrics *metrics = http.fixture.metrics;
    cr_expect_eq(metrics_read_requests(metrics, METRICS_HTTP, METRICS_SHOULD_ALLOW), 2);
    cr_expect_eq(metrics_read_requests(metrics, METRICS_HTTP, METRICS_BATCH), 1);
    cr_expect_eq(metrics_read_request_errors(metrics, METRICS_HTTP, REQUEST_INVALID_ARGUMENT), 2);
    cr_expect_eq(metrics_read_request_errors(metrics, METRICS_HTTP, REQUEST_NOT_FOUND), 1);
    http_deinit(&http);
}
