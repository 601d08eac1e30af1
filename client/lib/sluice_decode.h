/* Reads ServerFrames of the native protocol by hand, in place: no allocation, no copy. Takes what
 * a generated decoder takes; what is cut, overlong or of a wrong type is refused, whoever sent it.
 * Tests hold it against the generated one.
 *
 * Texts in what is decoded point into the frame and have no NUL behind them; sluice_keep.h copies
 * them out. */
#ifndef SLUICE_DECODE_H
#define SLUICE_DECODE_H

#include "sluice.h"

#define SLUICE_DECODE_FRAME_BYTES_MAX (16u * 1024 * 1024)
#define SLUICE_DECODE_LENGTH_BYTES_MAX 4
#define SLUICE_DECODE_ROWS_MAX 64 /* rows an answer; a route has at most 16 limits */

enum sluice_decode_result {
    SLUICE_DECODE_BROKEN = -1,
    SLUICE_DECODE_MORE = 0,
    SLUICE_DECODE_OK = 1
};

struct sluice_decode_view {
    const uint8_t *at;
    const uint8_t *end;
};

/* Finds the first frame in front of `size` bytes. OK: its bytes are *frame, and *consumed is how
 * far it reaches. BROKEN: a length not finished in 4 bytes, or above 16 MiB. */
enum sluice_decode_result sluice_decode_next(const uint8_t *data, size_t size,
                                             struct sluice_decode_view *frame, size_t *consumed);

/* Field numbers of ServerFrame.body. */
enum sluice_decode_kind {
    SLUICE_DECODE_NOTHING = 0,
    SLUICE_DECODE_ASK = 2,
    SLUICE_DECODE_BATCH = 3,
    SLUICE_DECODE_REFUND = 4,
    SLUICE_DECODE_RESET = 5,
    SLUICE_DECODE_STATS = 7,
    SLUICE_DECODE_ERROR = 15
};

struct sluice_decode_frame {
    uint64_t id;
    unsigned kind; /* an enum sluice_decode_kind, or a field this build does not know */
    struct sluice_decode_view body;
};

bool sluice_decode_frame(struct sluice_decode_view bytes, struct sluice_decode_frame *frame);

/* How many details rows an answer's body has, or SIZE_MAX where it is broken or has more than
 * SLUICE_DECODE_ROWS_MAX. */
size_t sluice_decode_row_count(struct sluice_decode_view body);

/* A ShouldAllowResponse or RefundResponse. `rows` has room for all of them, or is NULL: then they
 * are checked and left out. `decided` becomes true. */
bool sluice_decode_answer(struct sluice_decode_view body, struct sluice_answer *answer,
                          struct sluice_row *rows);

/* An Error, into answer->error: status SLUICE_ERROR, code, field, message. */
bool sluice_decode_error(struct sluice_decode_view body, struct sluice_error *error);

bool sluice_decode_reset(struct sluice_decode_view body, uint32_t *counters);

bool sluice_decode_stats(struct sluice_decode_view body, struct sluice_bytes *text);

/* One result of a batch: the body of its response or of its error. */
struct sluice_decode_result_body {
    bool is_error;
    struct sluice_decode_view body;
};

/* Takes the next result from a batch's body. MORE: there is no further one. A result that is
 * neither response nor error is BROKEN. */
enum sluice_decode_result sluice_decode_batch_next(struct sluice_decode_view *batch,
                                                   struct sluice_decode_result_body *result);

#endif
