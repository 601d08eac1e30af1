/* Fingerprints of identities: SipHash-2-4 with 128 bits of output (J.-P. Aumasson and D. J.
 * Bernstein, "SipHash: a fast short-input PRF", 2012; as libsodium's crypto_shorthash_siphashx24).
 * The key is random and secret, so no peer can choose keys that collide. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/slice.h"

struct hash_key {
    uint8_t bytes[16];
};

struct fingerprint {
    uint64_t lo;
    uint64_t hi;
};

#define HASH_SECRET_BYTES 32

/* SHA-256: how a secret is kept. */
void hash_secret(const void *data, size_t size, uint8_t out[HASH_SECRET_BYTES]);
/* In a time that does not depend on the bytes. */
bool hash_secret_equal(const uint8_t a[HASH_SECRET_BYTES], const uint8_t b[HASH_SECRET_BYTES]);
/* Fills bytes from the system's random source. */
void hash_random(void *out, size_t size);

/* Fills a key from the system's random source. */
void hash_random_key(struct hash_key *key);

struct fingerprint hash_bytes(const struct hash_key *key, const void *data, size_t size);

/* hash_bytes of the part's length in 4 bytes, low first, and the part, not written down. */
struct fingerprint hash_part(const struct hash_key *key, struct slice part);

static inline struct fingerprint hash_mix(struct fingerprint a, struct fingerprint b)
{
    return (struct fingerprint){.lo = a.lo ^ b.lo, .hi = a.hi ^ b.hi};
}

#endif
