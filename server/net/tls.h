/* TLS between a socket and an adapter: bytes of records in, plain bytes out, and back. OpenSSL sees
 * no socket; what comes and goes is lent to it for one call, so that an idle connection holds
 * nothing but its session.
 *
 *   main thread   tls_read_files -> the context in force; tls_context lends it to each socket
 *   worker        tls_session_create ... tls_session_handshake, _read, _write, _finish
 *
 * Certificates are replaced by making a new context. Connections keep the one they began with, so
 * none is lost.
 *
 * Thread safety: a struct tls belongs to the main thread, a session to the thread of its
 * connection; contexts are counted by OpenSSL and may cross. */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "base/buf.h"

struct ssl_ctx_st;
struct tls;
struct tls_session;

struct tls_files {
    const char *cert;      /* PEM: the certificate, then those between it and the root */
    const char *key;       /* PEM, without a pass phrase */
    const char *client_ca; /* PEM: who signs the certificates that peers have to show; NULL: none
                            * is asked for */
};

enum tls_result {
    TLS_DONE,   /* the handshake is over; or *size bytes were read */
    TLS_MORE,   /* the next record is not all here */
    TLS_ENDED,  /* the peer said that it sends no more */
    TLS_BROKEN  /* no TLS, or not as it must be: what is in `out` goes out, then the connection
                 * ends */
};

/* The names are kept, not copied. On failure *why has one sentence. */
STATUS_CHECKED enum status tls_create(const struct tls_files *files, struct tls **out,
                                      struct buf *why);
/* After the last session has gone. */
void tls_destroy(struct tls **tls);

/* Reads the files again. On failure the old ones stay in force. */
STATUS_CHECKED enum status tls_read_files(struct tls *tls, struct buf *why);

/* The context in force, counted for the caller; hand it to tls_session_create or tls_release. */
struct ssl_ctx_st *tls_context(struct tls *tls);
/* NULL is nothing. */
void tls_release(struct ssl_ctx_st *context);

/* Takes the context over. `web`: the peer may choose h2 or http/1.1. NULL: no memory. */
struct tls_session *tls_session_create(struct ssl_ctx_st *context, bool web);
void tls_session_destroy(struct tls_session **session);

/* Bytes from the socket; they are lent until tls_session_keep. */
void tls_session_give(struct tls_session *session, struct slice records);
/* Copies what was given and not yet used. False: no memory. */
bool tls_session_keep(struct tls_session *session);

/* What there is to send is appended to `out`. */
enum tls_result tls_session_handshake(struct tls_session *session, struct buf *out);
bool tls_session_is_ready(const struct tls_session *session);

/* Up to `room` plain bytes. Answers that TLS itself makes are appended to `out`. */
enum tls_result tls_session_read(struct tls_session *session, uint8_t *to, size_t room,
                                 size_t *size, struct buf *out);

/* Appends the records of some plain bytes. False: no memory. */
bool tls_session_write(struct tls_session *session, struct slice plain, struct buf *out);

/* Appends the farewell, as far as the handshake came. */
void tls_session_finish(struct tls_session *session, struct buf *out);

/* Why a session is broken: one static phrase. */
const char *tls_session_why(const struct tls_session *session);

#endif
