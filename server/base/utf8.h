/* Is this text valid UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF)? */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/slice.h"

bool utf8_is_valid(struct slice text);

#endif
