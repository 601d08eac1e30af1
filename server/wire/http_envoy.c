/* 200 OK, 429 OVER_LIMIT; as there, 400 for whatever has no answer. The Content-Type is not looked
 * at: clients that were made for that program send any. */
#include "wire/http_envoy.h"

#include "wire/envoy_json.h"

void http_envoy_handle(struct http_turn *turn)
{
    struct wire_worker *worker = turn->worker;
    struct envoy_request request;
    struct envoy_answer answer;
    struct request_error error;
    metrics_request(worker->metrics, METRICS_HTTP, METRICS_SHOULD_ALLOW, 1);
    if (!envoy_json_read(turn->request->body, worker->arena, &request, &error) ||
        !envoy_decide(worker->engine, &request, turn->now_ns, &answer, &error)) {
        http_turn_problem(turn, 400, error.field, error.message);
        return;
    }
    (*turn->answered)++;
    uint8_t *begin = http_turn_room(turn, envoy_json_bytes(&answer));
    if (begin != NULL) {
        http_turn_json(turn, answer.overall == ENVOY_CODE_OVER_LIMIT ? 429 : 200, begin,
                       envoy_json_write(begin, &answer, worker->config->x_ratelimit_headers));
        http_turn_header(turn, "cache-control", slice_text("no-store"));
    }
}
