#include "engine/pattern.h"

#include "engine/policy.h"

bool pattern_decode(struct slice text, uint16_t *tokens, uint32_t *count)
{
    uint32_t made = 0;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (byte == '*') {
            tokens[made++] = PATTERN_STAR;
            continue;
        }
        if (byte == '\\') {
            i++;
            if (i == text.size || (text.data[i] != '*' && text.data[i] != '\\')) {
                return false;
            }
            byte = text.data[i];
        }
        tokens[made++] = byte;
    }
    *count = made;
    return true;
}

static uint32_t pattern_find(const uint16_t *tokens, uint32_t count, uint16_t token)
{
    uint32_t at = 0;
    while (at < count && tokens[at] != token) {
        at++;
    }
    return at;
}

/* Runs of `token` become one. */
static uint32_t pattern_merge(uint16_t *tokens, uint32_t count, uint16_t token)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (tokens[i] != token || kept == 0 || tokens[kept - 1] != token) {
            tokens[kept++] = tokens[i];
        }
    }
    return kept;
}

uint32_t pattern_collapse_stars(uint16_t *tokens, uint32_t count)
{
    return pattern_merge(tokens, count, PATTERN_STAR);
}

uint32_t pattern_normalise(uint16_t *tokens, uint32_t count, unsigned normalise)
{
    if ((normalise & POLICY_STRIP_QUERY) != 0) {
        count = pattern_find(tokens, count, '?');
    }
    if ((normalise & POLICY_MERGE_SLASHES) != 0) {
        count = pattern_merge(tokens, count, '/');
    }
    if ((normalise & POLICY_STRIP_TRAILING_SLASH) != 0 && count > 0 && tokens[count - 1] == '/' &&
        pattern_find(tokens, count, '/') + 1 < count) {
        count--;
    }
    for (uint32_t i = 0; (normalise & POLICY_LOWERCASE) != 0 && i < count; i++) {
        if (tokens[i] >= 'A' && tokens[i] <= 'Z') {
            tokens[i] = (uint16_t)(tokens[i] + ('a' - 'A'));
        }
    }
    return count;
}

size_t pattern_encode(const uint16_t *tokens, uint32_t count, uint8_t *out)
{
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (tokens[i] == '*' || tokens[i] == '\\') {
            out[size++] = '\\';
        }
        out[size++] = tokens[i] == PATTERN_STAR ? '*' : (uint8_t)tokens[i];
    }
    return size;
}

size_t pattern_literal(const uint16_t *tokens, uint32_t count, uint8_t *literal, bool *exact)
{
    uint32_t at = 0;
    for (; at < count && tokens[at] != PATTERN_STAR; at++) {
        literal[at] = (uint8_t)tokens[at];
    }
    *exact = at == count;
    return at;
}

uint32_t pattern_literal_count(const uint16_t *tokens, uint32_t count)
{
    uint32_t literal = 0;
    for (uint32_t i = 0; i < count; i++) {
        literal += tokens[i] != PATTERN_STAR;
    }
    return literal;
}

/* Each star first takes nothing; on a mismatch the latest star takes one byte more. Earlier stars
 * need no second look: whatever they could take, the latest can. */
bool pattern_matches(struct slice pattern, struct slice text)
{
    const size_t none = SIZE_MAX;
    size_t at = 0;
    size_t byte = 0;
    size_t after_star = none;
    size_t star_byte = 0;
    while (byte < text.size) {
        bool escaped = at + 1 < pattern.size && pattern.data[at] == '\\';
        if (at < pattern.size && pattern.data[at] == '*') {
            after_star = ++at;
            star_byte = byte;
        } else if (at < pattern.size && pattern.data[at + escaped] == text.data[byte]) {
            at += 1u + escaped;
            byte++;
        } else if (after_star != none) {
            at = after_star;
            byte = ++star_byte;
        } else {
            return false;
        }
    }
    while (at < pattern.size && pattern.data[at] == '*') {
        at++;
    }
    return at == pattern.size;
}
