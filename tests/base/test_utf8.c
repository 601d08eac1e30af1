#include "base/utf8.h"

#include <criterion/criterion.h>

/* Encodes any number of up to 21 bits in the shortest form, also those that are no character. */
static size_t encode(uint32_t code, uint8_t out[4])
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    out[0] = (uint8_t)(marks[size] | code);
    return size;
}

Test(utf8, every_character_and_no_other_number)
{
    for (uint32_t code = 0; code <= 0x1FFFFF; code++) {
        uint8_t bytes[4];
        size_t size = encode(code, bytes);
        bool good = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
        struct slice text = slice_make(bytes, size);
        cr_assert_eq(utf8_is_valid(text), good, "U+%X", code);
        cr_assert_eq(utf8_sequence(text), good ? size : 0, "U+%X", code);
        if (good) {
            cr_assert_eq(utf8_code_point(text), code);
        }
    }
}

/* Of all two- and three-byte strings exactly those are valid that a decoder which checks its
 * result (shortest form, no surrogate) accepts. */
static bool accepts(const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    while (i < size) {
        size_t length = bytes[i] < 0x80 ? 1 : bytes[i] >= 0xF0 ? 4 : bytes[i] >= 0xE0 ? 3 : 2;
        if (i + length > size || (bytes[i] >= 0x80 && bytes[i] < 0xC0)) {
            return false;
        }
        uint32_t code = length == 1 ? bytes[i] : bytes[i] & (0x3Fu >> (length - 1));
        for (size_t j = 1; j < length; j++) {
            if (bytes[i + j] < 0x80 || bytes[i + j] > 0xBF) {
                return false;
            }
            code = code << 6 | (bytes[i + j] & 0x3Fu);
        }
        uint8_t again[4];
        if (encode(code, again) != length || memcmp(again, bytes + i, length) != 0 ||
            (code >= 0xD800 && code <= 0xDFFF)) {
            return false;
        }
        i += length;
    }
    return true;
}

Test(utf8, every_string_of_three_bytes)
{
    for (uint32_t n = 0; n < 1u << 24; n++) {
        uint8_t bytes[3] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
        if (utf8_is_valid(slice_make(bytes, 3)) != accepts(bytes, 3)) {
            cr_assert_fail("%02x %02x %02x", bytes[0], bytes[1], bytes[2]);
        }
    }
}

Test(utf8, a_bad_byte_is_found_wherever_it_stands)
{
    char text[41];
    for (size_t size = 0; size <= 40; size++) {
        memset(text, 'k', sizeof(text));
        cr_assert(utf8_is_valid(slice_make(text, size)));
        for (size_t at = 0; at < size; at++) {
            text[at] = (char)0xC3; /* needs a second byte */
            cr_assert_not(utf8_is_valid(slice_make(text, size)), "%zu of %zu", at, size);
            if (at + 1 < size) {
                text[at + 1] = (char)0xA9;
                cr_assert(utf8_is_valid(slice_make(text, size)), "%zu of %zu", at, size);
                text[at + 1] = 'k';
            }
            text[at] = 'k';
        }
    }
}

Test(utf8, empty_is_valid_and_begins_with_nothing)
{
    cr_expect(utf8_is_valid(slice_make(NULL, 0)));
    cr_expect_eq(utf8_sequence(slice_make(NULL, 0)), 0);
}

Test(utf8, what_deceives)
{
    static const uint32_t deceptive[] = {0,      0x1B,   0x7F,   0x9B,   0xAD,    0x200B,
                                         0x202E, 0x2028, 0x2066, 0xFEFF, 0xE0041, 0x10FFFF};
    static const uint32_t plain[] = {' ', 'a', '~', 0xA0, 0xE9, 0x416, 0x4E2D, 0x2026, 0x1F600};
    for (size_t i = 0; i < sizeof(deceptive) / sizeof(deceptive[0]); i++) {
        cr_expect(utf8_is_deceptive(deceptive[i]), "U+%X", deceptive[i]);
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        cr_expect_not(utf8_is_deceptive(plain[i]), "U+%X", plain[i]);
    }
}
