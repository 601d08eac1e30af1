/* The HTTP API, whichever version carries it: one request in, one response out. Framing is
 * http1.c's and http2.c's; what an endpoint means is here and in http_*.c beside it.
 *
 * All memory of a response is the worker's arena or static; it holds until the next feed. */
#ifndef WIRE_HTTP_API_H
#define WIRE_HTTP_API_H

#include "wire/wire.h"

struct http_header {
    struct slice name; /* lower case */
    struct slice value;
};

struct http_request {
    struct slice method;
    struct slice path;  /* before the first '?', as sent */
    struct slice query; /* after it; empty */
    const struct http_header *headers;
    uint32_t header_count;
    struct slice body;
    bool has_body; /* a body was framed, even an empty one */
};

#define HTTP_RESPONSE_HEADERS 12

struct http_response {
    int status;
    struct http_header headers[HTTP_RESPONSE_HEADERS]; /* content-length and date excluded */
    uint32_t header_count;
    struct slice body;
};

/* Decides or refuses; always fills *response. *answered is raised by the decisions made. The caller
 * has entered the engine; it is rewound here. The arena is the caller's to reset. */
void http_api_handle(struct wire_worker *worker, const struct wire_peer *peer,
                     const struct http_request *request, int64_t now_ns,
                     struct http_response *response, uint64_t *answered);

/* The longest body that this path takes; a longer one is answered with 413. */
size_t http_api_body_bytes_max(struct slice path);

/* The value of the first header of that (lower-case) name; *count says how many there are. */
struct slice http_api_header(const struct http_request *request, const char *name,
                             uint32_t *count);

/* problem+json with one sentence, for faults of framing too. */
void http_api_problem(struct wire_worker *worker, int status, const char *field,
                      const char *detail, struct http_response *response);

#endif
