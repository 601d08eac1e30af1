#include "base/hash.h"

#include <assert.h>
#include <sodium.h>

void hash_random_key(struct hash_key *key)
{
    randombytes_buf(key->bytes, sizeof(key->bytes));
}

struct fingerprint hash_bytes(const struct hash_key *key, const void *data, size_t size)
{
    struct fingerprint out;
    static_assert(sizeof(out) == crypto_shorthash_siphashx24_BYTES, "128 bits");
    (void)crypto_shorthash_siphashx24((unsigned char *)&out, data, size, key->bytes);
    return out;
}
