/* The hand-written decoder against the generated encoder, and against broken frames. */
#include "random_answers.h"
#include "sluice_decode.h"
#include "sluice_encode.h"
#include "sluice_keep.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 3000

static struct sluice_decode_view pack(const Sluice__V1__ServerFrame *frame)
{
    size_t size = sluice__v1__server_frame__get_packed_size(frame);
    uint8_t *bytes = malloc(size + 1); /* exactly: a sanitizer sees a step too far */
    sluice__v1__server_frame__pack(frame, bytes);
    return (struct sluice_decode_view){bytes, bytes + size};
}

static void drop(struct sluice_decode_view bytes)
{
    free((void *)(uintptr_t)bytes.at);
}

static void expect_text(struct sluice_bytes got, ProtobufCBinaryData want)
{
    cr_assert_eq(got.size, want.len);
    cr_assert(want.len == 0 || memcmp(got.data, want.data, want.len) == 0);
    cr_assert_eq(got.data[got.size], '\0');
}

static void expect_duration(int64_t got, const Sluice__V1__Duration *want)
{
    if (want == NULL) {
        cr_assert_eq(got, SLUICE_ABSENT);
    } else if (want->seconds > INT64_MAX / 1000000000 - 1) {
        cr_assert_geq(got, (INT64_MAX / 1000000000 - 1) * 1000000000);
    } else {
        cr_assert_eq(got, want->seconds * 1000000000 + want->nanos);
    }
}

static void expect_row(const struct sluice_row *got, const Sluice__V1__LimitStatus *want)
{
    expect_text(got->limit_name, want->limit_name);
    expect_text(got->algorithm, want->algorithm);
    cr_assert_eq(got->allowed, want->allowed != 0);
    cr_assert_eq(got->shadow, want->shadow != 0);
    cr_assert_eq(got->limit, want->limit);
    cr_assert_eq(got->remaining, want->remaining);
    expect_duration(got->retry_after_ns, want->retry_after);
    expect_duration(got->reset_after_ns, want->reset_after);
    expect_duration(got->delay_ns, want->delay);
    expect_duration(got->window_ns, want->window);
}

static void expect_answer(const struct sluice_answer *got,
                          const Sluice__V1__ShouldAllowResponse *want)
{
    cr_assert(got->decided);
    cr_assert_eq(got->error.status, SLUICE_OK);
    cr_assert_eq(got->allowed, want->allowed != 0);
    cr_assert_eq((int)got->reason, (int)want->reason);
    cr_assert_eq(got->limit, want->limit);
    cr_assert_eq(got->remaining, want->remaining);
    expect_duration(got->retry_after_ns, want->retry_after);
    expect_duration(got->reset_after_ns, want->reset_after);
    expect_duration(got->delay_ns, want->delay);
    expect_text(got->limit_name, want->limit_name);
    expect_text(got->lease_id, want->lease_id);
    cr_assert_eq(got->row_count, want->n_details);
    for (size_t i = 0; i < want->n_details; i++) {
        expect_row(&got->rows[i], want->details[i]);
    }
}

static void expect_error(const struct sluice_answer *got, const Sluice__V1__Error *want)
{
    cr_assert_not(got->decided);
    cr_assert(got->allowed, "on_error was allow");
    cr_assert_eq(got->error.status, SLUICE_ERROR);
    cr_assert_eq((int)got->error.code, (int)want->code);
    expect_text(got->error.field, want->field);
    expect_text(got->error.message, want->message);
}

Test(decode, answers_as_the_generated_code_writes_them)
{
    struct random_answers made;
    random_answers_init(&made, 1);
    struct sluice_keep keep = {0};
    for (int round = 0; round < ROUNDS; round++) {
        Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
        struct sluice_decode_frame read;
        struct sluice_answer answer;
        frame.id = random_answers_number(&made);
        frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_SHOULD_ALLOW;
        frame.should_allow = random_answers_response(&made);
        struct sluice_decode_view bytes = pack(&frame);
        cr_assert(sluice_decode_frame(bytes, &read));
        cr_assert_eq(read.id, frame.id);
        cr_assert_eq(sluice_keep_answers(&keep, &read, SLUICE_DECODE_ASK, SLUICE_ON_ERROR_DENY,
                                         &answer, 1),
                     SLUICE_OK);
        expect_answer(&answer, frame.should_allow);
        drop(bytes);
        arena_reset(&made.arena);
    }
    arena_deinit(&made.arena);
    sluice_keep_deinit(&keep);
}

