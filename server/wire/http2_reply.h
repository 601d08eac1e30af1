/* Answers on their way to nghttp2. */
#ifndef WIRE_HTTP2_REPLY_H
#define WIRE_HTTP2_REPLY_H

#include "wire/http2_session.h"

/* What was appended to stream->answer since it had `before` bytes goes out; `complete`: nothing
 * will follow, and the call ended well. */
void http2_reply_messages(struct http2_session *session, struct http2_stream *stream,
                          size_t before, bool complete);

/* The call ends with a code and, for an error, a sentence. */
void http2_reply_status(struct http2_session *session, struct http2_stream *stream, int code,
                        const struct request_error *error);

/* A response of the JSON API; its memory is no longer needed afterwards. */
void http2_reply_http(struct http2_session *session, struct http2_stream *stream,
                      const struct http_response *response);

#endif
