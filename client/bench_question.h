/* A frame of bench_load.h, read back into questions, for protocols that word them another way. */
#ifndef BENCH_QUESTION_H
#define BENCH_QUESTION_H

#include "sluice.h"
#include "sluice_buffer.h"
#include "sluice_encode.h"

struct bench_question {
    enum sluice_encode_kind kind; /* ask or batch */
    struct sluice_question *questions;
    size_t count;
    void *memory;
};

/* The questions point into `frame`. False: no memory. */
bool bench_question_read(const struct sluice_buffer *frame, struct bench_question *out);
void bench_question_deinit(struct bench_question *question);

#endif
