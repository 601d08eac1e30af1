/* HTTP of either version on one address: the first bytes tell which, and its adapter goes on.
 *
 * web_protocol is what `http` listeners speak; `grpc` listeners speak the same (web_grpc.c), so
 * that both may share an address. */
#ifndef WIRE_WEB_H
#define WIRE_WEB_H

#include "wire/wire.h"

extern const struct wire_protocol web_protocol;

/* Room for an unfinished body of HTTP/1 with its framing; HTTP/2 leaves nothing with its caller. */
#define WEB_BODY_BYTES (2 * LIMITS_HTTP_BATCH_BODY_BYTES_MAX)

/* The parts of the table, for web_grpc.c. */
void *web_open(struct wire_worker *worker, const struct wire_peer *peer, struct buf *out);
enum wire_result web_feed(void *session, struct wire_worker *worker, struct slice in,
                          size_t *consumed, int64_t now_ns, struct buf *out, uint64_t *answered);
bool web_is_waiting(const void *session, size_t unconsumed);
int64_t web_waiting_since(const void *session);
void web_timed_out(void *session, struct wire_worker *worker, struct buf *out);
bool web_shutdown(void *session, struct buf *out);
void web_close(void **session);

#endif