Test(decode, batches_with_answers_and_errors)
{
    struct random_answers made;
    random_answers_init(&made, 2);
    struct sluice_keep keep = {0};
    for (int round = 0; round < ROUNDS / 10; round++) {
        Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
        struct sluice_decode_frame read;
        struct sluice_answer answers[21];
        frame.id = 7;
        frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_SHOULD_ALLOW_BATCH;
        frame.should_allow_batch = random_answers_batch(&made);
        size_t count = frame.should_allow_batch->n_results;
        struct sluice_decode_view bytes = pack(&frame);
        cr_assert(sluice_decode_frame(bytes, &read));
        cr_assert_eq(sluice_keep_answers(&keep, &read, SLUICE_DECODE_BATCH,
                                         SLUICE_ON_ERROR_ALLOW, answers, count),
                     SLUICE_OK);
        for (size_t i = 0; i < count; i++) {
            const Sluice__V1__ShouldAllowResult *want = frame.should_allow_batch->results[i];
            if (want->result_case == SLUICE__V1__SHOULD_ALLOW_RESULT__RESULT_ERROR) {
                expect_error(&answers[i], want->error);
            } else {
                expect_answer(&answers[i], want->response);
            }
        }
        /* One answer more or less than was asked is no answer. */
        cr_assert_eq(sluice_keep_answers(&keep, &read, SLUICE_DECODE_BATCH,
                                         SLUICE_ON_ERROR_ALLOW, answers, count + 1),
                     SLUICE_PROTOCOL);
        cr_assert_not(answers[count].decided);
        drop(bytes);
        arena_reset(&made.arena);
    }
    arena_deinit(&made.arena);
    sluice_keep_deinit(&keep);
}

Test(decode, errors_and_resets)
{
    struct random_answers made;
    random_answers_init(&made, 3);
    struct sluice_keep keep = {0};
    for (int round = 0; round < ROUNDS; round++) {
        Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
        Sluice__V1__ResetResponse reset = SLUICE__V1__RESET_RESPONSE__INIT;
        struct sluice_decode_frame read;
        struct sluice_answer answer;
        struct sluice_reset_answer counters;
        frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_ERROR;
        frame.error = random_answers_error(&made);
        struct sluice_decode_view bytes = pack(&frame);
        cr_assert(sluice_decode_frame(bytes, &read));
        cr_assert_eq(sluice_keep_answers(&keep, &read, SLUICE_DECODE_REFUND,
                                         SLUICE_ON_ERROR_ALLOW, &answer, 1),
                     SLUICE_ERROR);
        expect_error(&answer, frame.error);
        drop(bytes);
        reset.counters = (uint32_t)random_answers_number(&made);
        frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_RESET;
        frame.reset = &reset;
        bytes = pack(&frame);
        cr_assert(sluice_decode_frame(bytes, &read));
        cr_assert_eq(sluice_keep_reset(&keep, &read, &counters), SLUICE_OK);
        cr_assert_eq(counters.counters, reset.counters);
        cr_assert(counters.decided);
        drop(bytes);
        arena_reset(&made.arena);
    }
    arena_deinit(&made.arena);
    sluice_keep_deinit(&keep);
}

/* Every cut of a frame gets the same verdict from both decoders. */
Test(decode, cut_frames)
{
    struct random_answers made;
    random_answers_init(&made, 4);
    for (int round = 0; round < 60; round++) {
        Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
        frame.id = 1 + random_below(&made.random, 1000);
        frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_SHOULD_ALLOW;
        frame.should_allow = random_answers_response(&made);
        struct sluice_decode_view whole = pack(&frame);
        for (size_t size = 0; size < (size_t)(whole.end - whole.at); size++) {
            uint8_t *cut = malloc(size + 1);
            struct sluice_decode_frame read;
            struct sluice_answer answer;
            memcpy(cut, whole.at, size);
            Sluice__V1__ServerFrame *other =
                sluice__v1__server_frame__unpack(NULL, size, cut);
            bool ok = sluice_decode_frame((struct sluice_decode_view){cut, cut + size}, &read) &&
                      (read.kind == SLUICE_DECODE_NOTHING ||
                       sluice_decode_answer(read.body, &answer, NULL));
            cr_assert_eq(ok, other != NULL, "cut after %zu bytes", size);
            if (other != NULL) {
                sluice__v1__server_frame__free_unpacked(other, NULL);
            }
            free(cut);
        }
        drop(whole);
        arena_reset(&made.arena);
    }
    arena_deinit(&made.arena);
}

