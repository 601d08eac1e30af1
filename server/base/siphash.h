/* SipHash-2-4 with 128 bits of output (hash.h), by hand: one is made for every question, and
 * libsodium's, called across a library's border and reading the last bytes one by one, took a third
 * more instructions than this one (of 320 for a key of 30 bytes; tests/bench/feed.c). It is held to
 * libsodium's by a test over random keys and texts of every length. */
#ifndef BASE_SIPHASH_H
#define BASE_SIPHASH_H

#include "base/hash.h"

#include <endian.h>

struct siphash {
    uint64_t v0;
    uint64_t v1;
    uint64_t v2;
    uint64_t v3;
};

static inline uint64_t siphash_rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

/* Little-endian, whatever the machine. */
static inline uint64_t siphash_load_64(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return le64toh(word);
}

static inline uint64_t siphash_load_32(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return le32toh(word);
}

static inline void siphash_round(struct siphash *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = siphash_rotate(s->v1, 13) ^ s->v0;
    s->v3 = siphash_rotate(s->v3, 16) ^ s->v2;
    s->v0 = siphash_rotate(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = siphash_rotate(s->v1, 17) ^ s->v2;
    s->v3 = siphash_rotate(s->v3, 21) ^ s->v0;
    s->v2 = siphash_rotate(s->v2, 32);
}

static inline void siphash_take(struct siphash *s, uint64_t word)
{
    s->v3 ^= word;
    siphash_round(s);
    siphash_round(s);
    s->v0 ^= word;
}

static inline struct siphash siphash_begin(const struct hash_key *key)
{
    uint64_t k0 = siphash_load_64(key->bytes);
    uint64_t k1 = siphash_load_64(key->bytes + 8);
    /* The paper's constants; the 0xee marks the longer output. */
    return (struct siphash){.v0 = k0 ^ UINT64_C(0x736f6d6570736575),
                          .v1 = k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                          .v2 = k0 ^ UINT64_C(0x6c7967656e657261),
                          .v3 = k1 ^ UINT64_C(0x7465646279746573)};
}

static inline uint64_t siphash_half(struct siphash *s)
{
    for (unsigned i = 0; i < 4; i++) {
        siphash_round(s);
    }
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* The last bytes, fewer than eight, as a word. `before`: at least eight bytes end with them. */
static inline uint64_t siphash_last(const uint8_t *at, size_t left, bool before)
{
    uint64_t word = 0;
    if (left > 0 && before) {
        return siphash_load_64(at + left - sizeof(word)) >> (8 * (sizeof(word) - left));
    }
    for (size_t i = 0; i < left; i++) {
        word |= (uint64_t)at[i] << (8 * i);
    }
    return word;
}

/* Takes `size` bytes to the end of a text of `total`. */
static inline __attribute__((always_inline)) struct fingerprint
siphash_finish(struct siphash s, const uint8_t *at, size_t size, size_t total)
{
    const uint8_t *end = at + size / 8 * 8;
    for (; at != end; at += 8) {
        siphash_take(&s, siphash_load_64(at));
    }
    siphash_take(&s, siphash_last(at, size % 8, size >= 8) | (uint64_t)total << 56);
    s.v2 ^= 0xee;
    uint64_t lo = siphash_half(&s);
    s.v1 ^= 0xdd;
    return (struct fingerprint){.lo = lo, .hi = siphash_half(&s)};
}

#endif
