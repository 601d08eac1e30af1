#include "wire/native_decode.h"

#include "wire/random_messages.h"

#include <criterion/criterion.h>

static struct slice bytes(const char *data, size_t size)
{
    return slice_make(data, size);
}
#define BYTES(text) bytes((text), sizeof(text) - 1)

/* What protobuf-c makes of it. */
static bool by_protobuf_c(struct arena *arena, struct slice wire, struct request *request)
{
    void *message;
    if (pb_unpack(&sluice__v1__should_allow_request__descriptor, arena, wire, &message) != PB_OK) {
        return false;
    }
    pb_request_should_allow(message, request);
    return true;
}

Test(native_decode, random_requests_are_read_as_protobuf_c_reads_them)
{
    struct random_source source = {.state = 20260101};
    struct arena arena;
    cr_assert(pb_arena_init(&arena));
    for (int i = 0; i < 20000; i++) {
        struct request ours;
        struct request theirs;
        arena_reset(&arena);
        struct slice wire = random_pack(&random_request(&source, &arena)->base, &arena);
        cr_assert(by_protobuf_c(&arena, wire, &theirs));
        cr_assert(native_decode_request(wire, &ours), "round %d: packed, so usual", i);
        cr_assert(random_same_request(&ours, &theirs), "round %d", i);
    }
    arena_deinit(&arena);
}

/* Turned bits, cuts and doubled pieces: wherever ours says yes, protobuf-c says the same. */
Test(native_decode, damaged_requests_are_never_read_differently)
{
    struct random_source source = {.state = 77};
    struct arena arena;
    int taken = 0;
    cr_assert(pb_arena_init(&arena));
    for (int i = 0; i < 50000; i++) {
        struct request ours;
        struct request theirs;
        arena_reset(&arena);
        struct slice wire = random_pack(&random_request(&source, &arena)->base, &arena);
        uint8_t *copy = arena_alloc(&arena, wire.size + 1);
        memcpy(copy, wire.data, wire.size);
        for (uint64_t n = random_below(&source, 3); wire.size > 0 && n > 0; n--) {
            copy[random_below(&source, wire.size)] ^= (uint8_t)(1u << random_below(&source, 8));
        }
        size_t size = random_below(&source, 3) == 0 ? random_below(&source, wire.size + 1)
                                                    : wire.size;
        if (native_decode_request(slice_make(copy, size), &ours)) {
            taken++;
            cr_assert(by_protobuf_c(&arena, slice_make(copy, size), &theirs), "round %d", i);
            cr_assert(random_same_request(&ours, &theirs), "round %d", i);
        }
    }
    cr_assert_gt(taken, 10000);
    arena_deinit(&arena);
}

Test(native_decode, the_unusual_is_left_to_protobuf_c)
{
    struct request request;
    cr_expect_not(native_decode_request(BYTES("\x0a\x01"
                                              "a"
                                              "\x0a\x01"
                                              "b"), &request), "a key twice");
    cr_expect_not(native_decode_request(BYTES("\x08\x01"), &request), "the key as a number");
    cr_expect_not(native_decode_request(BYTES("\x32\x01x"), &request), "field 6");
    cr_expect_not(native_decode_request(BYTES("\x18\x01\x18\x02"), &request), "the cost twice");
    cr_expect_not(native_decode_request(BYTES("\x28\x02"), &request), "details: 2");
    cr_expect_not(native_decode_request(BYTES("\x0a\x05"
                                              "ab"), &request), "cut short");
    cr_expect_not(native_decode_request(BYTES("\x22\x04\x12\x00\x0a\x00"), &request),
                  "value before name");
    cr_expect(native_decode_request(BYTES(""), &request));
    cr_expect_eq(request.key.size, 0);
    cr_expect(request.utf8);
}

