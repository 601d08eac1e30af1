/* ServerFrames made up by the generated code, for the hand-written decoder to read. */
#ifndef RANDOM_ANSWERS_H
#define RANDOM_ANSWERS_H

#include "base/arena.h"
#include "random.h"
#include "sluice/v1/sluice.pb-c.h"

/* Where the messages live, and the numbers they are made of. */
struct random_answers {
    struct random random;
    struct arena arena;
};

static inline void random_answers_init(struct random_answers *made, uint64_t seed)
{
    made->random.state = seed;
    arena_init(&made->arena, 1 << 16, 0);
}

static inline void *random_answers_new(struct random_answers *made, size_t size)
{
    return arena_zalloc(&made->arena, size);
}

static inline ProtobufCBinaryData random_answers_bytes(struct random_answers *made, size_t max)
{
    size_t size = random_below(&made->random, max + 1);
    uint8_t *data = random_answers_new(made, size + 1);
    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)(1 + random_below(&made->random, 255));
    }
    return (ProtobufCBinaryData){.len = size, .data = data};
}

static inline uint64_t random_answers_number(struct random_answers *made)
{
    return random_next(&made->random) >> random_below(&made->random, 64);
}

static inline Sluice__V1__Duration *random_answers_duration(struct random_answers *made)
{
    if (random_below(&made->random, 3) == 0) {
        return NULL;
    }
    Sluice__V1__Duration *duration = random_answers_new(made, sizeof *duration);
    sluice__v1__duration__init(duration);
    duration->seconds = (int64_t)(random_answers_number(made) >> 30);
    duration->nanos = (int32_t)random_below(&made->random, 1000000000);
    return duration;
}

static inline Sluice__V1__LimitStatus *random_answers_row(struct random_answers *made)
{
    Sluice__V1__LimitStatus *row = random_answers_new(made, sizeof *row);
    sluice__v1__limit_status__init(row);
    row->limit_name = random_answers_bytes(made, 64);
    row->algorithm = random_answers_bytes(made, 24);
    row->allowed = random_below(&made->random, 2) == 0;
    row->shadow = random_below(&made->random, 2) == 0;
    row->limit = random_answers_number(made);
    row->remaining = random_answers_number(made);
    row->retry_after = random_answers_duration(made);
    row->reset_after = random_answers_duration(made);
    row->delay = random_answers_duration(made);
    row->window = random_answers_duration(made);
    return row;
}

static inline Sluice__V1__ShouldAllowResponse *random_answers_response(struct random_answers *made)
{
    Sluice__V1__ShouldAllowResponse *answer = random_answers_new(made, sizeof *answer);
    sluice__v1__should_allow_response__init(answer);
    answer->allowed = random_below(&made->random, 2) == 0;
    answer->limit = random_answers_number(made);
    answer->remaining = random_answers_number(made);
    answer->retry_after = random_answers_duration(made);
    answer->reset_after = random_answers_duration(made);
    answer->delay = random_answers_duration(made);
    answer->limit_name = random_answers_bytes(made, 64);
    answer->lease_id = random_answers_bytes(made, 20);
    answer->reason = (Sluice__V1__Reason)random_below(&made->random, 9);
    answer->n_details = random_below(&made->random, 5);
    answer->details = random_answers_new(made, (answer->n_details + 1) * sizeof *answer->details);
    for (size_t i = 0; i < answer->n_details; i++) {
        answer->details[i] = random_answers_row(made);
    }
    return answer;
}

static inline Sluice__V1__Error *random_answers_error(struct random_answers *made)
{
    Sluice__V1__Error *error = random_answers_new(made, sizeof *error);
    sluice__v1__error__init(error);
    error->code = (Sluice__V1__Code)random_below(&made->random, 17);
    error->field = random_answers_bytes(made, 30);
    error->message = random_answers_bytes(made, 200);
    return error;
}

static inline Sluice__V1__ShouldAllowBatchResponse *
random_answers_batch(struct random_answers *made)
{
    Sluice__V1__ShouldAllowBatchResponse *batch = random_answers_new(made, sizeof *batch);
    sluice__v1__should_allow_batch_response__init(batch);
    batch->n_results = random_below(&made->random, 20);
    batch->results = random_answers_new(made, (batch->n_results + 1) * sizeof *batch->results);
    for (size_t i = 0; i < batch->n_results; i++) {
        Sluice__V1__ShouldAllowResult *result = random_answers_new(made, sizeof *result);
        sluice__v1__should_allow_result__init(result);
        if (random_below(&made->random, 4) == 0) {
            result->result_case = SLUICE__V1__SHOULD_ALLOW_RESULT__RESULT_ERROR;
            result->error = random_answers_error(made);
        } else {
            result->result_case = SLUICE__V1__SHOULD_ALLOW_RESULT__RESULT_RESPONSE;
            result->response = random_answers_response(made);
        }
        batch->results[i] = result;
    }
    return batch;
}

#endif
