/* One request of the HTTP API on its way through its endpoint: what http_api.c hands to the
 * handlers in http_ask.c, http_auth.c, http_batch.c and the like. */
#ifndef WIRE_HTTP_TURN_H
#define WIRE_HTTP_TURN_H

#include "wire/http_api.h"
#include "wire/wire_scratch.h"

struct http_turn {
    struct wire_worker *worker;
    struct wire_scratch *scratch; /* the worker's */
    const struct wire_peer *peer;
    const struct http_request *request;
    int64_t now_ns;
    struct http_response *response;
    uint64_t *answered;
};

/* Room in the arena; NULL: the turn is answered with 503. */
uint8_t *http_turn_room(struct http_turn *turn, size_t size);

/* What the request counts under. */
enum metrics_protocol http_turn_protocol(const struct http_turn *turn);

/* problem+json with one sentence, uncounted. */
void http_turn_write_problem(struct arena *arena, int status, const char *field,
                             const char *detail, struct http_response *response);

/* Answers with problem+json; `field` may be "". */
void http_turn_problem(struct http_turn *turn, int status, const char *field, const char *detail);
void http_turn_error(struct http_turn *turn, const struct request_error *error);

/* Answers with JSON that ends at `end`. */
void http_turn_json(struct http_turn *turn, int status, const uint8_t *begin, const uint8_t *end);

static inline void http_turn_header(struct http_turn *turn, const char *name, struct slice value)
{
    struct http_response *response = turn->response;
    if (response->header_count < HTTP_RESPONSE_HEADERS) {
        response->headers[response->header_count++] =
            (struct http_header){.name = slice_text(name), .value = value};
    }
}

/* The body is there and said to be JSON (or nothing is said). False: answered. */
bool http_turn_has_json(struct http_turn *turn);

/* No parameter stands in the target. False: answered. */
bool http_turn_has_no_query(struct http_turn *turn);

/* Prepares the scratch's first entry and decides it into scratch->decision. False: answered. */
bool http_turn_decide(struct http_turn *turn);

#endif
