/* What the operator writes stands in the target (?route=, ?cost=, ?attribute.x=, ?key_header=,
 * ?deny=); what the gateway fills in stands in header fields and wins. A field that comes twice is
 * refused: its second may be the client's own. */
#include "wire/http_auth.h"

#include "base/text.h"
#include "wire/http_ask.h"
#include "wire/http_headers.h"
#include "wire/http_query.h"

#define AUTH_STATUS_FIRST 400u
#define AUTH_STATUS_LAST 599u

static const char auth_prefix[] = "x-sluice-";
static const char auth_attribute[] = "attribute-";

enum auth_seen {
    AUTH_KEY = 1,
    AUTH_ROUTE = 2,
    AUTH_COST = 4,
    AUTH_DENY = 8,
    AUTH_KEY_HEADER = 16
};

struct auth {
    struct http_turn *turn;
    struct request *request;
    int deny;                /* the status of a refusal */
    struct slice key_header; /* a field whose value is the key; its name */
    unsigned in_query;       /* enum auth_seen, or-ed */
    unsigned in_fields;
    uint32_t fixed; /* attributes from fields, a bit an index */
};

static bool auth_fail(struct auth *auth, const char *field, const char *why)
{
    http_turn_problem(auth->turn, 400, field, why);
    return false;
}

static struct slice auth_trim(struct slice text)
{
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text = slice_make(text.data + 1, text.size - 1);
    }
    while (text.size > 0 &&
           (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) {
        text.size--;
    }
    return text;
}

static bool auth_take_deny(struct auth *auth, struct slice value)
{
    uint64_t status;
    if (text_parse_u64(value, &status) != STATUS_OK || status < AUTH_STATUS_FIRST ||
        status > AUTH_STATUS_LAST) {
        return auth_fail(auth, "deny", "deny must be a status from 400 to 599");
    }
    auth->deny = (int)status;
    return true;
}

static enum auth_seen auth_parameter(struct slice name)
{
    return slice_equal_text(name, "route")        ? AUTH_ROUTE
           : slice_equal_text(name, "cost")       ? AUTH_COST
           : slice_equal_text(name, "deny")       ? AUTH_DENY
           : slice_equal_text(name, "key_header") ? AUTH_KEY_HEADER
                                                  : 0;
}

static bool auth_take_parameter(struct auth *auth, struct slice name, struct slice value)
{
    enum auth_seen which = auth_parameter(name);
    if (auth->in_query & which) {
        return auth_fail(auth, "", "a query parameter is given twice");
    }
    auth->in_query |= which;
    if (which == AUTH_ROUTE) {
        auth->request->route = value;
        return true;
    }
    if (which == AUTH_KEY_HEADER) {
        auth->key_header = value;
        return true;
    }
    if (which == AUTH_DENY) {
        return auth_take_deny(auth, value);
    }
    return http_ask_parameter(auth->request, name, value) ||
           auth_fail(auth, "", "there is no such query parameter; route, cost, attribute.<name>, "
                               "key_header and deny are known");
}

static bool auth_read_query(struct auth *auth)
{
    struct slice query = auth->turn->request->query;
    for (;;) {
        struct slice name;
        struct slice value;
        switch (http_query_next(&query, auth->turn->worker->arena, &name, &value)) {
        case HTTP_QUERY_END:
            return true;
        case HTTP_QUERY_BAD:
            return auth_fail(auth, "",
                             "a % in the query is not followed by two hexadecimal digits");
        case HTTP_QUERY_NEXT:
            break;
        }
        if (!auth_take_parameter(auth, name, value)) {
            return false;
        }
    }
}

/* A field's attribute takes the place of the query's. */
static bool auth_take_attribute(struct auth *auth, struct slice name, struct slice value)
{
    struct request *request = auth->request;
    char field[LIMITS_FIELD_BYTES_MAX];
    uint32_t stored = request->attribute_count < LIMITS_ATTRIBUTES_MAX ? request->attribute_count
                                                                       : LIMITS_ATTRIBUTES_MAX;
    for (uint32_t i = 0; i < stored; i++) {
        if (!slice_equal(request->attributes[i].name, name)) {
            continue;
        }
        if (auth->fixed & 1u << i) {
            return auth_fail(auth, request_attribute_field(name, field),
                             "an X-Sluice-Attribute field is repeated");
        }
        auth->fixed |= 1u << i;
        request->attributes[i].value = value;
        return true;
    }
    if (stored < LIMITS_ATTRIBUTES_MAX) {
        auth->fixed |= 1u << stored;
    }
    http_ask_attribute(request, name, value);
    return true;
}

static bool auth_once(struct auth *auth, enum auth_seen which, const char *field)
{
    if (auth->in_fields & which) {
        return auth_fail(auth, field, "an X-Sluice field is repeated; a client may have added "
                                      "its own");
    }
    auth->in_fields |= which;
    return true;
}

