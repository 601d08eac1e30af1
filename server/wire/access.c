#include "wire/access.h"

#include "base/shared.h"
#include "wire/access_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A worker holds the table that it looked into last and compares serials before each look, which
 * costs a load; it takes the lock only to change to another. */
struct access {
    struct shared_number serial; /* of `table` */
    struct shared_number lock;   /* 1: somebody is between lock and unlock */
    struct access_table *table;  /* guarded by it, as are the tables' holders */
};

static void lock(struct access *access)
{
    while (!shared_number_claim(&access->lock, 0, 1)) {
        shared_pause();
    }
}

static void unlock(struct access *access)
{
    shared_number_set(&access->lock, 0);
}

/* Under the lock. */
static void drop(struct access_table *table)
{
    if (table != NULL && --table->holders == 0) {
        free(table);
    }
}

struct access *access_create(void)
{
    struct access *access = calloc(1, sizeof(*access));
    struct access_table *table = calloc(1, sizeof(*table));
    if (access == NULL || table == NULL) {
        free(access);
        free(table);
        return NULL;
    }
    table->holders = 1;
    access->table = table;
    return access;
}

void access_destroy(struct access **access)
{
    if (*access == NULL) {
        return;
    }
    drop((*access)->table);
    free(*access);
    *access = NULL;
}

enum status access_read_text(struct access *access, struct slice text, const char *path,
                             struct buf *why)
{
    struct access_table *table = access_file_parse(text, path, why);
    if (table == NULL) {
        return STATUS_INVALID;
    }
    table->holders = 1;
    table->serial = shared_number_get(&access->serial) + 1;
    lock(access);
    drop(access->table);
    access->table = table;
    unlock(access);
    shared_number_set(&access->serial, table->serial);
    return STATUS_OK;
}

enum status access_read(struct access *access, const char *path, struct buf *why)
{
    struct buf text;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        buf_printf(why, "%s: %s", path, strerror(errno));
        return STATUS_IO;
    }
    buf_init(&text, LIMITS_TOKENS_FILE_BYTES_MAX);
    uint8_t piece[4096];
    size_t size;
    while ((size = fread(piece, 1, sizeof(piece), file)) > 0) {
        buf_append(&text, piece, size);
    }
    enum status status = STATUS_IO;
    if (ferror(file)) {
        buf_printf(why, "%s: cannot be read", path);
    } else if (text.failed) {
        buf_printf(why, "%s: expected at most 1 MiB", path);
    } else {
        status = access_read_text(access, buf_slice(&text), path, why);
    }
    (void)fclose(file);
    buf_deinit(&text);
    return status;
}

uint32_t access_count(const struct access *access)
{
    return access->table->count;
}

void access_let_go(struct wire_worker *worker)
{
    struct access *access = worker->config == NULL ? NULL : worker->config->access;
    if (access == NULL || worker->tokens == NULL) {
        return;
    }
    lock(access);
    drop((struct access_table *)(uintptr_t)worker->tokens);
    unlock(access);
    worker->tokens = NULL;
}

/* The table in force. */
static const struct access_table *current(struct wire_worker *worker)
{
    struct access *access = worker->config->access;
    const struct access_table *held = worker->tokens;
    if (held != NULL && held->serial == shared_number_get(&access->serial)) {
        return held;
    }
    lock(access);
    drop((struct access_table *)(uintptr_t)held);
    access->table->holders++;
    worker->tokens = access->table;
    unlock(access);
    return worker->tokens;
}

/* Looks at every token, whichever it is. */
static unsigned find(const struct access_table *table, const uint8_t hash[HASH_SECRET_BYTES])
{
    unsigned rights = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        unsigned equal = hash_secret_equal(table->tokens[i].hash, hash);
        rights |= table->tokens[i].rights & (0u - equal);
    }
    return rights;
}

unsigned access_rights(struct wire_worker *worker, struct slice token)
{
    uint8_t hash[HASH_SECRET_BYTES];
    if (worker->config->access == NULL) {
        return ACCESS_ALL;
    }
    if (token.size == 0 || token.size > LIMITS_TOKEN_BYTES_MAX) {
        return 0;
    }
    hash_secret(token.data, token.size, hash);
    return find(current(worker), hash);
}

bool access_log_in(struct wire_worker *worker, struct access_login *login, struct slice token)
{
    *login = (struct access_login){0};
    if (worker->config->access == NULL) {
        return true;
    }
    if (token.size == 0 || token.size > LIMITS_TOKEN_BYTES_MAX) {
        return false;
    }
    login->shown = true;
    hash_secret(token.data, token.size, login->hash);
    return access_login_rights(worker, login) != 0;
}

unsigned access_login_rights(struct wire_worker *worker, struct access_login *login)
{
    static_assert(sizeof(login->hash) == HASH_SECRET_BYTES, "a hash of a secret");
    if (worker->config->access == NULL) {
        return ACCESS_ALL;
    }
    if (!login->shown) {
        return 0;
    }
    const struct access_table *table = current(worker);
    if (!login->looked_up || login->serial != table->serial) {
        login->rights = find(table, login->hash);
        login->serial = table->serial;
        login->looked_up = true;
    }
    return login->rights;
}

bool access_check(const struct wire_peer *peer, enum access_right right,
                  struct request_error *error)
{
    if ((peer->rights & (unsigned)right) != 0) {
        return true;
    }
    if (peer->rights == 0) {
        request_error_set(error, REQUEST_UNAUTHENTICATED, "",
                          "a token of this daemon is needed (--tokens)");
    } else {
        request_error_set(error, REQUEST_PERMISSION_DENIED, "",
                          "the token does not have the right to do this (--tokens)");
    }
    return false;
}

bool access_may_change(const struct wire_config *config, const struct wire_peer *peer)
{
    if (config->access != NULL && (peer->rights & ACCESS_REFUND) == 0) {
        return false;
    }
    switch (config->allow_changes) {
    case WIRE_CHANGES_LOCAL:
        return peer->local || config->access != NULL;
    case WIRE_CHANGES_ALL:
        return true;
    case WIRE_CHANGES_NONE:
        return false;
    }
    return false;
}

void access_deny_change(struct request_error *error)
{
    request_error_set(error, REQUEST_PERMISSION_DENIED, "",
                      "this peer may not refund or reset (--allow-changes)");
}

bool access_bearer(struct slice value, struct slice *token)
{
    static const char scheme[] = "bearer ";
    size_t size = sizeof(scheme) - 1;
    if (value.size <= size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = value.data[i];
        if ((byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte) != (uint8_t)scheme[i]) {
            return false;
        }
    }
    *token = slice_make(value.data + size, value.size - size);
    while (token->size > 0 && token->data[0] == ' ') {
        *token = slice_make(token->data + 1, token->size - 1);
    }
    while (token->size > 0 && token->data[token->size - 1] == ' ') {
        token->size--;
    }
    return token->size > 0;
}
