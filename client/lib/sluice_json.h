/* The HTTP API's side of a client: questions as JSON, answers as the bodies of native frames. */
#ifndef SLUICE_JSON_H
#define SLUICE_JSON_H

#include "sluice_body.h"
#include "sluice_encode.h"

/* The path that takes a question of that kind; NULL: HTTP has no such question here. */
const char *sluice_json_path(enum sluice_encode_kind kind);

/* The body of the request, to be given back with free. NULL: not UTF-8, which JSON cannot carry, or
 * no memory. */
char *sluice_json_question(enum sluice_encode_kind kind, const struct sluice_question *question);

/* Reads what came with an HTTP status. False: it is no answer. */
bool sluice_json_answer(long status, const char *text, size_t size, enum sluice_encode_kind kind,
                        struct sluice_buffer *body, struct sluice_decode_frame *frame);

#endif
