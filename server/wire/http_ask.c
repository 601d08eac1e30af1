#include "wire/http_ask.h"

#include "base/text.h"
#include "base/utf8.h"
#include "wire/access.h"
#include "wire/http_headers.h"
#include "wire/http_query.h"
#include "wire/json_in.h"
#include "wire/json_out.h"

#define ASK_MEMBERS \
    (JSON_IN_KEY | JSON_IN_ROUTE | JSON_IN_COST | JSON_IN_ATTRIBUTES | JSON_IN_DETAILS)
#define REFUND_MEMBERS (JSON_IN_KEY | JSON_IN_ROUTE | JSON_IN_COST | JSON_IN_ATTRIBUTES)
#define RESET_MEMBERS (JSON_IN_KEY | JSON_IN_ROUTE | JSON_IN_ATTRIBUTES)

/* The problem type of the draft's own registry; its extension member names the policies. */
#define PROBLEM_TYPES "https://iana.org/assignments/http-problem-types#"
#define PROBLEM_QUOTA \
    "{\"type\":\"" PROBLEM_TYPES "quota-exceeded\"," \
    "\"title\":\"Request cannot be satisfied as assigned quota has been exceeded\","
#define PROBLEM_CAPACITY \
    "{\"type\":\"" PROBLEM_TYPES "temporary-reduced-capacity\"," \
    "\"title\":\"Request cannot be satisfied due to temporary server capacity constraints\","
#define PROBLEM_BYTES (sizeof(PROBLEM_CAPACITY) + 64u)

/* The body's request into the first entry. False: answered. */
static bool ask_read_body(struct http_turn *turn, unsigned members)
{
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    struct json_in in;
    if (!http_turn_has_json(turn) || !http_turn_has_no_query(turn)) {
        return false;
    }
    json_in_init(&in, turn->request->body, turn->worker->arena);
    enum json_in_result result = json_in_request(&in, members, &entry->request, &entry->error);
    if (result != JSON_IN_BROKEN) {
        struct request_error error;
        if (json_in_end(&in, &error) != JSON_IN_OK) {
            http_turn_error(turn, &error);
            return false;
        }
    }
    if (result != JSON_IN_OK) {
        http_turn_error(turn, &entry->error);
        return false;
    }
    return true;
}

void http_ask_attribute(struct request *request, struct slice name, struct slice value)
{
    if (request->attribute_count < LIMITS_ATTRIBUTES_MAX) {
        request->attributes[request->attribute_count] =
            (struct request_attribute){.name = name, .value = value};
    }
    request->attribute_count++;
}

bool http_ask_parameter(struct request *request, struct slice name, struct slice value)
{
    static const char prefix[] = "attribute.";
    size_t size = sizeof(prefix) - 1;
    if (slice_equal_text(name, "cost")) {
        request->has_cost = true;
        request->cost_invalid = text_parse_u64(value, &request->cost) != STATUS_OK;
        return true;
    }
    if (name.size >= size && memcmp(name.data, prefix, size) == 0) {
        http_ask_attribute(request, slice_make(name.data + size, name.size - size), value);
        return true;
    }
    return false;
}

/* What is wrong with a parameter of GET /v1/should-allow, or NULL. */
static const char *ask_take_parameter(struct request *request, struct slice name,
                                      struct slice value, unsigned *seen)
{
    static const struct {
        const char *name;
        unsigned bit;
    } once[] = {{"key", JSON_IN_KEY},
                {"route", JSON_IN_ROUTE},
                {"cost", JSON_IN_COST},
                {"details", JSON_IN_DETAILS}};
    for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++) {
        if (slice_equal_text(name, once[i].name)) {
            if (*seen & once[i].bit) {
                return "the parameter is given twice";
            }
            *seen |= once[i].bit;
        }
    }
    if (slice_equal_text(name, "key")) {
        request->key = value;
    } else if (slice_equal_text(name, "route")) {
        request->route = value;
    } else if (slice_equal_text(name, "details")) {
        request->details = slice_equal_text(value, "true");
        if (!request->details && !slice_equal_text(value, "false")) {
            return "details must be true or false";
        }
    } else if (!http_ask_parameter(request, name, value)) {
        return "there is no such parameter; key, route, cost, details and attribute.<name> are "
               "known";
    }
    return NULL;
}

/* A parameter's name as an error's field: only where it can be shown. */
static void ask_parameter_problem(struct http_turn *turn, struct slice name, const char *why)
{
    char field[LIMITS_FIELD_BYTES_MAX] = "";
    if (name.size < sizeof(field) && memchr(name.data, 0, name.size) == NULL &&
        utf8_is_valid(name)) {
        memcpy(field, name.data, name.size);
        field[name.size] = '\0';
    }
    http_turn_problem(turn, 400, field, why);
}

bool http_ask_read_query(struct http_turn *turn)
{
    struct request *request = &turn->scratch->entries[0].request;
    struct slice query = turn->request->query;
    unsigned seen = 0;
    *request = (struct request){.utf8 = true};
    if (turn->request->body.size > 0) {
        http_turn_problem(turn, 400, "", "a GET takes its parameters in the target, not in a body");
        return false;
    }
    for (;;) {
        struct slice name;
        struct slice value;
        switch (http_query_next(&query, turn->worker->arena, &name, &value)) {
        case HTTP_QUERY_END:
            return true;
        case HTTP_QUERY_BAD:
            http_turn_problem(turn, 400, "", "a % in the query is not followed by two "
                                             "hexadecimal digits");
            return false;
        case HTTP_QUERY_NEXT:
            break;
        }
        const char *why = ask_take_parameter(request, name, value, &seen);
        if (why != NULL) {
            ask_parameter_problem(turn, name, why);
            return false;
        }
    }
}

