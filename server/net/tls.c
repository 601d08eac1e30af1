#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>

/* Of TLS 1.2 only what has forward secrecy and authenticates what it encrypts; all suites of
 * TLS 1.3 do. */
#define TLS_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

struct tls {
    struct tls_files files;
    BIO_METHOD *method; /* of the sessions' BIOs */
    SSL_CTX *context;   /* in force */
};

struct tls_session {
    SSL *ssl;
    struct slice in;   /* given and not used */
    struct buf kept;   /* where `in` points between two reads */
    struct buf *out;   /* of the call that runs */
    const char *why;
    bool web;
};

/* ---- the BIO of a session: bytes that are lent to it ---- */

static int tls_bio_read(BIO *bio, char *to, size_t room, size_t *size)
{
    struct tls_session *session = BIO_get_data(bio);
    size_t taken = session->in.size < room ? session->in.size : room;
    BIO_clear_retry_flags(bio);
    *size = taken;
    if (taken == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    memcpy(to, session->in.data, taken);
    session->in = slice_make(session->in.data + taken, session->in.size - taken);
    return 1;
}

static int tls_bio_write(BIO *bio, const char *from, size_t size, size_t *taken)
{
    struct tls_session *session = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *taken = size;
    if (session->out == NULL) {
        return 0;
    }
    buf_append(session->out, from, size);
    return !session->out->failed;
}

static long tls_bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *tls_bio_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "connection");
    if (method != NULL && BIO_meth_set_read_ex(method, tls_bio_read) == 1 &&
        BIO_meth_set_write_ex(method, tls_bio_write) == 1 &&
        BIO_meth_set_ctrl(method, tls_bio_ctrl) == 1) {
        return method;
    }
    BIO_meth_free(method);
    return NULL;
}

/* ---- the context ---- */

/* A key with a pass phrase is refused; OpenSSL would ask the terminal. */
static int tls_no_pass_phrase(char *to, int room, int writing, void *data)
{
    (void)to;
    (void)room;
    (void)writing;
    (void)data;
    return -1;
}

/* "h2" before "http/1.1", as the peer allows. Other protocols choose nothing. */
static int tls_choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *size,
                               const unsigned char *offered, unsigned offered_size, void *data)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    const struct tls_session *session = SSL_get_app_data(ssl);
    unsigned char *found = NULL;
    (void)data;
    if (!session->web) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    if (SSL_select_next_proto(&found, size, ours, sizeof(ours) - 1, offered, offered_size) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

static enum status tls_fail(struct buf *why, const char *file, const char *expected)
{
    unsigned long error = ERR_peek_last_error();
    const char *reason = error == 0 ? NULL : ERR_reason_error_string(error);
    buf_printf(why, "%s: expected %s", file, expected);
    if (reason != NULL) {
        buf_printf(why, ": %s", reason);
    }
    ERR_clear_error();
    return STATUS_INVALID;
}

static enum status tls_load(SSL_CTX *context, const struct tls_files *files, struct buf *why)
{
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, files->cert) != 1) {
        return tls_fail(why, files->cert, "a certificate in PEM");
    }
    if (SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) != 1) {
        return tls_fail(why, files->key, "the certificate's private key in PEM, without a pass "
                                         "phrase");
    }
    if (SSL_CTX_check_private_key(context) != 1) {
        return tls_fail(why, files->key, "the private key of the certificate");
    }
    if (files->client_ca == NULL) {
        return STATUS_OK;
    }
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(files->client_ca);
    if (names == NULL || SSL_CTX_load_verify_file(context, files->client_ca) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return tls_fail(why, files->client_ca, "certificates in PEM");
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return STATUS_OK;
}

/* What a peer may make a session hold is bounded: no session is kept on this side, none is
 * negotiated again, and buffers go back while a connection is idle. */
static SSL_CTX *tls_make_context(BIO_METHOD *method)
{
    static const unsigned char name[] = "sluiced";
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL) {
        return NULL;
    }
    SSL_CTX_set_app_data(context, method);
    SSL_CTX_set_default_passwd_cb(context, tls_no_pass_phrase);
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                           SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, tls_choose_protocol, NULL);
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
        SSL_CTX_set_cipher_list(context, TLS_CIPHERS) == 1 &&
        SSL_CTX_set_session_id_context(context, name, sizeof(name) - 1) == 1) {
        return context;
    }
    SSL_CTX_free(context);
    return NULL;
}

enum status tls_read_files(struct tls *tls, struct buf *why)
{
    SSL_CTX *context = tls_make_context(tls->method);
    if (context == NULL) {
        buf_append_text(why, "TLS: out of memory");
        return STATUS_NO_MEMORY;
    }
    enum status status = tls_load(context, &tls->files, why);
    if (status != STATUS_OK) {
        SSL_CTX_free(context);
        return status;
    }
    SSL_CTX_free(tls->context);
    tls->context = context;
    return STATUS_OK;
}

