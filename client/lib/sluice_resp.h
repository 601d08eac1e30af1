/* The Redis protocol's side of a client: SLUICE.ALLOW, SLUICE.REFUND and SLUICE.RESET out, replies
 * in, handed on as the bodies of native frames. */
#ifndef SLUICE_RESP_H
#define SLUICE_RESP_H

#include "sluice_body.h"
#include "sluice_encode.h"

/* Appends one command. SLUICE_UNSUPPORTED: the protocol has no such question (batches, details). */
enum sluice_status sluice_resp_encode(struct sluice_buffer *out, enum sluice_encode_kind kind,
                                      const struct sluice_question *question);

/* Appends AUTH. */
bool sluice_resp_encode_auth(struct sluice_buffer *out, const char *token);

/* Reads the reply to a question of that kind. OK: *frame points into `body`, *consumed is its size.
 * BROKEN: no such reply, or no memory. */
enum sluice_decode_result sluice_resp_decode(const uint8_t *data, size_t size,
                                             enum sluice_encode_kind kind,
                                             struct sluice_buffer *body,
                                             struct sluice_decode_frame *frame,
                                             size_t *consumed);

/* The reply to AUTH: OK or an error, which *frame then has. */
enum sluice_decode_result sluice_resp_decode_auth(const uint8_t *data, size_t size,
                                                  struct sluice_buffer *body,
                                                  struct sluice_decode_frame *frame,
                                                  size_t *consumed);

#endif
