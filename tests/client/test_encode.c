/* The hand-written encoder against the generated one: the same bytes. */
#include "base/arena.h"
#include "random.h"
#include "sluice/v1/sluice.pb-c.h"
#include "sluice_decode.h"
#include "sluice_encode.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define ATTRIBUTES 4

struct made {
    struct arena *arena;
    struct sluice_question question;
    struct sluice_attribute attributes[ATTRIBUTES];
    Sluice__V1__AttributesEntry entries[ATTRIBUTES];
    Sluice__V1__AttributesEntry *entry_list[ATTRIBUTES];
};

static struct sluice_bytes make_bytes(struct random *random, struct arena *arena, size_t min,
                                      size_t max)
{
    size_t size = min + random_below(random, max - min + 1);
    char *data = arena_alloc(arena, size + 1);
    for (size_t i = 0; i < size; i++) {
        data[i] = (char)random_next(random);
    }
    return (struct sluice_bytes){data, size};
}

static ProtobufCBinaryData binary(struct sluice_bytes bytes)
{
    return (ProtobufCBinaryData){.len = bytes.size, .data = (uint8_t *)(uintptr_t)bytes.data};
}

static void make(struct random *random, struct made *made)
{
    struct sluice_question *question = &made->question;
    question->key = make_bytes(random, made->arena, 0, 300);
    question->route = make_bytes(random, made->arena, 0, 40);
    question->has_cost = random_below(random, 2) == 0;
    question->cost = random_next(random) >> random_below(random, 64);
    question->details = random_below(random, 2) == 0;
    question->attributes = made->attributes;
    question->attribute_count = random_below(random, ATTRIBUTES + 1);
    for (size_t i = 0; i < question->attribute_count; i++) {
        /* Not empty: in a map's entry the generated code leaves out what is. */
        made->attributes[i].name = make_bytes(random, made->arena, 1, 64);
        made->attributes[i].value = make_bytes(random, made->arena, 1, 200);
        sluice__v1__attributes_entry__init(&made->entries[i]);
        made->entries[i].key = binary(made->attributes[i].name);
        made->entries[i].value = binary(made->attributes[i].value);
        made->entry_list[i] = &made->entries[i];
    }
}

static Sluice__V1__ShouldAllowRequest *as_request(struct made *made)
{
    Sluice__V1__ShouldAllowRequest *request = arena_alloc(made->arena, sizeof *request);
    sluice__v1__should_allow_request__init(request);
    request->key = binary(made->question.key);
    request->route = binary(made->question.route);
    if (made->question.has_cost) {
        request->_cost_case = SLUICE__V1__SHOULD_ALLOW_REQUEST___COST_COST;
        request->cost = made->question.cost;
    }
    request->details = made->question.details;
    request->n_attributes = made->question.attribute_count;
    request->attributes = made->entry_list;
    return request;
}

static void expect_same(const Sluice__V1__ClientFrame *want, const struct sluice_buffer *got)
{
    size_t size = sluice__v1__client_frame__get_packed_size(want);
    uint8_t *bytes = malloc(size + 1);
    struct sluice_decode_view frame;
    size_t consumed;
    sluice__v1__client_frame__pack(want, bytes);
    cr_assert_eq(sluice_decode_next(got->data + got->start, sluice_buffer_size(got), &frame,
                                    &consumed),
                 SLUICE_DECODE_OK);
    cr_assert_eq(consumed, sluice_buffer_size(got));
    cr_assert_eq((size_t)(frame.end - frame.at), size);
    cr_assert_eq(memcmp(frame.at, bytes, size), 0);
    free(bytes);
}

Test(encode, questions_as_the_generated_code_writes_them)
{
    struct random random = {1};
    struct arena arena;
    arena_init(&arena, 1 << 16, 0);
    for (int round = 0; round < 3000; round++) {
        struct made made = {.arena = &arena};
        struct sluice_buffer out = {0};
        Sluice__V1__ClientFrame frame = SLUICE__V1__CLIENT_FRAME__INIT;
        make(&random, &made);
        frame.id = random_next(&random) >> random_below(&random, 64);
        frame.body_case = SLUICE__V1__CLIENT_FRAME__BODY_SHOULD_ALLOW;
        frame.should_allow = as_request(&made);
        cr_assert_eq(sluice_encode(&out, frame.id, SLUICE_ENCODE_ASK, &made.question, 1),
                     SLUICE_OK);
        expect_same(&frame, &out);
        sluice_buffer_deinit(&out);
        arena_reset(&arena);
    }
    arena_deinit(&arena);
}

