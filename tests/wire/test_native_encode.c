#include "wire/native_encode.h"

#include "base/clock.h"
#include "wire/random_messages.h"

#include <criterion/criterion.h>

static int64_t random_duration(struct random_source *source)
{
    switch (random_below(source, 6)) {
    case 0:
        return DECISION_ABSENT;
    case 1:
        return DECISION_NEVER;
    case 2:
        return 0;
    case 3:
        return (int64_t)random_below(source, 100) * CLOCK_NS_PER_S;
    default:
        return (int64_t)(random_number(source) >> 1);
    }
}

static void random_row(struct random_source *source, struct decision_row *row)
{
    static const char names[] = "a_limit_whose_name_is_as_long_as_a_limit_s_name_may_be_64_bytes_";
    static_assert(sizeof(names) - 1 == LIMITS_LIMIT_NAME_BYTES_MAX, "the longest name");
    *row = (struct decision_row){
        .limit_name = slice_make(names, random_below(source, sizeof(names))),
        .allowed = random_below(source, 2) == 1,
        .shadow = random_below(source, 2) == 1,
        .algorithm = (enum limiter_algorithm)random_below(source, LIMITER_ALGORITHMS),
        .reason = (enum reason)(1 + random_below(source, 8)),
        .limit = random_number(source),
        .remaining = random_number(source),
        .retry_after_ns = random_duration(source),
        .reset_after_ns = random_duration(source),
        .delay_ns = random_below(source, 2) == 1 ? 0 : (int64_t)(random_number(source) >> 1),
        .window_ns = (int64_t)(random_number(source) >> 1)};
}

static void random_decision(struct random_source *source, struct decision *decision)
{
    random_row(source, &decision->shown);
    decision->row_count = random_below(source, 3) == 0
                              ? (uint32_t)random_below(source, LIMITS_ROUTE_LIMITS_MAX + 1)
                              : 0;
    for (uint32_t i = 0; i < decision->row_count; i++) {
        random_row(source, &decision->rows[i]);
    }
}

static Sluice__V1__Duration *duration(struct arena *arena, int64_t ns)
{
    if (ns < 0) {
        return NULL;
    }
    Sluice__V1__Duration *message = arena_alloc(arena, sizeof(*message));
    sluice__v1__duration__init(message);
    message->seconds = ns / CLOCK_NS_PER_S;
    message->nanos = (int32_t)(ns % CLOCK_NS_PER_S);
    return message;
}

static ProtobufCBinaryData binary(struct slice bytes)
{
    return (ProtobufCBinaryData){.len = bytes.size, .data = (uint8_t *)bytes.data};
}

static Sluice__V1__LimitStatus *status(struct arena *arena, const struct decision_row *row)
{
    Sluice__V1__LimitStatus *message = arena_alloc(arena, sizeof(*message));
    sluice__v1__limit_status__init(message);
    message->limit_name = binary(row->limit_name);
    message->allowed = row->allowed;
    message->limit = row->limit;
    message->remaining = row->remaining;
    message->retry_after = duration(arena, row->retry_after_ns);
    message->reset_after = duration(arena, row->reset_after_ns);
    message->delay = row->delay_ns > 0 ? duration(arena, row->delay_ns) : NULL;
    message->shadow = row->shadow;
    message->window = duration(arena, row->window_ns);
    message->algorithm = binary(slice_text(limiter_algorithm_name(row->algorithm)));
    return message;
}

static Sluice__V1__ShouldAllowResponse *response(struct arena *arena,
                                                 const struct decision *decision)
{
    const struct decision_row *shown = &decision->shown;
    Sluice__V1__ShouldAllowResponse *message = arena_alloc(arena, sizeof(*message));
    sluice__v1__should_allow_response__init(message);
    message->allowed = shown->allowed;
    message->limit = shown->limit;
    message->remaining = shown->remaining;
    message->retry_after = duration(arena, shown->retry_after_ns);
    message->reset_after = duration(arena, shown->reset_after_ns);
    message->delay = shown->delay_ns > 0 ? duration(arena, shown->delay_ns) : NULL;
    message->limit_name = binary(shown->limit_name);
    message->reason = (Sluice__V1__Reason)shown->reason;
    message->n_details = decision->row_count;
    message->details = arena_alloc(arena, (decision->row_count + 1) * sizeof(void *));
    for (uint32_t i = 0; i < decision->row_count; i++) {
        message->details[i] = status(arena, &decision->rows[i]);
    }
    return message;
}

static Sluice__V1__Error *failure(struct arena *arena, const struct request_error *error)
{
    Sluice__V1__Error *message = arena_alloc(arena, sizeof(*message));
    sluice__v1__error__init(message);
    message->code = (Sluice__V1__Code)error->code;
    message->field = binary(slice_text(error->field));
    message->message = binary(slice_text(error->message));
    return message;
}

