#include "bench_answer.h"

static void count_error(struct bench_result *result, const struct sluice_error *error,
                        uint32_t questions)
{
    uint32_t code = (uint32_t)error->code;
    result->errors += questions;
    result->codes[code < BENCH_RESULT_CODES - 1 ? code : BENCH_RESULT_CODES - 1] += questions;
}

/* Decodes one answer and holds its parts against each other. */
static bool take_answer(struct sluice_decode_view body, struct bench_result *tally)
{
    struct sluice_answer answer;
    if (!sluice_decode_answer(body, &answer, NULL)) {
        return false;
    }
    bool refusal = answer.reason >= SLUICE_REASON_OVER_LIMIT;
    if (answer.reason == SLUICE_REASON_UNSPECIFIED || refusal == answer.allowed ||
        answer.remaining > answer.limit) {
        return false;
    }
    tally->allowed += answer.allowed;
    tally->refused += !answer.allowed;
    return true;
}

static bool take_batch(struct sluice_decode_view batch, uint32_t questions,
                       struct bench_result *tally)
{
    struct sluice_decode_result_body result;
    enum sluice_decode_result step;
    uint32_t count = 0;
    while ((step = sluice_decode_batch_next(&batch, &result)) == SLUICE_DECODE_OK) {
        struct sluice_error error;
        if (!result.is_error) {
            if (!take_answer(result.body, tally)) {
                return false;
            }
        } else if (sluice_decode_error(result.body, &error)) {
            count_error(tally, &error, 1);
        } else {
            return false;
        }
        count++;
    }
    return step == SLUICE_DECODE_MORE && count == questions;
}

bool bench_answer_take(struct bench_worker *worker, const struct bench_slot *slot,
                       const struct sluice_decode_frame *frame)
{
    struct bench_result *tally = &worker->result;
    struct sluice_error error;
    uint64_t allowed = tally->allowed;
    uint64_t refused = tally->refused;
    uint64_t errors = tally->errors;
    bool ok = false;
    if (frame->kind == SLUICE_DECODE_ASK && !worker->config.is_batch) {
        ok = take_answer(frame->body, tally);
    } else if (frame->kind == SLUICE_DECODE_BATCH && worker->config.is_batch) {
        ok = take_batch(frame->body, slot->questions, tally);
    } else if (frame->kind == SLUICE_DECODE_ERROR) {
        ok = sluice_decode_error(frame->body, &error);
        if (ok) {
            count_error(tally, &error, slot->questions);
        }
    }
    if (!ok || !slot->measured) {
        tally->allowed = allowed;
        tally->refused = refused;
        tally->errors = errors;
    }
    return ok;
}
