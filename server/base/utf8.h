/* Is this text valid UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF)? */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/slice.h"

bool utf8_is_valid(struct slice text);

/* The size of the well-formed sequence that `text` begins with (1 to 4), or 0. */
size_t utf8_sequence(struct slice text);
/* The number of the character that one well-formed sequence stands for. */
uint32_t utf8_code_point(struct slice sequence);
/* A character that would move, hide or reorder what stands around it when shown: controls,
 * zero-width and direction marks, separators of lines, tags, private use, non-characters. */
bool utf8_is_deceptive(uint32_t code_point);

#endif
