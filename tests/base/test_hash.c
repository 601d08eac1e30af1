#include "base/hash.h"

#include <criterion/criterion.h>
#include <sodium.h>

enum { MOST = 300, ROUNDS = 40 };

/* Every length at every place of a word: each text ends where the buffer does, so that a read
 * beyond it is seen by the sanitizers. */
Test(hash, equals_libsodium)
{
    for (size_t size = 0; size <= MOST; size++) {
        uint8_t *text = malloc(size > 0 ? size : 1);
        for (unsigned round = 0; round < ROUNDS; round++) {
            struct hash_key key;
            struct fingerprint theirs;
            hash_random_key(&key);
            randombytes_buf(text, size);
            cr_assert_eq(crypto_shorthash_siphashx24((unsigned char *)&theirs, text, size,
                                                     key.bytes),
                         0);
            struct fingerprint ours = hash_bytes(&key, text, size);
            cr_assert(ours.lo == theirs.lo && ours.hi == theirs.hi, "%zu bytes", size);
        }
        free(text);
    }
}

Test(hash, a_part_is_its_length_and_its_bytes)
{
    for (size_t size = 0; size <= MOST; size++) {
        uint8_t *text = malloc(size > 0 ? size : 1);
        uint8_t whole[4 + MOST] = {(uint8_t)size, (uint8_t)(size >> 8)};
        struct hash_key key;
        hash_random_key(&key);
        randombytes_buf(text, size);
        memcpy(whole + 4, text, size);
        struct fingerprint part = hash_part(&key, slice_make(text, size));
        struct fingerprint bytes = hash_bytes(&key, whole, 4 + size);
        cr_assert(part.lo == bytes.lo && part.hi == bytes.hi, "%zu bytes", size);
        free(text);
    }
}
