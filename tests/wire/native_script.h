/* Client frames put together field by field, and server frames taken apart by protobuf-c. */
#ifndef TESTS_WIRE_NATIVE_SCRIPT_H
#define TESTS_WIRE_NATIVE_SCRIPT_H

#include "wire/pb.h"

#include <criterion/criterion.h>

static inline void put_varint(struct buf *out, uint64_t value)
{
    while (value >= 0x80) {
        buf_append_byte(out, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    buf_append_byte(out, (uint8_t)value);
}

static inline void put_bytes(struct buf *out, unsigned field, struct slice bytes)
{
    put_varint(out, field << 3 | 2);
    put_varint(out, bytes.size);
    buf_append_slice(out, bytes);
}

static inline void put_text(struct buf *out, unsigned field, const char *text)
{
    put_bytes(out, field, slice_text(text));
}

static inline void put_number(struct buf *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3);
    put_varint(out, value);
}

/* Frames a body, which is given back. */
static inline void put_frame(struct buf *out, uint64_t id, unsigned field, struct buf *body)
{
    struct buf frame;
    buf_init(&frame, 0);
    put_number(&frame, 1, id);
    if (field != 0) {
        put_bytes(&frame, field, buf_slice(body));
    }
    put_varint(out, frame.size);
    buf_append_slice(out, buf_slice(&frame));
    buf_deinit(&frame);
    buf_deinit(body);
}

static inline void put_ask(struct buf *out, uint64_t id, const char *key, const char *route)
{
    struct buf body;
    buf_init(&body, 0);
    put_text(&body, 1, key);
    put_text(&body, 2, route);
    put_frame(out, id, 2, &body);
}

static inline void put_empty(struct buf *out, uint64_t id, unsigned field)
{
    struct buf body;
    buf_init(&body, 0);
    put_frame(out, id, field, &body);
}

/* Takes the next ServerFrame off the front. */
static inline Sluice__V1__ServerFrame *take(struct buf *out)
{
    size_t size = 0;
    size_t header = 0;
    uint8_t byte;
    do {
        cr_assert_lt(header, out->size, "an answer is missing");
        byte = out->data[out->start + header];
        size |= (size_t)(byte & 0x7f) << (7 * header++);
    } while (byte >= 0x80);
    cr_assert_leq(header + size, out->size);
    Sluice__V1__ServerFrame *frame =
        sluice__v1__server_frame__unpack(NULL, size, out->data + out->start + header);
    cr_assert_not_null(frame);
    buf_consume(out, header + size);
    return frame;
}

static inline void expect_answer(struct buf *out, uint64_t id, bool allowed, uint64_t remaining)
{
    Sluice__V1__ServerFrame *frame = take(out);
    cr_assert_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_SHOULD_ALLOW, "id %lu: %d",
                 (unsigned long)frame->id, (int)frame->body_case);
    cr_expect_eq(frame->id, id);
    cr_expect_eq(frame->should_allow->allowed, allowed, "id %lu", (unsigned long)id);
    cr_expect_eq(frame->should_allow->remaining, remaining, "id %lu: remaining %lu",
                 (unsigned long)id, (unsigned long)frame->should_allow->remaining);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
}

static inline void expect_error(struct buf *out, uint64_t id, int code, const char *field)
{
    Sluice__V1__ServerFrame *frame = take(out);
    cr_assert_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_ERROR, "%d", frame->body_case);
    cr_expect_eq(frame->id, id);
    cr_expect_eq((int)frame->error->code, code, "code %d", (int)frame->error->code);
    cr_expect(slice_equal_text(slice_make(frame->error->field.data, frame->error->field.len),
                               field), "field %.*s", (int)frame->error->field.len,
              frame->error->field.data);
    cr_expect_gt(frame->error->message.len, 0);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
}

static inline void put_batch(struct buf *out, uint64_t id, unsigned count, unsigned empty_key)
{
    struct buf body;
    buf_init(&body, 0);
    for (unsigned i = 0; i < count; i++) {
        struct buf member;
        buf_init(&member, 0);
        put_text(&member, 1, i == empty_key ? "" : "batch");
        put_text(&member, 2, "tb");
        put_bytes(&body, 1, buf_slice(&member));
        buf_deinit(&member);
    }
    put_frame(out, id, 3, &body);
}

static inline void put_change(struct buf *out, uint64_t id, unsigned field)
{
    struct buf body;
    buf_init(&body, 0);
    put_text(&body, 1, "k");
    put_text(&body, 2, "tb");
    if (field == 4) {
        put_number(&body, 3, 2);
    }
    put_frame(out, id, field, &body);
}

#endif
