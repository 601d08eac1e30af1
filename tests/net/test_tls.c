/* Sessions against OpenSSL's own client, over bytes in memory: in pieces, in bulk, broken, ended,
 * and with files that are replaced meanwhile. */
#include "net/tls.h"

#include <criterion/criterion.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/test_tls.XXXXXX";
static char cert_path[64];
static char key_path[64];
static struct tls *tls;
static SSL_CTX *client_context;

/* A client, and what is on its way to the server. */
struct peer {
    SSL *ssl;
    BIO *in;
    BIO *out;
};

static void write_pair(const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    FILE *file = fopen(key_path, "w");
    cr_assert(key != NULL && cert != NULL && file != NULL);
    cr_assert_eq(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    cr_assert_eq(X509_set_version(cert, X509_VERSION_3), 1);
    cr_assert_eq(ASN1_INTEGER_set(X509_get_serialNumber(cert), 1), 1);
    cr_assert_not_null(X509_gmtime_adj(X509_getm_notBefore(cert), -60));
    cr_assert_not_null(X509_gmtime_adj(X509_getm_notAfter(cert), 3600));
    cr_assert_eq(X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                                            (const unsigned char *)name, -1, -1, 0), 1);
    cr_assert_eq(X509_set_issuer_name(cert, X509_get_subject_name(cert)), 1);
    cr_assert_eq(X509_set_pubkey(cert, key), 1);
    cr_assert_neq(X509_sign(cert, key, EVP_sha256()), 0);
    file = fopen(cert_path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(PEM_write_X509(file, cert), 1);
    fclose(file);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void start(void)
{
    struct buf why;
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(cert_path, sizeof(cert_path), "%s/cert", folder);
    (void)snprintf(key_path, sizeof(key_path), "%s/key", folder);
    write_pair("first");
    const struct tls_files files = {.cert = cert_path, .key = key_path};
    buf_init(&why, 0);
    cr_assert_eq(tls_create(&files, &tls, &why), STATUS_OK, "%.*s", (int)why.size,
                 (const char *)why.data);
    buf_deinit(&why);
    client_context = SSL_CTX_new(TLS_client_method());
    cr_assert_not_null(client_context);
}

static void stop(void)
{
    tls_destroy(&tls);
    SSL_CTX_free(client_context);
    (void)unlink(cert_path);
    (void)unlink(key_path);
    (void)rmdir(folder);
}

TestSuite(tls, .init = start, .fini = stop);

static struct peer peer_make(void)
{
    struct peer peer = {.ssl = SSL_new(client_context),
                        .in = BIO_new(BIO_s_mem()),
                        .out = BIO_new(BIO_s_mem())};
    cr_assert(peer.ssl != NULL && peer.in != NULL && peer.out != NULL);
    SSL_set_bio(peer.ssl, peer.in, peer.out);
    SSL_set_connect_state(peer.ssl);
    return peer;
}

static void to_peer(struct peer *peer, struct buf *records)
{
    if (records->size > 0) {
        cr_assert_eq(BIO_write(peer->in, records->data + records->start, (int)records->size),
                     (int)records->size);
    }
    buf_clear(records);
}

/* The next bytes from the peer, at most `most`; 0: none. */
static size_t from_peer(struct peer *peer, uint8_t *to, size_t most)
{
    int size = BIO_read(peer->out, to, (int)most);
    return size > 0 ? (size_t)size : 0;
}

/* Both until the handshake is over on both sides, so many bytes at a time. */
static struct tls_session *shake(struct peer *peer, size_t most, bool web)
{
    uint8_t piece[4096];
    struct buf records;
    size_t size;
    struct tls_session *session = tls_session_create(tls_context(tls), web);
    cr_assert_not_null(session);
    buf_init(&records, 0);
    for (int i = 0; i < 100000 && (!tls_session_is_ready(session) ||
                                   !SSL_is_init_finished(peer->ssl)); i++) {
        (void)SSL_do_handshake(peer->ssl);
        while (!tls_session_is_ready(session) && (size = from_peer(peer, piece, most)) > 0) {
            tls_session_give(session, slice_make(piece, size));
            cr_assert_neq(tls_session_handshake(session, &records), TLS_BROKEN, "%s",
                          tls_session_why(session));
            cr_assert(tls_session_keep(session));
            to_peer(peer, &records);
        }
    }
    cr_assert(tls_session_is_ready(session));
    cr_assert(SSL_is_init_finished(peer->ssl));
    buf_deinit(&records);
    return session;
}

static void say(struct peer *peer, const char *text)
{
    cr_assert_eq(SSL_write(peer->ssl, text, (int)strlen(text)), (int)strlen(text));
}

static void done(struct peer *peer, struct tls_session **session)
{
    SSL_free(peer->ssl);
    tls_session_destroy(session);
    cr_expect_null(*session);
}

Test(tls, a_byte_at_a_time)
{
    uint8_t byte;
    uint8_t text[8];
    size_t size;
    size_t got = 0;
    struct buf records;
    struct peer peer = peer_make();
    struct tls_session *session = shake(&peer, 1, false);
    buf_init(&records, 0);
    say(&peer, "hello");
    while (from_peer(&peer, &byte, 1) == 1) {
        tls_session_give(session, slice_make(&byte, 1));
        enum tls_result result =
            tls_session_read(session, text + got, sizeof(text) - got, &size, &records);
        cr_assert(result == TLS_MORE || result == TLS_DONE);
        got += size;
        cr_assert(tls_session_keep(session));
    }
    cr_expect_eq(got, 5);
    cr_expect_eq(memcmp(text, "hello", 5), 0);
    buf_deinit(&records);
    done(&peer, &session);
}

Test(tls, what_was_given_and_not_read_is_kept)
{
    uint8_t piece[4096];
    uint8_t text[3];
    char all[16] = "";
    size_t size;
    struct buf records;
    struct peer peer = peer_make();
    struct tls_session *session = shake(&peer, sizeof(piece), false);
    buf_init(&records, 0);
    say(&peer, "one");
    say(&peer, "two");
    say(&peer, "three");
    size = from_peer(&peer, piece, sizeof(piece));
    tls_session_give(session, slice_make(piece, size));
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(tls_session_read(session, text, sizeof(text), &size, &records), TLS_DONE);
        strncat(all, (const char *)text, size);
        cr_assert(tls_session_keep(session)); /* nothing is read from the socket for a while */
        memset(piece, 0, sizeof(piece));
    }
    cr_expect_eq(tls_session_read(session, text, sizeof(text), &size, &records), TLS_MORE);
    cr_expect_str_eq(all, "onetwothree");
    buf_deinit(&records);
    done(&peer, &session);
}

Test(tls, a_megabyte_out)
{
    static uint8_t plain[1 << 20];
    static uint8_t seen[1 << 20];
    struct buf records;
    size_t got = 0;
    struct peer peer = peer_make();
    struct tls_session *session = shake(&peer, 4096, false);
    for (size_t i = 0; i < sizeof(plain); i++) {
        plain[i] = (uint8_t)(i * 31 + i / 7919);
    }
    buf_init(&records, 0);
    cr_assert(tls_session_write(session, slice_make(plain, sizeof(plain)), &records));
    cr_expect_lt(records.size, sizeof(plain) + sizeof(plain) / 512 + 64 * 1024);
    to_peer(&peer, &records);
    int size;
    while (got < sizeof(seen) &&
           (size = SSL_read(peer.ssl, seen + got, (int)(sizeof(seen) - got))) > 0) {
        got += (size_t)size;
    }
    cr_expect_eq(got, sizeof(plain));
    cr_expect_eq(memcmp(seen, plain, sizeof(plain)), 0);
    buf_deinit(&records);
    done(&peer, &session);
}

Test(tls, output_that_has_no_room_is_an_error)
{
    uint8_t plain[1000] = {0};
    struct buf records;
    struct peer peer = peer_make();
    struct tls_session *session = shake(&peer, 4096, false);
    buf_init(&records, 100);
    cr_expect_not(tls_session_write(session, slice_make(plain, sizeof(plain)), &records));
    buf_deinit(&records);
    done(&peer, &session);
}

Test(tls, farewells)
{
    uint8_t piece[4096];
    uint8_t text[16];
    size_t size;
    struct buf records;
    struct peer peer = peer_make();
    struct tls_session *session = shake(&peer, 4096, false);
    buf_init(&records, 0);
    tls_session_finish(session, &records);
    cr_expect_gt(records.size, 0);
    to_peer(&peer, &records);
    cr_expect_eq(SSL_read(peer.ssl, text, sizeof(text)), 0);
    cr_expect_eq(SSL_get_error(peer.ssl, 0), SSL_ERROR_ZERO_RETURN);
    done(&peer, &session);

    peer = peer_make();
    session = shake(&peer, 4096, false);
    (void)SSL_shutdown(peer.ssl);
    size = from_peer(&peer, piece, sizeof(piece));
    tls_session_give(session, slice_make(piece, size));
    cr_expect_eq(tls_session_read(session, text, sizeof(text), &size, &records), TLS_ENDED);
    buf_deinit(&records);
    done(&peer, &session);
}

Test(tls, what_is_no_tls)
{
    static const char *const bad[] = {"GET / HTTP/1.1\r\n\r\n", "*1\r\n$4\r\nPING\r\n",
                                      "\x05\x08\x01\x32"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct buf records;
        struct tls_session *session = tls_session_create(tls_context(tls), false);
        buf_init(&records, 0);
        tls_session_give(session, slice_text(bad[i]));
        enum tls_result result = tls_session_handshake(session, &records);
        cr_expect_eq(result, strlen(bad[i]) < 5 ? TLS_MORE : TLS_BROKEN, "%s", bad[i]);
        cr_expect(result == TLS_MORE || tls_session_why(session)[0] != '\0');
        tls_session_finish(session, &records); /* says nothing */
        tls_session_destroy(&session);
        buf_deinit(&records);
    }
}

Test(tls, alpn_is_for_the_web)
{
    static const unsigned char offered[] = "\x08http/1.1\x02h2";
    for (int web = 0; web < 2; web++) {
        const unsigned char *chosen;
        unsigned size;
        struct peer peer = peer_make();
        cr_assert_eq(SSL_set_alpn_protos(peer.ssl, offered, sizeof(offered) - 1), 0);
        struct tls_session *session = shake(&peer, 4096, web == 1);
        SSL_get0_alpn_selected(peer.ssl, &chosen, &size);
        cr_expect_eq(size, web == 1 ? 2 : 0);
        cr_expect(web == 0 || memcmp(chosen, "h2", 2) == 0);
        done(&peer, &session);
    }
}

static void expect_name(struct peer *peer, const char *name)
{
    char text[64] = "";
    X509 *cert = SSL_get1_peer_certificate(peer->ssl);
    cr_assert_not_null(cert);
    (void)X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, text,
                                    sizeof(text));
    cr_expect_str_eq(text, name);
    X509_free(cert);
}