/* The names of the limits that refuse. */
static uint8_t *ask_put_violated(uint8_t *at, const struct decision *decision)
{
    bool first = true;
    at = json_out_text(at, "\"violated-policies\":[");
    for (uint32_t i = 0; i < decision->row_count; i++) {
        const struct decision_row *row = &decision->rows[i];
        if (!row->shadow && !row->allowed) {
            at = json_out_text(at, first ? "" : ",");
            at = json_out_string(at, row->limit_name);
            first = false;
        }
    }
    return json_out_text(at, "],");
}

/* The refusal as problem+json. */
static void ask_answer_problem(struct http_turn *turn, bool details)
{
    const struct decision *decision = &turn->scratch->decision;
    size_t names = (size_t)decision->row_count *
                   (3 + JSON_OUT_ESCAPED_BYTES * LIMITS_LIMIT_NAME_BYTES_MAX);
    uint8_t *begin = http_turn_room(turn, PROBLEM_BYTES + names +
                                              json_out_decision_bytes(decision));
    if (begin == NULL) {
        return;
    }
    bool full = decision->shown.reason == REASON_STORE_FULL;
    uint8_t *at = json_out_text(begin, full ? PROBLEM_CAPACITY : PROBLEM_QUOTA);
    at = json_out_text(at, "\"status\":429,");
    at = ask_put_violated(at, decision);
    at = json_out_decision_members(at, decision, details);
    *at++ = '}';
    turn->response->status = 429;
    turn->response->body = slice_make(begin, (size_t)(at - begin));
    http_turn_header(turn, "content-type", slice_text("application/problem+json"));
    (void)http_headers_add(turn, true);
}

void http_ask_answer(struct http_turn *turn, bool details)
{
    const struct decision *decision = &turn->scratch->decision;
    bool refused = !decision->shown.allowed;
    if (refused && http_headers_accepts_problem(turn->request)) {
        ask_answer_problem(turn, details);
        return;
    }
    uint8_t *begin = http_turn_room(turn, json_out_decision_bytes(decision));
    if (begin == NULL) {
        return;
    }
    http_turn_json(turn, refused ? 429 : 200, begin,
                   json_out_decision(begin, decision, details));
    (void)http_headers_add(turn, refused);
}

void http_ask_should_allow(struct http_turn *turn)
{
    struct request *request = &turn->scratch->entries[0].request;
    bool post = slice_equal_text(turn->request->method, "POST");
    metrics_request(turn->worker->metrics, http_turn_protocol(turn), METRICS_SHOULD_ALLOW, 1);
    if (post ? !ask_read_body(turn, ASK_MEMBERS) : !http_ask_read_query(turn)) {
        return;
    }
    bool details = request->details;
    request->details = true; /* the RateLimit fields say something of each limit */
    if (http_turn_decide(turn)) {
        http_ask_answer(turn, details);
    }
}

/* False: answered. */
static bool ask_may_change(struct http_turn *turn)
{
    struct request_error error;
    if (access_may_change(turn->worker->config, turn->peer)) {
        return true;
    }
    access_deny_change(&error);
    http_turn_error(turn, &error);
    return false;
}

void http_ask_refund(struct http_turn *turn)
{
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    struct engine_worker *engine = turn->worker->engine;
    struct decision *decision = &turn->scratch->decision;
    metrics_request(turn->worker->metrics, http_turn_protocol(turn), METRICS_REFUND, 1);
    if (!ask_may_change(turn) || !ask_read_body(turn, REFUND_MEMBERS)) {
        return;
    }
    entry->request.details = true;
    if (!engine_prepare(engine, &entry->request, ENGINE_REFUND, turn->now_ns, &entry->plan,
                        &entry->error) ||
        !engine_refund(engine, &entry->plan, turn->now_ns, decision, &entry->error)) {
        http_turn_error(turn, &entry->error);
        return;
    }
    (*turn->answered)++;
    uint8_t *begin = http_turn_room(turn, json_out_decision_bytes(decision));
    if (begin != NULL) {
        http_turn_json(turn, 200, begin, json_out_decision(begin, decision, false));
        (void)http_headers_add(turn, false);
    }
}

void http_ask_reset(struct http_turn *turn)
{
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    struct engine_worker *engine = turn->worker->engine;
    uint32_t counters;
    metrics_request(turn->worker->metrics, http_turn_protocol(turn), METRICS_RESET, 1);
    if (!ask_may_change(turn) || !ask_read_body(turn, RESET_MEMBERS)) {
        return;
    }
    if (!engine_prepare(engine, &entry->request, ENGINE_RESET, turn->now_ns, &entry->plan,
                        &entry->error) ||
        !engine_reset(engine, &entry->plan, turn->now_ns, &counters, &entry->error)) {
        http_turn_error(turn, &entry->error);
        return;
    }
    (*turn->answered)++;
    uint8_t *begin = http_turn_room(turn, 16 + JSON_OUT_NUMBER_BYTES);
    if (begin != NULL) {
        uint8_t *at = json_out_number(json_out_text(begin, "{\"counters\":"), counters);
        *at++ = '}';
        http_turn_json(turn, 200, begin, at);
        http_turn_header(turn, "cache-control", slice_text("no-store"));
    }
}
