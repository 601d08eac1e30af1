/* ServerFrames made up by the generated code, for the hand-written decoder to read. */
#ifndef RANDOM_ANSWERS_H
#define RANDOM_ANSWERS_H

#include "sluice/v1/sluice.pb-c.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

/* Everything made lives until the test process ends: each test has its own. */

static inline ProtobufCBinaryData random_answers_bytes(struct random *random, size_t max)
{
    size_t size = random_below(random, max + 1);
    uint8_t *data = calloc(size + 1, 1);
    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)(1 + random_below(random, 255));
    }
    return (ProtobufCBinaryData){.len = size, .data = data};
}

static inline uint64_t random_answers_number(struct random *random)
{
    return random_next(random) >> random_below(random, 64);
}

static inline Sluice__V1__Duration *random_answers_duration(struct random *random)
{
    if (random_below(random, 3) == 0) {
        return NULL;
    }
    Sluice__V1__Duration *duration = calloc(1, sizeof *duration);
    sluice__v1__duration__init(duration);
    duration->seconds = (int64_t)(random_answers_number(random) >> 30);
    duration->nanos = (int32_t)random_below(random, 1000000000);
    return duration;
}

static inline Sluice__V1__LimitStatus *random_answers_row(struct random *random)
{
    Sluice__V1__LimitStatus *row = calloc(1, sizeof *row);
    sluice__v1__limit_status__init(row);
    row->limit_name = random_answers_bytes(random, 64);
    row->algorithm = random_answers_bytes(random, 24);
    row->allowed = random_below(random, 2) == 0;
    row->shadow = random_below(random, 2) == 0;
    row->limit = random_answers_number(random);
    row->remaining = random_answers_number(random);
    row->retry_after = random_answers_duration(random);
    row->reset_after = random_answers_duration(random);
    row->delay = random_answers_duration(random);
    row->window = random_answers_duration(random);
    return row;
}

static inline Sluice__V1__ShouldAllowResponse *random_answers_response(struct random *random)
{
    Sluice__V1__ShouldAllowResponse *answer = calloc(1, sizeof *answer);
    sluice__v1__should_allow_response__init(answer);
    answer->allowed = random_below(random, 2) == 0;
    answer->limit = random_answers_number(random);
    answer->remaining = random_answers_number(random);
    answer->retry_after = random_answers_duration(random);
    answer->reset_after = random_answers_duration(random);
    answer->delay = random_answers_duration(random);
    answer->limit_name = random_answers_bytes(random, 64);
    answer->lease_id = random_answers_bytes(random, 20);
    answer->reason = (Sluice__V1__Reason)random_below(random, 9);
    answer->n_details = random_below(random, 5);
    answer->details = calloc(answer->n_details + 1, sizeof *answer->details);
    for (size_t i = 0; i < answer->n_details; i++) {
        answer->details[i] = random_answers_row(random);
    }
    return answer;
}

static inline Sluice__V1__Error *random_answers_error(struct random *random)
{
    Sluice__V1__Error *error = calloc(1, sizeof *error);
    sluice__v1__error__init(error);
    error->code = (Sluice__V1__Code)random_below(random, 17);
    error->field = random_answers_bytes(random, 30);
    error->message = random_answers_bytes(random, 200);
    return error;
}

static inline Sluice__V1__ShouldAllowBatchResponse *random_answers_batch(struct random *random)
{
    Sluice__V1__ShouldAllowBatchResponse *batch = calloc(1, sizeof *batch);
    sluice__v1__should_allow_batch_response__init(batch);
    batch->n_results = random_below(random, 20);
    batch->results = calloc(batch->n_results + 1, sizeof *batch->results);
    for (size_t i = 0; i < batch->n_results; i++) {
        Sluice__V1__ShouldAllowResult *result = calloc(1, sizeof *result);
        sluice__v1__should_allow_result__init(result);
        if (random_below(random, 4) == 0) {
            result->result_case = SLUICE__V1__SHOULD_ALLOW_RESULT__RESULT_ERROR;
            result->error = random_answers_error(random);
        } else {
            result->result_case = SLUICE__V1__SHOULD_ALLOW_RESULT__RESULT_RESPONSE;
            result->response = random_answers_response(random);
        }
        batch->results[i] = result;
    }
    return batch;
}

#endif