/* The frame that protobuf-c writes is the one that ours wrote. */
static void expect_frame(const Sluice__V1__ServerFrame *frame, const uint8_t *ours, size_t size)
{
    struct buf theirs;
    buf_init(&theirs, 0);
    cr_assert(pb_append_frame(&frame->base, &theirs));
    cr_assert_eq(theirs.size, size, "%zu and %zu bytes", theirs.size, size);
    cr_assert_eq(memcmp(theirs.data + theirs.start, ours, size), 0);
    buf_deinit(&theirs);
}

Test(native_encode, random_decisions_are_written_as_protobuf_c_writes_them)
{
    struct random_source source = {.state = 4711};
    struct arena arena;
    struct decision decision;
    uint8_t ours[NATIVE_ENCODE_FRAME_BYTES + 1];
    arena_init(&arena, 1 << 16, 0);
    for (int i = 0; i < 20000; i++) {
        Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
        arena_reset(&arena);
        random_decision(&source, &decision);
        frame.id = random_number(&source);
        frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_SHOULD_ALLOW;
        frame.should_allow = response(&arena, &decision);
        ours[NATIVE_ENCODE_FRAME_BYTES] = 0xa5;
        uint8_t *end = native_encode_decision(ours, frame.id, NATIVE_ENCODE_SHOULD_ALLOW,
                                              &decision);
        cr_assert(end <= ours + NATIVE_ENCODE_FRAME_BYTES);
        cr_assert_eq(ours[NATIVE_ENCODE_FRAME_BYTES], 0xa5);
        expect_frame(&frame, ours, (size_t)(end - ours));
    }
    arena_deinit(&arena);
}

Test(native_encode, the_longest_answer_has_room)
{
    struct random_source source = {.state = 3};
    struct decision decision;
    static uint8_t ours[NATIVE_ENCODE_FRAME_BYTES];
    random_decision(&source, &decision);
    decision.row_count = LIMITS_ROUTE_LIMITS_MAX;
    for (uint32_t i = 0; i <= decision.row_count; i++) {
        struct decision_row *row = i == decision.row_count ? &decision.shown : &decision.rows[i];
        random_row(&source, row);
        row->limit_name.size = LIMITS_LIMIT_NAME_BYTES_MAX;
        row->allowed = row->shadow = true;
        row->algorithm = LIMITER_SLIDING_COUNTER;
        row->limit = row->remaining = UINT64_MAX;
        row->retry_after_ns = row->reset_after_ns = INT64_MAX;
        row->delay_ns = row->window_ns = INT64_MAX;
    }
    uint8_t *end = native_encode_decision(ours, UINT64_MAX, NATIVE_ENCODE_SHOULD_ALLOW, &decision);
    cr_expect(end <= ours + sizeof(ours), "%zd bytes of %zu", end - ours, sizeof(ours));
}

Test(native_encode, batches_and_errors_are_written_as_protobuf_c_writes_them)
{
    struct random_source source = {.state = 99};
    struct arena arena;
    struct decision decision;
    struct request_error error;
    uint8_t *ours = malloc(102 * NATIVE_ENCODE_FRAME_BYTES);
    arena_init(&arena, 1 << 16, 0);
    request_error_set(&error, REQUEST_INVALID_ARGUMENT, "attributes.ip", "no address: %d", 7);
    for (int i = 0; i < 300; i++) {
        Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
        Sluice__V1__ShouldAllowBatchResponse batch = SLUICE__V1__SHOULD_ALLOW_BATCH_RESPONSE__INIT;
        size_t count = random_below(&source, 101);
        arena_reset(&arena);
        frame.id = random_number(&source);
        frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_SHOULD_ALLOW_BATCH;
        frame.should_allow_batch = &batch;
        batch.n_results = count;
        batch.results = arena_alloc(&arena, (count + 1) * sizeof(void *));
        uint8_t *at = native_encode_batch_begin(ours, frame.id);
        for (size_t j = 0; j < count; j++) {
            Sluice__V1__ShouldAllowResult *result = arena_alloc(&arena, sizeof(*result));
            sluice__v1__should_allow_result__init(result);
            batch.results[j] = result;
            if (random_below(&source, 4) == 0) {
                result->result_case = SLUICE__V1__SHOULD_ALLOW_RESULT__RESULT_ERROR;
                result->error = failure(&arena, &error);
                at = native_encode_result_error(at, &error);
            } else {
                random_decision(&source, &decision);
                result->result_case = SLUICE__V1__SHOULD_ALLOW_RESULT__RESULT_RESPONSE;
                result->response = response(&arena, &decision);
                at = native_encode_result(at, &decision);
            }
        }
        at = native_encode_batch_end(ours, frame.id, at);
        expect_frame(&frame, ours, (size_t)(at - ours));
    }
    Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
    frame.id = 12;
    frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_ERROR;
    frame.error = failure(&arena, &error);
    uint8_t *end = native_encode_error(ours, 12, &error);
    expect_frame(&frame, ours, (size_t)(end - ours));
    arena_deinit(&arena);
    free(ours);
}
