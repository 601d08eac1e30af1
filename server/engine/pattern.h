/* Patterns as the limits file writes them: `*` is any run of bytes, `\*` and `\\` are literal.
 * Taken apart into tokens to be normalised and measured, and put together again. */
#ifndef ENGINE_PATTERN_H
#define ENGINE_PATTERN_H

#include "base/slice.h"

#define PATTERN_STAR 256u /* a token below it is that literal byte */

/* `tokens` has room for text.size. False: a backslash before something else than * or \. */
bool pattern_decode(struct slice text, uint16_t *tokens, uint32_t *count);

/* What policy_normalise_route does to a route, on the literal bytes of a pattern; `normalise` is
 * enum policy_normalise, or-ed. Returns the new count. */
uint32_t pattern_normalise(uint16_t *tokens, uint32_t count, unsigned normalise);

/* Several stars in a row mean what one means. Returns the new count. */
uint32_t pattern_collapse_stars(uint16_t *tokens, uint32_t count);

/* Writes the pattern again (room for 2 * count), and where there is a star its literal start,
 * else the whole literal, to `literal` (room for count). */
size_t pattern_encode(const uint16_t *tokens, uint32_t count, uint8_t *out);
size_t pattern_literal(const uint16_t *tokens, uint32_t count, uint8_t *literal, bool *exact);

/* Literal bytes in all. */
uint32_t pattern_literal_count(const uint16_t *tokens, uint32_t count);

bool pattern_matches(struct slice pattern, struct slice text);

#endif