/* Bytes that were changed: a verdict, whatever it is, and no step outside. */
Test(decode, changed_bytes)
{
    struct random_answers made;
    random_answers_init(&made, 5);
    struct sluice_keep keep = {0};
    for (int round = 0; round < ROUNDS; round++) {
        Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
        struct sluice_answer answers[21];
        frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_SHOULD_ALLOW_BATCH;
        frame.should_allow_batch = random_answers_batch(&made);
        size_t count = frame.should_allow_batch->n_results;
        struct sluice_decode_view bytes = pack(&frame);
        uint8_t *change = (uint8_t *)(uintptr_t)bytes.at;
        size_t size = (size_t)(bytes.end - bytes.at);
        for (uint64_t i = 1 + random_below(&made.random, 4); size > 0 && i > 0; i--) {
            change[random_below(&made.random, size)] = (uint8_t)random_next(&made.random);
        }
        struct sluice_decode_frame read;
        if (sluice_decode_frame(bytes, &read)) {
            enum sluice_status status =
                sluice_keep_answers(&keep, &read, SLUICE_DECODE_BATCH, SLUICE_ON_ERROR_DENY,
                                    answers, count);
            for (size_t i = 0; i < count; i++) {
                cr_assert(status == SLUICE_OK || !answers[i].allowed);
                cr_assert_eq(answers[i].limit_name.data[answers[i].limit_name.size], '\0');
            }
        }
        free(change);
        arena_reset(&made.arena);
    }
    arena_deinit(&made.arena);
    sluice_keep_deinit(&keep);
}

static enum sluice_decode_result next(const char *bytes, size_t size)
{
    struct sluice_decode_view frame;
    size_t consumed;
    return sluice_decode_next((const uint8_t *)bytes, size, &frame, &consumed);
}

Test(decode, lengths)
{
    cr_expect_eq(next("", 0), SLUICE_DECODE_MORE);
    cr_expect_eq(next("\x00", 1), SLUICE_DECODE_OK);
    cr_expect_eq(next("\x02\x08", 2), SLUICE_DECODE_MORE);
    cr_expect_eq(next("\x02\x08\x01", 3), SLUICE_DECODE_OK);
    cr_expect_eq(next("\x82\x80\x80\x00\x08\x01", 6), SLUICE_DECODE_OK, "longer than needed");
    cr_expect_eq(next("\x80\x80\x80\x08", 4), SLUICE_DECODE_MORE, "16 MiB are allowed");
    cr_expect_eq(next("\x81\x80\x80\x08", 4), SLUICE_DECODE_BROKEN, "a byte more is not");
    cr_expect_eq(next("\x80\x80\x80\x80", 4), SLUICE_DECODE_BROKEN, "five bytes of length");
    cr_expect_eq(next("\x80\x80\x80", 3), SLUICE_DECODE_MORE);
}

static bool answer_is(const char *bytes, size_t size)
{
    struct sluice_answer answer;
    const uint8_t *at = (const uint8_t *)bytes;
    return sluice_decode_answer((struct sluice_decode_view){at, at + size}, &answer, NULL);
}

Test(decode, what_is_refused)
{
    cr_expect(answer_is("", 0));
    cr_expect(answer_is("\x08\x01", 2));
    cr_expect_not(answer_is("\x0a\x00", 2), "allowed as bytes");
    cr_expect_not(answer_is("\x00\x01", 2), "field 0");
    cr_expect_not(answer_is("\x5b\x5c", 2), "a group");
    cr_expect(answer_is("\x58\x01\x65\x01\x02\x03\x04", 7), "unknown fields 11 and 12");
    cr_expect_not(answer_is("\x65\x01\x02\x03", 4), "a cut unknown field");
    cr_expect_not(answer_is("\x22\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13),
                  "a negative wait");
    cr_expect_not(answer_is("\x22\x06\x10\x80\x94\xeb\xdc\x03", 8), "a second of nanoseconds");
    cr_expect_not(answer_is("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12),
                  "a varint of 11 bytes");
}

Test(decode, too_many_rows)
{
    uint8_t bytes[2 * (SLUICE_DECODE_ROWS_MAX + 1)];
    for (size_t i = 0; i < sizeof bytes; i += 2) {
        bytes[i] = 9 << 3 | 2;
        bytes[i + 1] = 0;
    }
    struct sluice_decode_view all = {bytes, bytes + sizeof bytes};
    cr_expect_eq(sluice_decode_row_count(all), SIZE_MAX);
    all.end -= 2;
    cr_expect_eq(sluice_decode_row_count(all), SLUICE_DECODE_ROWS_MAX);
}