Test(encode, batches)
{
    struct random random = {2};
    struct arena arena;
    arena_init(&arena, 1 << 16, 0);
    for (int round = 0; round < 100; round++) {
        struct made made[30] = {{0}};
        struct sluice_question questions[30];
        Sluice__V1__ShouldAllowRequest *requests[30];
        Sluice__V1__ShouldAllowBatchRequest batch = SLUICE__V1__SHOULD_ALLOW_BATCH_REQUEST__INIT;
        Sluice__V1__ClientFrame frame = SLUICE__V1__CLIENT_FRAME__INIT;
        struct sluice_buffer out = {0};
        batch.n_requests = random_below(&random, 31);
        batch.requests = requests;
        for (size_t i = 0; i < batch.n_requests; i++) {
            made[i].arena = &arena;
            make(&random, &made[i]);
            questions[i] = made[i].question;
            requests[i] = as_request(&made[i]);
        }
        frame.id = 1;
        frame.body_case = SLUICE__V1__CLIENT_FRAME__BODY_SHOULD_ALLOW_BATCH;
        frame.should_allow_batch = &batch;
        cr_assert_eq(sluice_encode(&out, 1, SLUICE_ENCODE_BATCH, questions, batch.n_requests),
                     SLUICE_OK);
        expect_same(&frame, &out);
        sluice_buffer_deinit(&out);
        arena_reset(&arena);
    }
    arena_deinit(&arena);
}

Test(encode, refunds_and_resets_leave_out_what_they_lack)
{
    struct random random = {3};
    struct arena arena;
    arena_init(&arena, 1 << 16, 0);
    for (int round = 0; round < 1000; round++) {
        struct made made = {.arena = &arena};
        struct sluice_buffer out = {0};
        Sluice__V1__ClientFrame frame = SLUICE__V1__CLIENT_FRAME__INIT;
        Sluice__V1__RefundRequest refund = SLUICE__V1__REFUND_REQUEST__INIT;
        Sluice__V1__ResetRequest reset = SLUICE__V1__RESET_REQUEST__INIT;
        make(&random, &made);
        refund.key = reset.key = binary(made.question.key);
        refund.route = reset.route = binary(made.question.route);
        refund.n_attributes = reset.n_attributes = made.question.attribute_count;
        refund.attributes = reset.attributes = made.entry_list;
        if (made.question.has_cost) {
            refund._cost_case = SLUICE__V1__REFUND_REQUEST___COST_COST;
            refund.cost = made.question.cost;
        }
        frame.id = 300;
        frame.body_case = SLUICE__V1__CLIENT_FRAME__BODY_REFUND;
        frame.refund = &refund;
        cr_assert_eq(sluice_encode(&out, 300, SLUICE_ENCODE_REFUND, &made.question, 1),
                     SLUICE_OK);
        expect_same(&frame, &out);
        sluice_buffer_clear(&out);
        frame.body_case = SLUICE__V1__CLIENT_FRAME__BODY_RESET;
        frame.reset = &reset;
        cr_assert_eq(sluice_encode(&out, 300, SLUICE_ENCODE_RESET, &made.question, 1), SLUICE_OK);
        expect_same(&frame, &out);
        sluice_buffer_deinit(&out);
        arena_reset(&arena);
    }
    arena_deinit(&arena);
}

Test(encode, what_a_daemon_would_not_take_is_not_sent)
{
    struct sluice_buffer out = {0};
    char *big = calloc(1, SLUICE_ENCODE_FRAME_BYTES_MAX);
    struct sluice_question question = {.key = {big, SLUICE_ENCODE_FRAME_BYTES_MAX},
                                       .route = {"r", 1}};
    struct sluice_question *many = calloc(SLUICE_ENCODE_BATCH_MAX + 1, sizeof *many);
    cr_expect_eq(sluice_encode(&out, 1, SLUICE_ENCODE_ASK, &question, 1), SLUICE_INVALID);
    cr_expect_eq(sluice_buffer_size(&out), 0);
    /* The largest frame: id 2 bytes, body 1 + 3, key 1 + 3, route 3. */
    question.key.size = SLUICE_ENCODE_FRAME_BYTES_MAX - 13;
    cr_expect_eq(sluice_encode(&out, 1, SLUICE_ENCODE_ASK, &question, 1), SLUICE_OK);
    cr_expect_eq(sluice_buffer_size(&out), SLUICE_ENCODE_FRAME_BYTES_MAX + 3);
    question.key.size++;
    cr_expect_eq(sluice_encode(&out, 1, SLUICE_ENCODE_ASK, &question, 1), SLUICE_INVALID);
    sluice_buffer_clear(&out);
    cr_expect_eq(sluice_encode(&out, 1, SLUICE_ENCODE_BATCH, many, SLUICE_ENCODE_BATCH_MAX + 1),
                 SLUICE_INVALID);
    cr_expect_eq(sluice_encode(&out, 1, SLUICE_ENCODE_BATCH, many, SLUICE_ENCODE_BATCH_MAX),
                 SLUICE_OK);
    sluice_buffer_deinit(&out);
    free(big);
    free(many);
}
