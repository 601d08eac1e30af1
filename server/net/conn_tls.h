/* The way of a TLS connection's bytes between the socket and conn.c.
 *
 *   read -> tls_session -> shared plain buffer -> conn_feed -> seal -> one write
 *
 * What was read and is not yet used waits in the session while the socket does not take the
 * answers, so a peer that does not read is not read from, here as well. */
#ifndef NET_CONN_TLS_H
#define NET_CONN_TLS_H

#include "net/conn_state.h"

/* Room for the records of so many plain bytes: 22 more for each 16 KiB, and a few of TLS's own. */
#define CONN_TLS_RECORDS_BYTES(plain) ((plain) + (plain) / 512 + 64 * 1024)

/* Takes the context over. False: no memory. */
bool conn_tls_open(struct conn *conn, struct ssl_ctx_st *context);
/* The handshake is waited for, so long and no longer. */
void conn_tls_await(struct conn *conn);

/* Records were read. */
void conn_tls_take(struct conn *conn, struct slice records);
/* Goes on with what was read before, while the socket takes the answers. */
void conn_tls_pull(struct conn *conn);

/* Turns the shared output into records; what is to be sent. */
struct buf *conn_tls_seal(struct conn *conn);
/* Seals, and says farewell. */
void conn_tls_finish(struct conn *conn);

#endif
