/* The tokens of JSON text, for json_in.c. Each function takes what it names from the front of what
 * is left; when that is something else, in->broken says what was expected there. */
#ifndef WIRE_JSON_SCAN_H
#define WIRE_JSON_SCAN_H

#include "wire/json_in.h"

/* Blanks skipped, the next byte; 0 at the end (a NUL in the text is JSON nowhere). */
uint8_t json_scan_peek(struct json_in *in);
/* Takes the byte if it comes next. */
bool json_scan_take(struct json_in *in, uint8_t byte);
/* The same; otherwise the text is broken. */
bool json_scan_expect(struct json_in *in, uint8_t byte, const char *what);

/* A string, unescaped. */
bool json_scan_string(struct json_in *in, struct slice *out);
/* A number as it is written. */
bool json_scan_number(struct json_in *in, struct slice *out);
/* true, false or null. */
bool json_scan_word(struct json_in *in, const char *word);

/* Any value, checked and forgotten. */
bool json_scan_skip(struct json_in *in);

#endif
