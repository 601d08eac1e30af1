/* Two passes over the body. The first only looks: it must be JSON to its end, with no more members
 * than a batch may have, before anything is charged; it also counts what the answer may take. The
 * second reads each member again and decides it. */
#include "wire/http_batch.h"

#include "wire/json_in.h"
#include "wire/json_out.h"

#define BATCH_MEMBERS \
    (JSON_IN_KEY | JSON_IN_ROUTE | JSON_IN_COST | JSON_IN_ATTRIBUTES | JSON_IN_DETAILS)
#define BATCH_RESULT_BYTES 24u /* {"response":…}, */

static size_t batch_member_bytes(enum json_in_result result, const struct request *request)
{
    size_t rows = result == JSON_IN_OK && request->details ? LIMITS_ROUTE_LIMITS_MAX : 0;
    size_t answer = JSON_OUT_ROW_BYTES * (1 + rows);
    return BATCH_RESULT_BYTES + (answer > JSON_OUT_ERROR_BYTES ? answer : JSON_OUT_ERROR_BYTES);
}

/* The first pass. False: answered. */
static bool batch_measure(struct http_turn *turn, size_t *bytes)
{
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    struct request_error error;
    struct json_in in;
    uint32_t count = 0;
    *bytes = 0;
    json_in_init(&in, turn->request->body, turn->worker->arena);
    enum json_in_result result = json_in_batch_begin(&in, &error);
    while (result == JSON_IN_OK && json_in_batch_more(&in, count == 0)) {
        enum json_in_result member =
            json_in_request(&in, BATCH_MEMBERS, &entry->request, &entry->error);
        if (member == JSON_IN_BROKEN) {
            error = entry->error;
            result = member;
        }
        *bytes += batch_member_bytes(member, &entry->request);
        count++;
    }
    if (result == JSON_IN_OK) {
        result = json_in_batch_end(&in, &error);
    }
    if (result == JSON_IN_OK && count > LIMITS_BATCH_MAX) {
        request_error_set(&error, REQUEST_INVALID_ARGUMENT, "requests",
                          "a batch holds at most %d requests, this one has %u", LIMITS_BATCH_MAX,
                          count);
        result = JSON_IN_FAULT;
    }
    if (result != JSON_IN_OK) {
        http_turn_error(turn, &error);
    }
    return result == JSON_IN_OK;
}

static uint8_t *batch_put_error(struct http_turn *turn, uint8_t *at,
                                const struct request_error *error)
{
    metrics_request_error(turn->worker->metrics, http_turn_protocol(turn), (int)error->code);
    at = json_out_error(json_out_text(at, "{\"error\":"), error);
    *at++ = '}';
    return at;
}

/* Decides one member and writes its result. */
static uint8_t *batch_member(struct http_turn *turn, struct json_in *in, uint8_t *at)
{
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    struct engine_worker *engine = turn->worker->engine;
    struct decision *decision = &turn->scratch->decision;
    engine_rewind(engine);
    if (json_in_request(in, BATCH_MEMBERS, &entry->request, &entry->error) != JSON_IN_OK ||
        !engine_prepare(engine, &entry->request, ENGINE_DECIDE, turn->now_ns, &entry->plan,
                        &entry->error) ||
        !engine_decide(engine, &entry->plan, turn->now_ns, decision, &entry->error)) {
        return batch_put_error(turn, at, &entry->error);
    }
    (*turn->answered)++;
    at = json_out_decision(json_out_text(at, "{\"response\":"), decision, true);
    *at++ = '}';
    return at;
}

void http_batch_should_allow(struct http_turn *turn)
{
    struct request_error ignored;
    struct json_in in;
    size_t bytes;
    bool first = true;
    metrics_request(turn->worker->metrics, http_turn_protocol(turn), METRICS_BATCH, 1);
    if (!http_turn_has_json(turn) || !http_turn_has_no_query(turn) ||
        !batch_measure(turn, &bytes)) {
        return;
    }
    uint8_t *begin = http_turn_room(turn, bytes + BATCH_RESULT_BYTES);
    if (begin == NULL) {
        return;
    }
    uint8_t *at = json_out_text(begin, "{\"results\":[");
    json_in_init(&in, turn->request->body, turn->worker->arena);
    (void)json_in_batch_begin(&in, &ignored);
    for (; json_in_batch_more(&in, first); first = false) {
        at = json_out_text(at, first ? "" : ",");
        at = batch_member(turn, &in, at);
    }
    at = json_out_text(at, "]}");
    http_turn_json(turn, 200, begin, at);
    http_turn_header(turn, "cache-control", slice_text("no-store"));
}
