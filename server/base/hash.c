#include "base/hash.h"

#include "base/siphash.h"

#include <assert.h>
#include <sodium.h>

void hash_secret(const void *data, size_t size, uint8_t out[HASH_SECRET_BYTES])
{
    static_assert(HASH_SECRET_BYTES == crypto_hash_sha256_BYTES, "a SHA-256");
    (void)crypto_hash_sha256(out, data, size);
}

bool hash_secret_equal(const uint8_t a[HASH_SECRET_BYTES], const uint8_t b[HASH_SECRET_BYTES])
{
    return sodium_memcmp(a, b, HASH_SECRET_BYTES) == 0;
}

void hash_random(void *out, size_t size)
{
    randombytes_buf(out, size);
}

void hash_random_key(struct hash_key *key)
{
    randombytes_buf(key->bytes, sizeof(key->bytes));
}

struct fingerprint hash_bytes(const struct hash_key *key, const void *data, size_t size)
{
    return siphash_finish(siphash_begin(key), data, size, size);
}

struct fingerprint hash_part(const struct hash_key *key, struct slice part)
{
    struct siphash s = siphash_begin(key);
    uint8_t brief[8] = {(uint8_t)part.size};
    if (part.size < 4) {
        for (size_t i = 0; i < part.size; i++) {
            brief[4 + i] = part.data[i];
        }
        return siphash_finish(s, brief, 4 + part.size, 4 + part.size);
    }
    siphash_take(&s, (uint32_t)part.size | siphash_load_32(part.data) << 32);
    return siphash_finish(s, part.data + 4, part.size - 4, part.size + 4);
}
