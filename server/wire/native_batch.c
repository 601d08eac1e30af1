#include "wire/native_batch.h"

#include "wire/native_decode.h"

bool native_batch_scan(uint64_t id, struct slice bytes, struct native_batch *batch)
{
    struct request request;
    struct slice rest = bytes;
    *batch = (struct native_batch){.id = id, .bytes = bytes};
    while (rest.size > 0) {
        struct slice member;
        if (!native_decode_member(&rest, &member) || !native_decode_request(member, &request)) {
            return false;
        }
        batch->count++;
    }
    return true;
}

/* The next member; native_batch_scan saw that it can be read. */
static void native_batch_next(struct native_batch *batch, struct request *request)
{
    if (batch->messages != NULL) {
        pb_request_should_allow(*batch->messages++, request);
        return;
    }
    struct slice member = slice_make(NULL, 0);
    (void)native_decode_member(&batch->bytes, &member);
    (void)native_decode_request(member, request);
}

static uint32_t native_batch_room(const struct native_turn *turn, uint32_t wanted)
{
    uint32_t room = engine_room(turn->worker->engine);
    room = room < WIRE_SCRATCH_AHEAD ? room : WIRE_SCRATCH_AHEAD;
    return wanted < room ? wanted : room;
}

/* Some members: all prepared, then each decided and written. */
static bool native_batch_some(struct native_turn *turn, struct native_batch *batch, uint32_t some)
{
    struct wire_scratch_entry *entries = turn->scratch->entries;
    for (uint32_t i = 0; i < some; i++) {
        native_batch_next(batch, &entries[i].request);
        native_turn_prepare(turn, &entries[i]);
    }
    uint8_t *start = buf_reserve(turn->out, (size_t)some * NATIVE_ENCODE_FRAME_BYTES);
    if (start == NULL) {
        return false;
    }
    uint8_t *at = start;
    for (uint32_t i = 0; i < some; i++) {
        if (native_turn_decide(turn, &entries[i])) {
            at = native_encode_result(at, &turn->scratch->decision);
        } else {
            at = native_encode_result_error(at, &entries[i].error);
        }
    }
    buf_commit(turn->out, (size_t)(at - start));
    return true;
}

bool native_batch_results(struct native_turn *turn, struct native_batch *batch)
{
    bool good = true;
    for (uint32_t left = batch->count; good && left > 0;) {
        engine_rewind(turn->worker->engine);
        uint32_t some = native_batch_room(turn, left);
        good = native_batch_some(turn, batch, some);
        left -= some;
    }
    return good;
}

void native_batch_too_long(const struct native_batch *batch, struct request_error *error)
{
    request_error_set(error, REQUEST_INVALID_ARGUMENT, "requests",
                      "a batch holds at most %d requests, this one has %u", LIMITS_BATCH_MAX,
                      batch->count);
}

/* Puts the lengths in front of the results, which begin `offset` into the output. */
static bool native_batch_finish(struct native_turn *turn, const struct native_batch *batch,
                                size_t offset)
{
    struct buf *out = turn->out;
    uint8_t *end = buf_reserve(out, NATIVE_ENCODE_FRAME_BYTES);
    if (end == NULL) {
        return false;
    }
    uint8_t *begin = out->data + out->start + offset;
    buf_commit(out, (size_t)(native_encode_batch_end(begin, batch->id, end) - end));
    return true;
}

bool native_batch_answer(struct native_turn *turn, struct native_batch *batch)
{
    struct buf *out = turn->out;
    struct request_error error;
    size_t offset = out->size;
    metrics_request(turn->worker->metrics, turn->metrics, METRICS_BATCH, 1);
    if (batch->count > LIMITS_BATCH_MAX) {
        native_batch_too_long(batch, &error);
        return native_turn_error(turn, batch->id, &error);
    }
    uint8_t *begin = buf_reserve(out, NATIVE_ENCODE_FRAME_BYTES);
    bool good = begin != NULL;
    if (good) {
        buf_commit(out, (size_t)(native_encode_batch_begin(begin, batch->id) - begin));
    }
    good = good && native_batch_results(turn, batch);
    if (!good || !native_batch_finish(turn, batch, offset)) {
        out->size = offset;
        return false;
    }
    return true;
}
