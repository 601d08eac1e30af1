#include "sluice_keep.h"

#include <string.h>

void sluice_keep_deinit(struct sluice_keep *keep)
{
    sluice_buffer_deinit(&keep->texts);
    sluice_buffer_deinit(&keep->rows);
}

/* Room for every text of the frame was reserved: a text and its NUL are never longer than the
 * field that brought it, whose tag and length take two bytes. */
static void keep_text(struct sluice_keep *keep, struct sluice_bytes *text)
{
    if (text->size == 0) {
        text->data = "";
        return;
    }
    char *at = (char *)keep->texts.data + keep->texts.end;
    memcpy(at, text->data, text->size);
    at[text->size] = '\0';
    keep->texts.end += text->size + 1;
    text->data = at;
}

static void keep_answer_texts(struct sluice_keep *keep, struct sluice_answer *answer,
                              struct sluice_row *rows)
{
    keep_text(keep, &answer->limit_name);
    keep_text(keep, &answer->lease_id);
    keep_text(keep, &answer->error.field);
    keep_text(keep, &answer->error.message);
    for (size_t i = 0; i < answer->row_count; i++) {
        keep_text(keep, &rows[i].limit_name);
        keep_text(keep, &rows[i].algorithm);
    }
}

static enum sluice_status keep_one(struct sluice_keep *keep, struct sluice_decode_view body,
                                   struct sluice_answer *answer, struct sluice_row **next)
{
    struct sluice_row *rows = *next;
    if (!sluice_decode_answer(body, answer, rows)) {
        return SLUICE_PROTOCOL;
    }
    *next += answer->row_count;
    keep_answer_texts(keep, answer, rows);
    return SLUICE_OK;
}

static enum sluice_status keep_error(struct sluice_keep *keep, struct sluice_decode_view body,
                                     struct sluice_error *error)
{
    if (!sluice_decode_error(body, error)) {
        return SLUICE_PROTOCOL;
    }
    keep_text(keep, &error->field);
    keep_text(keep, &error->message);
    return SLUICE_OK;
}

/* Walks a batch once for its rows and the number of its results. */
static bool count_batch(struct sluice_decode_view batch, size_t count, size_t *rows)
{
    struct sluice_decode_result_body result;
    enum sluice_decode_result step;
    size_t results = 0;
    while ((step = sluice_decode_batch_next(&batch, &result)) == SLUICE_DECODE_OK) {
        size_t more = result.is_error ? 0 : sluice_decode_row_count(result.body);
        if (++results > count || more == SIZE_MAX) {
            return false;
        }
        *rows += more;
    }
    return step == SLUICE_DECODE_MORE && results == count;
}

static bool reserve(struct sluice_keep *keep, size_t text_bytes, size_t rows)
{
    sluice_buffer_clear(&keep->texts);
    sluice_buffer_clear(&keep->rows);
    return sluice_buffer_reserve(&keep->texts, text_bytes + 1) &&
           sluice_buffer_reserve(&keep->rows, (rows + 1) * sizeof(struct sluice_row));
}

void sluice_keep_undecided(struct sluice_answer *answers, size_t count, enum sluice_status status,
                           const char *message, enum sluice_on_error on_error)
{
    for (size_t i = 0; i < count; i++) {
        answers[i] = (struct sluice_answer){
            .allowed = on_error == SLUICE_ON_ERROR_ALLOW,
            .retry_after_ns = SLUICE_ABSENT,
            .reset_after_ns = SLUICE_ABSENT,
            .delay_ns = SLUICE_ABSENT,
            .limit_name = {"", 0},
            .lease_id = {"", 0},
            .error = {status, SLUICE_CODE_NONE, {"", 0}, {message, strlen(message)}},
        };
    }
}

