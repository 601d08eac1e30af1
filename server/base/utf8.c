/* Keys and routes are mostly ASCII, so eight bytes at a time are tested for a high bit first; only
 * what follows the first high bit is taken apart byte by byte. */
#include "base/utf8.h"

#define UTF8_HIGH_BITS UINT64_C(0x8080808080808080)

static uint64_t load_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* What the second byte may be depends on the first: this is where overlong forms, surrogates and
 * numbers above U+10FFFF are refused (RFC 3629, section 4). */
static bool is_second(uint8_t first, uint8_t second)
{
    switch (first) {
    case 0xE0:
        return second >= 0xA0 && second <= 0xBF;
    case 0xED:
        return second >= 0x80 && second <= 0x9F;
    case 0xF0:
        return second >= 0x90 && second <= 0xBF;
    case 0xF4:
        return second >= 0x80 && second <= 0x8F;
    default:
        return is_continuation(second);
    }
}

size_t utf8_sequence(struct slice text)
{
    if (text.size == 0) {
        return 0;
    }
    uint8_t first = text.data[0];
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || first > 0xF4) {
        return 0;
    }
    size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (text.size < size || !is_second(first, text.data[1])) {
        return 0;
    }
    for (size_t i = 2; i < size; i++) {
        if (!is_continuation(text.data[i])) {
            return 0;
        }
    }
    return size;
}

uint32_t utf8_code_point(struct slice sequence)
{
    if (sequence.size == 1) {
        return sequence.data[0];
    }
    /* The first byte of n keeps 7 - n bits of the number, each other one 6. */
    uint32_t code = sequence.data[0] & (0x7Fu >> sequence.size);
    for (size_t i = 1; i < sequence.size; i++) {
        code = code << 6 | (sequence.data[i] & 0x3Fu);
    }
    return code;
}

static bool is_valid_slowly(struct slice text)
{
    while (text.size > 0) {
        size_t size = utf8_sequence(text);
        if (size == 0) {
            return false;
        }
        text = slice_make(text.data + size, text.size - size);
    }
    return true;
}

bool utf8_is_valid(struct slice text)
{
    const uint8_t *at = text.data;
    size_t left = text.size;
    while (left > sizeof(uint64_t)) {
        if ((load_word(at) & UTF8_HIGH_BITS) != 0) {
            return is_valid_slowly(slice_make(at, left));
        }
        at += sizeof(uint64_t);
        left -= sizeof(uint64_t);
    }
    /* The last word may begin among those already seen. */
    if (text.size >= sizeof(uint64_t)) {
        return (load_word(at + left - sizeof(uint64_t)) & UTF8_HIGH_BITS) == 0 ||
               is_valid_slowly(slice_make(at, left));
    }
    uint8_t seen = 0;
    for (size_t i = 0; i < left; i++) {
        seen |= at[i];
    }
    return seen < 0x80 || is_valid_slowly(text);
}

bool utf8_is_deceptive(uint32_t code_point)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } ranges[] = {
        {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},   {0x061C, 0x061C},
        {0x180E, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
        {0xE000, 0xF8FF},   {0xFDD0, 0xFDEF},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},
        {0xFFFE, 0xFFFF},   {0xE0000, 0x10FFFF},
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (code_point >= ranges[i].first && code_point <= ranges[i].last) {
            return true;
        }
    }
    return false;
}
