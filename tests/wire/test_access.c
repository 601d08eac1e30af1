/* Tokens: the file, what a token is good for, and tables that are replaced while workers look. */
#include "wire/access.h"

#include "base/hash.h"

#include <criterion/criterion.h>
#include <stdio.h>

static char hex[65];

static const char *hash_of(const char *token)
{
    uint8_t hash[HASH_SECRET_BYTES];
    hash_secret(token, strlen(token), hash);
    for (size_t i = 0; i < sizeof(hash); i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    }
    return hex;
}

static struct access *access;
static struct wire_config config;
static struct wire_worker worker;

static void start(void)
{
    access = access_create();
    cr_assert_not_null(access);
    config = (struct wire_config){.access = access};
    worker = (struct wire_worker){.config = &config};
}

static void stop(void)
{
    access_let_go(&worker);
    access_destroy(&access);
}

TestSuite(access, .init = start, .fini = stop);

static void expect_good(const char *text)
{
    struct buf why;
    buf_init(&why, 0);
    cr_assert_eq(access_read_text(access, slice_text(text), "tokens", &why), STATUS_OK, "%.*s",
                 (int)why.size, (const char *)why.data);
    buf_deinit(&why);
}

static void expect_bad(const char *text, const char *complaint)
{
    struct buf why;
    buf_init(&why, 0);
    cr_expect_eq(access_read_text(access, slice_text(text), "tokens", &why), STATUS_INVALID);
    cr_expect_eq(why.size, strlen(complaint));
    cr_expect(why.size == strlen(complaint) && memcmp(why.data, complaint, why.size) == 0,
              "%.*s instead of %s", (int)why.size, (const char *)why.data, complaint);
    buf_deinit(&why);
}

Test(access, a_hash_is_sha_256)
{
    cr_expect_str_eq(hash_of("abc"),
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

Test(access, rights)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "# who\n\n a : %s ask\r\nb: ", hash_of("one"));
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\trefund,admin",
                   hash_of("two"));
    cr_expect_eq(access_rights(&worker, slice_text("one")), 0u, "before the file");
    expect_good(text);
    cr_expect_eq(access_count(access), 2);
    cr_expect_eq(access_rights(&worker, slice_text("one")), (unsigned)ACCESS_ASK);
    cr_expect_eq(access_rights(&worker, slice_text("two")),
                 (unsigned)(ACCESS_REFUND | ACCESS_ADMIN));
    cr_expect_eq(access_rights(&worker, slice_text("three")), 0u);
    cr_expect_eq(access_rights(&worker, slice_text("one ")), 0u);
    cr_expect_eq(access_rights(&worker, slice_text("")), 0u);
}

Test(access, without_tokens_everybody_may_ask)
{
    struct access_login login = {0};
    config.access = NULL;
    cr_expect_eq(access_rights(&worker, slice_text("any")), (unsigned)ACCESS_ALL);
    cr_expect_eq(access_login_rights(&worker, &login), (unsigned)ACCESS_ALL);
    cr_expect(access_log_in(&worker, &login, slice_text("any")));
    config.access = access;
}

Test(access, a_login_is_void_when_its_token_goes)
{
    char text[256];
    struct access_login login = {0};
    (void)snprintf(text, sizeof(text), "a: %s ask", hash_of("one"));
    expect_good(text);
    cr_expect_eq(access_login_rights(&worker, &login), 0u);
    cr_expect_not(access_log_in(&worker, &login, slice_text("wrong")));
    cr_expect(access_log_in(&worker, &login, slice_text("one")));
    cr_expect_eq(access_login_rights(&worker, &login), (unsigned)ACCESS_ASK);
    (void)snprintf(text, sizeof(text), "a: %s ask refund", hash_of("one"));
    expect_good(text);
    cr_expect_eq(access_login_rights(&worker, &login), (unsigned)(ACCESS_ASK | ACCESS_REFUND));
    expect_good("");
    cr_expect_eq(access_login_rights(&worker, &login), 0u);
    cr_expect_not(access_log_in(&worker, &login, slice_text("one")));
    cr_expect_eq(access_login_rights(&worker, &login), 0u);
}

Test(access, a_bad_file_changes_nothing)
{
    char text[256];
    (void)snprintf(text, sizeof(text), "a: %s ask", hash_of("one"));
    expect_good(text);
    expect_bad("a", "tokens:1: expected NAME: HASH RIGHT...");
    expect_bad(": x", "tokens:1: a name has 1 to 64 letters, digits, '-', '_' and '.'");
    expect_bad("\na: 12 ask",
               "tokens:2: expected the SHA-256 of the token: 64 hexadecimal digits");
    (void)snprintf(text, sizeof(text), "a: %s", hash_of("two"));
    expect_bad(text, "tokens:1: expected rights behind the hash: ask, refund, admin");
    (void)snprintf(text, sizeof(text), "a: %s asks", hash_of("two"));
    expect_bad(text, "tokens:1: a right is one of ask, refund and admin");
    cr_expect_eq(access_rights(&worker, slice_text("one")), (unsigned)ACCESS_ASK);
}

Test(access, who_may_change)
{
    static const struct {
        enum wire_changes changes;
        bool tokens;
        bool local;
        unsigned rights;
        bool may;
    } rows[] = {
        {WIRE_CHANGES_LOCAL, false, true, ACCESS_ALL, true},
        {WIRE_CHANGES_LOCAL, false, false, ACCESS_ALL, false},
        {WIRE_CHANGES_LOCAL, true, true, ACCESS_ASK, false},
        {WIRE_CHANGES_LOCAL, true, false, ACCESS_REFUND, true},
        {WIRE_CHANGES_ALL, false, false, ACCESS_ALL, true},
        {WIRE_CHANGES_ALL, true, false, ACCESS_ASK, false},
        {WIRE_CHANGES_ALL, true, false, ACCESS_REFUND, true},
        {WIRE_CHANGES_NONE, false, true, ACCESS_ALL, false},
        {WIRE_CHANGES_NONE, true, true, ACCESS_ALL, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct wire_config own = {.allow_changes = rows[i].changes,
                                        .access = rows[i].tokens ? access : NULL};
        const struct wire_peer peer = {.local = rows[i].local, .rights = rows[i].rights};
        cr_expect_eq(access_may_change(&own, &peer), rows[i].may, "row %zu", i);
    }
}

Test(access, bearer)
{
    struct slice token;
    cr_expect(access_bearer(slice_text("bEARER  x y "), &token));
    cr_expect(slice_equal_text(token, "x y"));
    static const char *const bad[] = {"", "Bearer", "Bearer ", "Bearer   ", "Basic x", "Bearerx"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_not(access_bearer(slice_text(bad[i]), &token), "%s", bad[i]);
    }
}
