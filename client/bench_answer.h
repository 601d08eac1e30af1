/* Whether what came is an answer to what was asked, and what it counts as. */
#ifndef BENCH_ANSWER_H
#define BENCH_ANSWER_H

#include "bench_worker.h"
#include "sluice_decode.h"

/* The answer to one slot. What is not counted (warm-up) is checked all the same. False: it is no
 * answer to it. */
bool bench_answer_take(struct bench_worker *worker, const struct bench_slot *slot,
                       const struct sluice_decode_frame *frame);

#endif
