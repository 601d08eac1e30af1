/* Holds the answers of one frame after its bytes are gone: texts with their NUL, details rows. */
#ifndef SLUICE_KEEP_H
#define SLUICE_KEEP_H

#include "sluice.h"
#include "sluice_buffer.h"
#include "sluice_decode.h"

struct sluice_keep {
    struct sluice_buffer texts;
    struct sluice_buffer rows;
};

void sluice_keep_deinit(struct sluice_keep *keep);

/* Decodes what came back for a question, a refund or a batch of `count`. Every answer is filled:
 * decided, or with its error and `allowed` as on_error says. The status is that of the whole
 * exchange: SLUICE_OK, SLUICE_ERROR for an Error frame, SLUICE_PROTOCOL for a frame of another kind
 * or one that cannot be read, SLUICE_NO_MEMORY. What the answers point to holds until the next
 * call. */
enum sluice_status sluice_keep_answers(struct sluice_keep *keep,
                                       const struct sluice_decode_frame *frame, unsigned kind,
                                       enum sluice_on_error on_error,
                                       struct sluice_answer *answers, size_t count);

/* The same for a reset. */
enum sluice_status sluice_keep_reset(struct sluice_keep *keep,
                                     const struct sluice_decode_frame *frame,
                                     struct sluice_reset_answer *answer);

/* The same for the metrics. */
enum sluice_status sluice_keep_stats(struct sluice_keep *keep,
                                     const struct sluice_decode_frame *frame,
                                     struct sluice_stats_answer *answer);

/* Fills answers that nobody decided. `message` must outlive them. */
void sluice_keep_undecided(struct sluice_answer *answers, size_t count, enum sluice_status status,
                           const char *message, enum sluice_on_error on_error);

#endif