/* An X-Sluice field, `name` without the prefix. Others than those known are nobody's. */
static bool auth_take_field(struct auth *auth, struct slice name, struct slice value)
{
    struct request *request = auth->request;
    size_t size = sizeof(auth_attribute) - 1;
    if (slice_equal_text(name, "key")) {
        request->key = value;
        return auth_once(auth, AUTH_KEY, "key");
    }
    if (slice_equal_text(name, "route")) {
        request->route = value;
        return auth_once(auth, AUTH_ROUTE, "route");
    }
    if (slice_equal_text(name, "cost")) {
        request->has_cost = true;
        request->cost_invalid = text_parse_u64(value, &request->cost) != STATUS_OK;
        return auth_once(auth, AUTH_COST, "cost");
    }
    if (name.size >= size && memcmp(name.data, auth_attribute, size) == 0) {
        return auth_take_attribute(auth, slice_make(name.data + size, name.size - size), value);
    }
    return true;
}

static bool auth_read_fields(struct auth *auth)
{
    const struct http_request *http = auth->turn->request;
    size_t size = sizeof(auth_prefix) - 1;
    for (uint32_t i = 0; i < http->header_count; i++) {
        struct slice name = http->headers[i].name;
        if (name.size > size && memcmp(name.data, auth_prefix, size) == 0 &&
            !auth_take_field(auth, slice_make(name.data + size, name.size - size),
                             auth_trim(http->headers[i].value))) {
            return false;
        }
    }
    return true;
}

/* The only field of that name, if there is one. False: answered. */
static bool auth_only(struct auth *auth, const char *name, const char *field, struct slice *value,
                      bool *found)
{
    uint32_t count;
    *value = auth_trim(http_api_header(auth->turn->request, name, &count));
    *found = count > 0;
    return count <= 1 ||
           auth_fail(auth, field, "a header field that says who or what is counted is repeated");
}

/* The key from the field that the operator named. */
static bool auth_find_key(struct auth *auth)
{
    char name[LIMITS_FIELD_BYTES_MAX];
    bool found;
    if (auth->in_fields & AUTH_KEY || auth->key_header.size == 0) {
        return true;
    }
    if (auth->key_header.size >= sizeof(name)) {
        return auth_fail(auth, "key", "key_header names a field with a name too long");
    }
    for (size_t i = 0; i < auth->key_header.size; i++) {
        uint8_t byte = auth->key_header.data[i];
        name[i] = (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
    }
    name[auth->key_header.size] = '\0';
    return auth_only(auth, name, "key", &auth->request->key, &found);
}

/* "GET /path" from what a gateway says of the request it holds. False: answered. */
static bool auth_forwarded_route(struct auth *auth, const char *method_name, const char *uri_name,
                                 bool *found)
{
    struct slice method;
    struct slice uri;
    bool has_uri;
    if (!auth_only(auth, method_name, "route", &method, found) ||
        !auth_only(auth, uri_name, "route", &uri, &has_uri)) {
        return false;
    }
    *found = *found && has_uri && method.size > 0 && uri.size > 0;
    if (!*found) {
        return true;
    }
    const uint8_t *query = memchr(uri.data, '?', uri.size);
    uri.size = query == NULL ? uri.size : (size_t)(query - uri.data);
    uint8_t *route = http_turn_room(auth->turn, method.size + 1 + uri.size);
    if (route == NULL) {
        return false;
    }
    memcpy(route, method.data, method.size);
    route[method.size] = ' ';
    memcpy(route + method.size + 1, uri.data, uri.size);
    auth->request->route = slice_make(route, method.size + 1 + uri.size);
    return true;
}

static bool auth_find_route(struct auth *auth)
{
    bool found = ((auth->in_fields | auth->in_query) & AUTH_ROUTE) != 0;
    if (!found && !auth_forwarded_route(auth, "x-forwarded-method", "x-forwarded-uri", &found)) {
        return false;
    }
    return found ||
           auth_forwarded_route(auth, "x-original-method", "x-original-uri", &found);
}

void http_auth_handle(struct http_turn *turn)
{
    struct request *request = &turn->scratch->entries[0].request;
    struct auth auth = {.turn = turn, .request = request, .deny = 429};
    *request = (struct request){.details = true}; /* values are bytes, not UTF-8 */
    metrics_request(turn->worker->metrics, http_turn_protocol(turn), METRICS_SHOULD_ALLOW, 1);
    if (!auth_read_query(&auth) || !auth_read_fields(&auth) || !auth_find_key(&auth) ||
        !auth_find_route(&auth) || !http_turn_decide(turn)) {
        return;
    }
    bool refused = !turn->scratch->decision.shown.allowed;
    turn->response->status = refused ? auth.deny : 200;
    (void)http_headers_add(turn, refused);
}
