#include "wire/http_turn.h"

#include "wire/http_status.h"
#include "wire/json_out.h"

uint8_t *http_turn_room(struct http_turn *turn, size_t size)
{
    uint8_t *room = arena_alloc(turn->worker->arena, size);
    if (room == NULL) {
        http_turn_problem(turn, 503, "", "there is no memory for the answer");
    }
    return room;
}

void http_turn_write_problem(struct arena *arena, int status, const char *field,
                             const char *detail, struct http_response *response)
{
    size_t bytes = 128 + JSON_OUT_ESCAPED_BYTES * (strlen(field) + strlen(detail));
    uint8_t *begin = arena_alloc(arena, bytes);
    response->status = status;
    response->header_count = 0;
    response->body = slice_make(NULL, 0);
    response->headers[response->header_count++] =
        (struct http_header){slice_text("cache-control"), slice_text("no-store")};
    if (status == 401) {
        response->headers[response->header_count++] =
            (struct http_header){slice_text("www-authenticate"), slice_text("Bearer")};
    }
    if (begin == NULL) {
        return;
    }
    uint8_t *at = json_out_text(begin, "{\"type\":\"about:blank\",\"title\":");
    at = json_out_string(at, slice_text(http_status_phrase(status)));
    at = json_out_number(json_out_text(at, ",\"status\":"), (uint64_t)status);
    at = json_out_string(json_out_text(at, ",\"detail\":"), slice_text(detail));
    if (field[0] != '\0') {
        at = json_out_string(json_out_text(at, ",\"field\":"), slice_text(field));
    }
    *at++ = '}';
    response->body = slice_make(begin, (size_t)(at - begin));
    response->headers[response->header_count++] = (struct http_header){
        slice_text("content-type"), slice_text("application/problem+json")};
}

void http_turn_problem(struct http_turn *turn, int status, const char *field, const char *detail)
{
    metrics_request_error(turn->worker->metrics, http_turn_protocol(turn),
                          (int)http_status_code(status));
    http_turn_write_problem(turn->worker->arena, status, field, detail, turn->response);
}

enum metrics_protocol http_turn_protocol(const struct http_turn *turn)
{
    return turn->peer->admin ? METRICS_ADMIN : METRICS_HTTP;
}

void http_turn_error(struct http_turn *turn, const struct request_error *error)
{
    http_turn_problem(turn, http_status_of_code(error->code), error->field, error->message);
}

void http_turn_json(struct http_turn *turn, int status, const uint8_t *begin, const uint8_t *end)
{
    turn->response->status = status;
    turn->response->body = slice_make(begin, (size_t)(end - begin));
    http_turn_header(turn, "content-type", slice_text("application/json"));
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static bool equal_folded(struct slice text, const char *lower)
{
    size_t size = strlen(lower);
    if (text.size != size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = text.data[i];
        if ((byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte) != (uint8_t)lower[i]) {
            return false;
        }
    }
    return true;
}

static struct slice trim(struct slice text)
{
    while (text.size > 0 && is_blank(text.data[0])) {
        text = slice_make(text.data + 1, text.size - 1);
    }
    while (text.size > 0 && is_blank(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

/* "application/json", with parameters or without; a charset must be UTF-8, JSON's only one. */
static bool is_json(struct slice type)
{
    const uint8_t *stop = memchr(type.data, ';', type.size);
    size_t size = stop == NULL ? type.size : (size_t)(stop - type.data);
    if (!equal_folded(trim(slice_make(type.data, size)), "application/json")) {
        return false;
    }
    if (stop == NULL) {
        return true;
    }
    struct slice rest = trim(slice_make(stop + 1, type.size - size - 1));
    bool charset = rest.size > 8 && equal_folded(slice_make(rest.data, 8), "charset=");
    struct slice value = charset ? slice_make(rest.data + 8, rest.size - 8) : rest;
    return !charset || equal_folded(value, "utf-8") || equal_folded(value, "\"utf-8\"");
}

bool http_turn_has_json(struct http_turn *turn)
{
    uint32_t count;
    if (!turn->request->has_body) {
        http_turn_problem(turn, 411, "", "a body of JSON was expected, with its Content-Length");
        return false;
    }
    struct slice type = http_api_header(turn->request, "content-type", &count);
    if (count > 1 || (count == 1 && !is_json(type))) {
        http_turn_problem(turn, 415, "", "the Content-Type must be application/json");
        return false;
    }
    (void)http_api_header(turn->request, "content-encoding", &count);
    if (count > 0) {
        http_turn_problem(turn, 415, "", "a body with a Content-Encoding is not taken");
        return false;
    }
    return true;
}

bool http_turn_has_no_query(struct http_turn *turn)
{
    if (turn->request->query.size == 0) {
        return true;
    }
    http_turn_problem(turn, 400, "", "a query parameter cannot stand beside a body");
    return false;
}

bool http_turn_decide(struct http_turn *turn)
{
    struct wire_scratch_entry *entry = &turn->scratch->entries[0];
    struct engine_worker *engine = turn->worker->engine;
    if (engine_prepare(engine, &entry->request, ENGINE_DECIDE, turn->now_ns, &entry->plan,
                       &entry->error) &&
        engine_decide(engine, &entry->plan, turn->now_ns, &turn->scratch->decision,
                      &entry->error)) {
        (*turn->answered)++;
        return true;
    }
    http_turn_error(turn, &entry->error);
    return false;
}
