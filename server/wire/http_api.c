/* The endpoints of the HTTP API: one table of what there is, and what all of them share. */
#include "wire/http_api.h"

#include "wire/access.h"
#include "wire/http_admin.h"
#include "wire/http_ask.h"
#include "wire/http_auth.h"
#include "wire/http_batch.h"
#include "wire/http_envoy.h"
#include "wire/http_envoy.h"
#include "wire/http_status.h"

enum http_methods {
    HTTP_GET = 1, /* and HEAD */
    HTTP_POST = 2,
    HTTP_ANY = 4
};

struct http_endpoint {
    const char *path;
    unsigned methods; /* enum http_methods, or-ed */
    bool admin;       /* answered on admin listeners only */
    unsigned right;   /* enum access_right that a token has to have; 0: none is asked for */
    void (*handle)(struct http_turn *turn);
};

static const struct http_endpoint http_endpoints[] = {
    {"/v1/should-allow", HTTP_GET | HTTP_POST, false, ACCESS_ASK, http_ask_should_allow},
    {"/v1/auth", HTTP_ANY, false, ACCESS_ASK, http_auth_handle},
    {"/v1/should-allow-batch", HTTP_POST, false, ACCESS_ASK, http_batch_should_allow},
    {"/v1/refund", HTTP_POST, false, ACCESS_REFUND, http_ask_refund},
    {"/v1/reset", HTTP_POST, false, ACCESS_REFUND, http_ask_reset},
    {"/json", HTTP_POST, false, ACCESS_ASK, http_envoy_handle},
    {"/metrics", HTTP_GET, true, ACCESS_ADMIN, http_admin_metrics},
    {"/healthz", HTTP_GET, true, 0, http_admin_healthz},
    {"/readyz", HTTP_GET, true, 0, http_admin_readyz},
    {"/v1/counters", HTTP_GET, true, ACCESS_ADMIN, http_admin_counters},
    {"/v1/reload", HTTP_POST, true, ACCESS_ADMIN, http_admin_reload},
};

static const struct http_endpoint *http_find(struct slice path)
{
    for (size_t i = 0; i < sizeof(http_endpoints) / sizeof(http_endpoints[0]); i++) {
        if (slice_equal_text(path, http_endpoints[i].path)) {
            return &http_endpoints[i];
        }
    }
    return NULL;
}

static const char *http_allowed(unsigned methods)
{
    switch (methods) {
    case HTTP_GET:
        return "GET, HEAD";
    case HTTP_POST:
        return "POST";
    default:
        return "GET, HEAD, POST";
    }
}

static bool http_takes(const struct http_endpoint *endpoint, struct slice method)
{
    unsigned asked = slice_equal_text(method, "POST") ? HTTP_POST
                     : slice_equal_text(method, "GET") || slice_equal_text(method, "HEAD")
                         ? HTTP_GET
                         : 0;
    return endpoint->methods == HTTP_ANY || (endpoint->methods & asked) != 0;
}

/* What the request's token is good for. */
static unsigned http_rights(struct wire_worker *worker, const struct http_request *request)
{
    struct slice token;
    uint32_t count;
    if (worker->config->access == NULL) {
        return ACCESS_ALL;
    }
    struct slice value = http_api_header(request, "authorization", &count);
    return count == 1 && access_bearer(value, &token) ? access_rights(worker, token) : 0;
}

/* May the request be answered at all? False: it was refused. */
static bool http_may(struct http_turn *turn, const struct http_endpoint *endpoint)
{
    struct request_error error;
    if (endpoint->admin && !turn->peer->admin) {
        http_turn_problem(turn, 403, "", "answered on an admin listener only");
        return false;
    }
    if (endpoint->right != 0 &&
        !access_check(turn->peer, (enum access_right)endpoint->right, &error)) {
        http_turn_error(turn, &error);
        return false;
    }
    return true;
}

void http_api_handle(struct wire_worker *worker, const struct wire_peer *peer,
                     const struct http_request *request, int64_t now_ns,
                     struct http_response *response, uint64_t *answered)
{
    struct wire_peer own = *peer;
    own.rights = http_rights(worker, request);
    struct http_turn turn = {.worker = worker,
                             .scratch = worker->scratch,
                             .peer = &own,
                             .request = request,
                             .now_ns = now_ns,
                             .response = response,
                             .answered = answered};
    const struct http_endpoint *endpoint = http_find(request->path);
    response->status = 500;
    response->header_count = 0;
    response->body = slice_make(NULL, 0);
    if (endpoint == NULL) {
        http_turn_problem(&turn, 404, "", "there is no such endpoint; POST /v1/should-allow asks "
                                          "for a decision");
        return;
    }
    if (!http_takes(endpoint, request->method)) {
        http_turn_problem(&turn, 405, "", "this endpoint does not take that method; the Allow "
                                          "field says which");
        http_turn_header(&turn, "allow", slice_text(http_allowed(endpoint->methods)));
        return;
    }
    if (!http_may(&turn, endpoint)) {
        return;
    }
    engine_rewind(worker->engine);
    endpoint->handle(&turn);
}

size_t http_api_body_bytes_max(struct slice path)
{
    return slice_equal_text(path, "/v1/should-allow-batch") ? LIMITS_HTTP_BATCH_BODY_BYTES_MAX
                                                            : LIMITS_HTTP_BODY_BYTES_MAX;
}

struct slice http_api_header(const struct http_request *request, const char *name,
                             uint32_t *count)
{
    struct slice value = slice_make(NULL, 0);
    size_t size = strlen(name);
    *count = 0;
    for (uint32_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        if (header->name.size != size || memcmp(header->name.data, name, size) != 0) {
            continue;
        }
        if (*count == 0) {
            value = header->value;
        }
        (*count)++;
    }
    return value;
}

void http_api_problem(struct wire_worker *worker, int status, const char *field,
                      const char *detail, struct http_response *response)
{
    metrics_request_error(worker->metrics, METRICS_HTTP, (int)http_status_code(status));
    http_turn_write_problem(worker->arena, status, field, detail, response);
}
