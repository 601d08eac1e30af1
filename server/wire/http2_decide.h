/* What each whole request of an HTTP/2 connection is answered. */
#ifndef WIRE_HTTP2_DECIDE_H
#define WIRE_HTTP2_DECIDE_H

#include "wire/http2_session.h"

/* Is there something about the stream that can be decided now? */
bool http2_decide_is_due(const struct http2_stream *stream);

/* Answers what is ready, as long as the answers that wait for the peer are below their bound. */
void http2_decide(struct http2_session *session);

/* Ends the calls that would stay open: watches are told that the server goes. */
void http2_decide_farewell(struct http2_session *session);

/* Ends the requests that were begun and never finished. */
void http2_decide_time_out(struct http2_session *session);

#endif
