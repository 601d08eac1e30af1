#include "wire/http_admin.h"

#include "wire/admin.h"
#include "wire/http_ask.h"
#include "wire/json_out.h"

/* The listener has its hooks; a daemon without them says so. False: answered. */
static bool admin_has_hooks(struct http_turn *turn)
{
    if (turn->worker->config->admin != NULL) {
        return true;
    }
    http_turn_problem(turn, 501, "", "this daemon has no such hook");
    return false;
}

static void admin_text(struct http_turn *turn, const char *type, struct slice text)
{
    uint8_t *body = http_turn_room(turn, text.size + 1);
    if (body == NULL) {
        return;
    }
    if (text.size > 0) {
        memcpy(body, text.data, text.size);
    }
    turn->response->status = 200;
    turn->response->body = slice_make(body, text.size);
    http_turn_header(turn, "content-type", slice_text(type));
    http_turn_header(turn, "cache-control", slice_text("no-store"));
}

void http_admin_metrics(struct http_turn *turn)
{
    const struct wire_admin *admin = turn->worker->config->admin;
    struct buf text;
    if (!http_turn_has_no_query(turn) || !admin_has_hooks(turn)) {
        return;
    }
    metrics_request(turn->worker->metrics, METRICS_ADMIN, METRICS_STATS, 1);
    buf_init(&text, LIMITS_UNPACK_BYTES_MAX);
    admin->stats(admin->data, &text);
    if (text.failed) {
        http_turn_problem(turn, 503, "", "there is no memory for the metrics");
    } else {
        admin_text(turn, "text/plain; version=0.0.4; charset=utf-8", buf_slice(&text));
    }
    buf_deinit(&text);
}

void http_admin_healthz(struct http_turn *turn)
{
    admin_text(turn, "text/plain; charset=utf-8", slice_text("ok\n"));
}

void http_admin_readyz(struct http_turn *turn)
{
    const struct wire_admin *admin = turn->worker->config->admin;
    if (!admin_has_hooks(turn)) {
        return;
    }
    if (admin->ready(admin->data)) {
        admin_text(turn, "text/plain; charset=utf-8", slice_text("ready\n"));
    } else {
        http_turn_problem(turn, 503, "", "the daemon is loading or stopping");
    }
}

/* A look, with the row of each limit: always 200, for nothing is asked that could be refused. */
void http_admin_counters(struct http_turn *turn)
{
    const struct decision *decision = &turn->scratch->decision;
    struct request *request = &turn->scratch->entries[0].request;
    if (!http_ask_read_query(turn)) {
        return;
    }
    if (request->has_cost) {
        http_turn_problem(turn, 400, "cost", "a look has no cost");
        return;
    }
    metrics_request(turn->worker->metrics, METRICS_ADMIN, METRICS_SHOULD_ALLOW, 1);
    request->has_cost = true;
    request->details = true;
    if (!http_turn_decide(turn)) {
        return;
    }
    uint8_t *begin = http_turn_room(turn, json_out_decision_bytes(decision));
    if (begin != NULL) {
        http_turn_json(turn, 200, begin, json_out_decision(begin, decision, true));
        http_turn_header(turn, "cache-control", slice_text("no-store"));
    }
}

/* The lines of a refused reload as a list of strings. */
static uint8_t *admin_put_errors(uint8_t *at, struct slice lines)
{
    bool first = true;
    *at++ = '[';
    while (lines.size > 0) {
        const uint8_t *end = memchr(lines.data, '\n', lines.size);
        size_t size = end == NULL ? lines.size : (size_t)(end - lines.data);
        size_t used = end == NULL ? size : size + 1;
        at = json_out_text(at, first ? "" : ",");
        at = json_out_string(at, slice_make(lines.data, size));
        lines = slice_make(lines.data + used, lines.size - used);
        first = false;
    }
    *at++ = ']';
    return at;
}

static void admin_reload_refused(struct http_turn *turn, struct slice lines)
{
    static const char front[] = "{\"type\":\"about:blank\",\"title\":\"Unprocessable Content\","
                                "\"status\":422,\"detail\":\"the limits were refused; those before "
                                "stay in force\",\"reloaded\":false,\"errors\":";
    /* A line end becomes a comma and two quotes. */
    uint8_t *begin =
        http_turn_room(turn, sizeof(front) + 16 + JSON_OUT_ESCAPED_BYTES * lines.size);
    if (begin == NULL) {
        return;
    }
    uint8_t *at = admin_put_errors(json_out_text(begin, front), lines);
    *at++ = '}';
    http_turn_problem(turn, 422, "", "");
    turn->response->body = slice_make(begin, (size_t)(at - begin));
}

void http_admin_reload(struct http_turn *turn)
{
    const struct wire_admin *admin = turn->worker->config->admin;
    struct buf errors;
    if (!http_turn_has_no_query(turn) || !admin_has_hooks(turn)) {
        return;
    }
    if (turn->request->body.size > 0) {
        http_turn_problem(turn, 400, "", "a reload takes no body");
        return;
    }
    metrics_request(turn->worker->metrics, METRICS_ADMIN, METRICS_RELOAD, 1);
    buf_init(&errors, LIMITS_HTTP_BODY_BYTES_MAX);
    if (admin->reload(admin->data, &errors)) {
        static const char done[] = "{\"reloaded\":true}";
        http_turn_json(turn, 200, (const uint8_t *)done, (const uint8_t *)done + sizeof(done) - 1);
        http_turn_header(turn, "cache-control", slice_text("no-store"));
    } else {
        admin_reload_refused(turn, buf_slice(&errors));
    }
    buf_deinit(&errors);
}
