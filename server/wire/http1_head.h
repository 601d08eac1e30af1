/* The head of an HTTP/1.x request: request line and header fields, read in one pass.
 *
 * Written here rather than taken from llhttp: a library would be fed each byte for its own state
 * machine and still need a second pass for what it lets through (a bare CR, a folded field, a blank
 * before the colon; no limit on the head). A daemon that sits behind gateways must not read two
 * requests where the gateway saw one, so whatever RFC 9112 leaves to taste is refused here:
 *
 *   lines end in CR LF, and neither byte stands anywhere else; no folding; no blank before the
 *   colon; one Host; one Content-Length of digits, or one Transfer-Encoding: chunked, not both */
#ifndef WIRE_HTTP1_HEAD_H
#define WIRE_HTTP1_HEAD_H

#include "base/limits.h"
#include "wire/http_api.h"

enum http1_head_result {
    HTTP1_HEAD_OK,
    HTTP1_HEAD_MORE, /* it does not end here, and is good so far */
    HTTP1_HEAD_BAD   /* status and detail say why; nothing after it can be read */
};

struct http1_head {
    struct http_request request; /* without the body; its fields are `headers` */
    size_t size;                 /* with the empty line */
    bool minor_0;                /* HTTP/1.0 */
    bool close;                  /* said so, or HTTP/1.0 without keep-alive */
    bool keep_alive;             /* said so */
    bool chunked;
    bool has_length;
    uint64_t content_length;
    bool expect_continue;
    int status; /* of HTTP1_HEAD_BAD */
    const char *detail;
    uint32_t hosts;
    uint32_t encodings;
    struct http_header headers[LIMITS_HTTP_HEADERS_MAX];
    uint8_t names[LIMITS_HTTP_HEAD_BYTES_MAX]; /* the fields' names in lower case */
};

/* Reads the head at the front of `in`; its slices point into `in` and into *head. */
enum http1_head_result http1_head_read(struct http1_head *head, struct slice in);

/* One header field, or one of a chunked body's trailers: `line` without its CR LF. The name is
 * written in lower case to `name`, where line.size bytes are free. False: it is none. */
bool http1_head_field(struct slice line, uint8_t *name, struct http_header *out);

#endif