enum status tls_create(const struct tls_files *files, struct tls **out, struct buf *why)
{
    struct tls *tls = calloc(1, sizeof(*tls));
    *out = NULL;
    if (tls == NULL) {
        buf_append_text(why, "TLS: out of memory");
        return STATUS_NO_MEMORY;
    }
    tls->files = *files;
    tls->method = tls_bio_method();
    enum status status = STATUS_NO_MEMORY;
    if (tls->method != NULL) {
        status = tls_read_files(tls, why);
    }
    if (status != STATUS_OK) {
        tls_destroy(&tls);
    }
    *out = tls;
    return status;
}

void tls_destroy(struct tls **tls)
{
    if (*tls == NULL) {
        return;
    }
    SSL_CTX_free((*tls)->context);
    BIO_meth_free((*tls)->method);
    free(*tls);
    *tls = NULL;
}

struct ssl_ctx_st *tls_context(struct tls *tls)
{
    return SSL_CTX_up_ref(tls->context) == 1 ? tls->context : NULL;
}

void tls_release(struct ssl_ctx_st *context)
{
    SSL_CTX_free(context);
}

/* ---- a session ---- */

struct tls_session *tls_session_create(struct ssl_ctx_st *context, bool web)
{
    struct tls_session *session = calloc(1, sizeof(*session));
    SSL *ssl = session == NULL ? NULL : SSL_new(context);
    BIO *bio = ssl == NULL ? NULL : BIO_new(SSL_CTX_get_app_data(context));
    SSL_CTX_free(context);
    if (bio == NULL) {
        SSL_free(ssl);
        free(session);
        return NULL;
    }
    buf_init(&session->kept, 0);
    session->ssl = ssl;
    session->web = web;
    session->why = "";
    BIO_set_data(bio, session);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, session);
    SSL_set_accept_state(ssl);
    return session;
}

void tls_session_destroy(struct tls_session **session)
{
    if (*session == NULL) {
        return;
    }
    SSL_free((*session)->ssl);
    buf_deinit(&(*session)->kept);
    free(*session);
    *session = NULL;
}

void tls_session_give(struct tls_session *session, struct slice records)
{
    if (session->kept.size == 0) {
        session->in = records;
        return;
    }
    buf_append_slice(&session->kept, records);
    session->in = buf_slice(&session->kept);
}

bool tls_session_keep(struct tls_session *session)
{
    struct buf *kept = &session->kept;
    if (kept->size > 0) {
        buf_consume(kept, kept->size - session->in.size);
    } else if (session->in.size > 0) {
        buf_append_slice(kept, session->in);
    }
    session->in = buf_slice(kept);
    buf_trim(kept, 0);
    return !kept->failed;
}

/* What a call of OpenSSL that did not succeed means. */
static enum tls_result tls_session_result(struct tls_session *session, int returned)
{
    int error = SSL_get_error(session->ssl, returned);
    session->out = NULL;
    if (error == SSL_ERROR_WANT_READ) {
        return TLS_MORE;
    }
    if (error == SSL_ERROR_ZERO_RETURN) {
        return TLS_ENDED;
    }
    unsigned long code = ERR_peek_last_error();
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    session->why = reason == NULL ? "no TLS" : reason;
    ERR_clear_error();
    return TLS_BROKEN;
}

enum tls_result tls_session_handshake(struct tls_session *session, struct buf *out)
{
    ERR_clear_error();
    session->out = out;
    int returned = SSL_do_handshake(session->ssl);
    if (returned == 1) {
        session->out = NULL;
        return TLS_DONE;
    }
    return tls_session_result(session, returned);
}

bool tls_session_is_ready(const struct tls_session *session)
{
    return SSL_is_init_finished(session->ssl) == 1;
}

enum tls_result tls_session_read(struct tls_session *session, uint8_t *to, size_t room,
                                 size_t *size, struct buf *out)
{
    ERR_clear_error();
    session->out = out;
    *size = 0;
    int returned = SSL_read_ex(session->ssl, to, room, size);
    if (returned == 1) {
        session->out = NULL;
        return TLS_DONE;
    }
    return tls_session_result(session, returned);
}

bool tls_session_write(struct tls_session *session, struct slice plain, struct buf *out)
{
    size_t written;
    ERR_clear_error();
    session->out = out;
    bool good = plain.size == 0 ||
                SSL_write_ex(session->ssl, plain.data, plain.size, &written) == 1;
    session->out = NULL;
    ERR_clear_error();
    return good;
}

void tls_session_finish(struct tls_session *session, struct buf *out)
{
    if (!tls_session_is_ready(session)) {
        return;
    }
    ERR_clear_error();
    session->out = out;
    (void)SSL_shutdown(session->ssl);
    session->out = NULL;
    ERR_clear_error();
}

const char *tls_session_why(const struct tls_session *session)
{
    return session->why;
}
