/* Answers that came by another protocol, written as the bodies of native frames, so that one way of
 * reading them (sluice_decode.h, sluice_keep.h) serves all. */
#ifndef SLUICE_BODY_H
#define SLUICE_BODY_H

#include "sluice_buffer.h"
#include "sluice_decode.h"

/* Each replaces what is in `body`, points *frame at it, and is false without memory. `kind` is that
 * of the question. */
bool sluice_body_answer(struct sluice_buffer *body, unsigned kind,
                        const struct sluice_answer *answer, struct sluice_decode_frame *frame);
bool sluice_body_reset(struct sluice_buffer *body, uint32_t counters,
                       struct sluice_decode_frame *frame);
bool sluice_body_error(struct sluice_buffer *body, enum sluice_code code,
                       struct sluice_bytes field, struct sluice_bytes message,
                       struct sluice_decode_frame *frame);
/* Bytes that are a body already. */
bool sluice_body_copy(struct sluice_buffer *body, unsigned kind, const uint8_t *data, size_t size,
                      struct sluice_decode_frame *frame);

/* The number of the reason of that name; 0: there is none. */
enum sluice_reason sluice_body_reason(struct sluice_bytes name);

#endif
