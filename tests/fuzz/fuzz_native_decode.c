/* links: sluice_wire */
/* Wherever the hand-written decoder says yes, protobuf-c reads the same request and the same
 * frame. */
#include "wire/native_decode.h"
#include "wire/pb.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good)
{
    if (!good) {
        abort();
    }
}

static void compare_requests(const struct request *ours, const struct request *theirs)
{
    require(slice_equal(ours->key, theirs->key) && slice_equal(ours->route, theirs->route));
    require(ours->has_cost == theirs->has_cost);
    require(!ours->has_cost || ours->cost == theirs->cost);
    require(ours->details == theirs->details && ours->utf8 == theirs->utf8);
    require(ours->attribute_count == theirs->attribute_count);
    for (uint32_t i = 0; i < ours->attribute_count && i < LIMITS_ATTRIBUTES_MAX; i++) {
        require(slice_equal(ours->attributes[i].name, theirs->attributes[i].name));
        require(slice_equal(ours->attributes[i].value, theirs->attributes[i].value));
    }
}

static void compare_request(struct arena *arena, struct slice bytes)
{
    struct request ours;
    struct request theirs;
    void *message;
    if (native_decode_request(bytes, &ours)) {
        require(pb_unpack(&sluice__v1__should_allow_request__descriptor, arena, bytes, &message) ==
                PB_OK);
        pb_request_should_allow(message, &theirs);
        compare_requests(&ours, &theirs);
    }
}

static void compare_frame(struct arena *arena, struct slice bytes)
{
    struct native_decode_frame frame;
    void *unpacked;
    if (!native_decode_frame(bytes, &frame)) {
        return;
    }
    enum pb_result result =
        pb_unpack(&sluice__v1__client_frame__descriptor, arena, bytes, &unpacked);
    if (result != PB_OK) {
        return; /* the body's bytes are protobuf-c's to refuse: ours has not looked at them */
    }
    const Sluice__V1__ClientFrame *message = unpacked;
    require(message->id == frame.id && (int)message->body_case == (int)frame.body);
    if (frame.body == NATIVE_DECODE_SHOULD_ALLOW) {
        struct request ours;
        struct request theirs;
        pb_request_should_allow(message->should_allow, &theirs);
        if (native_decode_request(frame.bytes, &ours)) {
            compare_requests(&ours, &theirs);
        }
        return;
    }
    size_t count = 0;
    struct slice member;
    while (frame.bytes.size > 0 && native_decode_member(&frame.bytes, &member)) {
        count++;
    }
    require(frame.bytes.size > 0 || count == message->should_allow_batch->n_requests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct slice payload;
    size_t used;
    require(pb_arena_init(&arena));
    compare_request(&arena, slice_make(data, size));
    compare_frame(&arena, slice_make(data, size));
    if (native_decode_length(slice_make(data, size), &payload, &used) == NATIVE_DECODE_COMPLETE) {
        require(used <= size && payload.data + payload.size == data + used);
        compare_frame(&arena, payload);
    }
    (void)native_decode_id(slice_make(data, size));
    arena_deinit(&arena);
    return 0;
}
