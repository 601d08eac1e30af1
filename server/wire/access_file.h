/* The file of tokens, read into a table. */
#ifndef WIRE_ACCESS_FILE_H
#define WIRE_ACCESS_FILE_H

#include "base/hash.h"
#include "base/limits.h"
#include "wire/access.h"

struct access_token {
    uint8_t hash[HASH_SECRET_BYTES];
    unsigned rights;
    uint8_t name_size;
    char name[LIMITS_TOKEN_NAME_BYTES_MAX];
};

struct access_table {
    uint64_t serial;
    uint32_t holders; /* whoever points here; guarded by the lock of struct access */
    uint32_t count;
    struct access_token tokens[];
};

/* NULL: *why has one line, or there is no memory for one. Give it back with free. */
struct access_table *access_file_parse(struct slice text, const char *path, struct buf *why);

#endif