Test(native_decode, seventeen_attributes_are_counted_and_sixteen_kept)
{
    uint8_t wire[17 * 7];
    struct request request;
    for (size_t i = 0; i < 17; i++) {
        const uint8_t entry[7] = {0x22, 5, 0x0a, 1, (uint8_t)('a' + i), 0x12, 0};
        memcpy(wire + 7 * i, entry, sizeof(entry));
    }
    cr_assert(native_decode_request(slice_make(wire, sizeof(wire)), &request));
    cr_expect_eq(request.attribute_count, 17);
    cr_expect(slice_equal_text(request.attributes[15].name, "p"));
}

Test(native_decode, frames_are_told_by_their_length)
{
    struct slice payload;
    size_t used;
    cr_expect_eq(native_decode_length(BYTES(""), &payload, &used), NATIVE_DECODE_MORE);
    cr_expect_eq(native_decode_length(BYTES("\x02"
                                            "a"), &payload, &used), NATIVE_DECODE_MORE);
    cr_assert_eq(native_decode_length(BYTES("\x02"
                                            "abc"), &payload, &used), NATIVE_DECODE_COMPLETE);
    cr_expect(slice_equal_text(payload, "ab"));
    cr_expect_eq(used, 3);
    cr_assert_eq(native_decode_length(BYTES("\x82\x80\x00xyz"), &payload, &used),
                 NATIVE_DECODE_COMPLETE, "the shortest form is not required");
    cr_expect(slice_equal_text(payload, "xy"));
    cr_expect_eq(native_decode_length(BYTES("\xff\xff"), &payload, &used), NATIVE_DECODE_MORE);
    cr_expect_eq(native_decode_length(BYTES("\x80\x80\x80"), &payload, &used),
                 NATIVE_DECODE_ENDLESS, "known after three bytes, not later");
    cr_expect_eq(native_decode_length(BYTES("\x80\x80\x10"), &payload, &used), NATIVE_DECODE_MORE,
                 "262144 is allowed");
    cr_expect_eq(native_decode_length(BYTES("\x81\x80\x10"), &payload, &used),
                 NATIVE_DECODE_TOO_LONG, "262145 is not");
}

Test(native_decode, usual_frames)
{
    struct native_decode_frame frame;
    cr_assert(native_decode_frame(BYTES("\x08\x07\x12\x00"), &frame));
    cr_expect_eq(frame.id, 7);
    cr_expect_eq(frame.body, NATIVE_DECODE_SHOULD_ALLOW);
    cr_assert(native_decode_frame(BYTES("\x1a\x02\x0a\x00"), &frame));
    cr_expect_eq(frame.id, 0);
    cr_expect_eq(frame.body, NATIVE_DECODE_BATCH);
    cr_assert(native_decode_frame(BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x00"),
                                  &frame));
    cr_expect_eq(frame.id, UINT64_MAX);
    cr_expect_not(native_decode_frame(BYTES(""), &frame), "no body");
    cr_expect_not(native_decode_frame(BYTES("\x12\x00\x12\x00"), &frame), "two bodies");
    cr_expect_not(native_decode_frame(BYTES("\x12\x00\x08\x07"), &frame), "id last");
    cr_expect_not(native_decode_frame(BYTES("\x12\x80\x80\x80\x80\x00"), &frame), "a long length");
}

Test(native_decode, the_id_of_a_broken_frame)
{
    cr_expect_eq(native_decode_id(BYTES("\x08\x2a\x12\x7f")), 42, "cut in the body");
    cr_expect_eq(native_decode_id(BYTES("\x12\x01x\x08\x2b\x0f")), 43, "id after a field");
    cr_expect_eq(native_decode_id(BYTES("\x0f\xff\xff\xff\xff")), 0, "nothing to be read");
    cr_expect_eq(native_decode_id(BYTES("\x08")), 0, "cut in the id");
    cr_expect_eq(native_decode_id(BYTES("\x0d\x01\x02\x03\x04\x08\x05\x0c")), 5, "after 32 bits");
    cr_expect_eq(native_decode_id(BYTES("")), 0);
}