Test(tls, files_are_replaced_under_a_session)
{
    char seen[8] = "";
    struct buf out;
    struct peer peer = peer_make();
    struct tls_session *session = shake(&peer, 4096, false);
    buf_init(&out, 0);
    expect_name(&peer, "first");
    write_pair("second");
    cr_assert_eq(tls_read_files(tls, &out), STATUS_OK);
    struct peer other = peer_make();
    struct tls_session *fresh = shake(&other, 4096, false);
    expect_name(&other, "second");
    done(&other, &fresh);

    FILE *file = fopen(key_path, "w");
    cr_assert_not_null(file);
    fclose(file);
    cr_expect_neq(tls_read_files(tls, &out), STATUS_OK);
    cr_expect(out.size > 0 && memmem(out.data + out.start, out.size, key_path,
                                     strlen(key_path)) != NULL);
    buf_clear(&out);
    other = peer_make();
    fresh = shake(&other, 4096, false);
    expect_name(&other, "second");
    done(&other, &fresh);

    cr_assert(tls_session_write(session, slice_text("still"), &out));
    to_peer(&peer, &out);
    cr_expect_eq(SSL_read(peer.ssl, seen, sizeof(seen) - 1), 5);
    cr_expect_str_eq(seen, "still");
    buf_deinit(&out);
    done(&peer, &session);
}