static enum sluice_status keep_batch(struct sluice_keep *keep, struct sluice_decode_view batch,
                                     enum sluice_on_error on_error, struct sluice_answer *answers,
                                     size_t count)
{
    size_t rows = 0;
    struct sluice_decode_result_body result;
    if (!count_batch(batch, count, &rows)) {
        return SLUICE_PROTOCOL;
    }
    if (!reserve(keep, (size_t)(batch.end - batch.at), rows)) {
        return SLUICE_NO_MEMORY;
    }
    struct sluice_row *next = (struct sluice_row *)(void *)keep->rows.data;
    for (size_t i = 0; i < count; i++) {
        enum sluice_status status = SLUICE_PROTOCOL;
        if (sluice_decode_batch_next(&batch, &result) != SLUICE_DECODE_OK) {
            return status;
        }
        if (result.is_error) {
            sluice_keep_undecided(&answers[i], 1, SLUICE_ERROR, "", on_error);
            status = keep_error(keep, result.body, &answers[i].error);
        } else {
            status = keep_one(keep, result.body, &answers[i], &next);
        }
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

static enum sluice_status keep_single(struct sluice_keep *keep, struct sluice_decode_view body,
                                      struct sluice_answer *answer)
{
    size_t rows = sluice_decode_row_count(body);
    if (rows == SIZE_MAX) {
        return SLUICE_PROTOCOL;
    }
    if (!reserve(keep, (size_t)(body.end - body.at), rows)) {
        return SLUICE_NO_MEMORY;
    }
    struct sluice_row *next = (struct sluice_row *)(void *)keep->rows.data;
    return keep_one(keep, body, answer, &next);
}

static enum sluice_status keep_error_frame(struct sluice_keep *keep,
                                           struct sluice_decode_view body,
                                           struct sluice_error *error)
{
    if (!reserve(keep, (size_t)(body.end - body.at), 0)) {
        return SLUICE_NO_MEMORY;
    }
    enum sluice_status status = keep_error(keep, body, error);
    return status == SLUICE_OK ? SLUICE_ERROR : status;
}

static const char *broken_text(enum sluice_status status)
{
    return status == SLUICE_NO_MEMORY ? "there is no memory for the answer"
                                      : "the server sent something that is no answer to this";
}

enum sluice_status sluice_keep_answers(struct sluice_keep *keep,
                                       const struct sluice_decode_frame *frame, unsigned kind,
                                       enum sluice_on_error on_error,
                                       struct sluice_answer *answers, size_t count)
{
    enum sluice_status status = SLUICE_PROTOCOL;
    if (frame->kind == SLUICE_DECODE_ERROR) {
        struct sluice_error error;
        status = keep_error_frame(keep, frame->body, &error);
        if (status == SLUICE_ERROR) {
            sluice_keep_undecided(answers, count, status, "", on_error);
            for (size_t i = 0; i < count; i++) {
                answers[i].error = error;
            }
            return status;
        }
    } else if (frame->kind == kind && kind == SLUICE_DECODE_BATCH) {
        status = keep_batch(keep, frame->body, on_error, answers, count);
    } else if (frame->kind == kind) {
        status = keep_single(keep, frame->body, answers);
    }
    if (status != SLUICE_OK) {
        sluice_keep_undecided(answers, count, status, broken_text(status), on_error);
    }
    return status;
}

enum sluice_status sluice_keep_reset(struct sluice_keep *keep,
                                     const struct sluice_decode_frame *frame,
                                     struct sluice_reset_answer *answer)
{
    enum sluice_status status = SLUICE_PROTOCOL;
    *answer = (struct sluice_reset_answer){.error = {.field = {"", 0}, .message = {"", 0}}};
    if (frame->kind == SLUICE_DECODE_ERROR) {
        status = keep_error_frame(keep, frame->body, &answer->error);
        if (status == SLUICE_ERROR) {
            return status;
        }
    } else if (frame->kind == SLUICE_DECODE_RESET &&
               sluice_decode_reset(frame->body, &answer->counters)) {
        answer->decided = true;
        return SLUICE_OK;
    }
    const char *text = broken_text(status);
    answer->error = (struct sluice_error){status, SLUICE_CODE_NONE, {"", 0}, {text, strlen(text)}};
    return status;
}

enum sluice_status sluice_keep_stats(struct sluice_keep *keep,
                                     const struct sluice_decode_frame *frame,
                                     struct sluice_stats_answer *answer)
{
    enum sluice_status status = SLUICE_PROTOCOL;
    *answer = (struct sluice_stats_answer){.error = {.field = {"", 0}, .message = {"", 0}}};
    if (frame->kind == SLUICE_DECODE_ERROR) {
        status = keep_error_frame(keep, frame->body, &answer->error);
        if (status == SLUICE_ERROR) {
            return status;
        }
    } else if (frame->kind == SLUICE_DECODE_STATS &&
               sluice_decode_stats(frame->body, &answer->text)) {
        status = reserve(keep, answer->text.size, 0) ? SLUICE_OK : SLUICE_NO_MEMORY;
    }
    if (status == SLUICE_OK) {
        keep_text(keep, &answer->text);
        return status;
    }
    const char *text = broken_text(status);
    answer->text = (struct sluice_bytes){"", 0};
    answer->error = (struct sluice_error){status, SLUICE_CODE_NONE, {"", 0}, {text, strlen(text)}};
    return status;
}
