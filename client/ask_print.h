/* An answer for people and for programs. */
#ifndef ASK_PRINT_H
#define ASK_PRINT_H

#include "base/buf.h"
#include "sluice.h"

/* "allowed" or "refused: OVER_LIMIT", then one "name: value" line a field, in message order. */
void ask_print_text(struct buf *out, const struct sluice_answer *answer);

/* The HTTP API's form, one line. */
void ask_print_json(struct buf *out, const struct sluice_answer *answer);

#endif
