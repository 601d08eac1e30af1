#include "wire/native_decode.h"

#include "base/limits.h"

/* A field's tag as it stands on the wire, where the number is below 16: one byte. */
#define NATIVE_TAG(number, type) ((uint8_t)((number) << 3 | (type)))

enum native_type { NATIVE_VARINT = 0, NATIVE_64_BIT = 1, NATIVE_BYTES = 2, NATIVE_32_BIT = 5 };

/* Where reading stands. */
struct native_cursor {
    const uint8_t *at;
    const uint8_t *end;
};

static inline struct native_cursor native_cursor_make(struct slice bytes)
{
    return (struct native_cursor){.at = bytes.data, .end = bytes.data + bytes.size};
}

static inline bool native_varint(struct native_cursor *cursor, uint64_t *out)
{
    if (cursor->at < cursor->end && *cursor->at < 0x80) {
        *out = *cursor->at++;
        return true;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < LIMITS_VARINT_BYTES_MAX && cursor->at < cursor->end; i++) {
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* Nothing within a frame needs a longer length than the frame itself; protobuf-c's own bound is
 * five bytes. */
static inline bool native_bytes(struct native_cursor *cursor, struct slice *out)
{
    const uint8_t *start = cursor->at;
    uint64_t size;
    if (!native_varint(cursor, &size) ||
        cursor->at - start > LIMITS_CLIENT_LENGTH_BYTES_MAX ||
        size > (uint64_t)(cursor->end - cursor->at)) {
        return false;
    }
    *out = slice_make(cursor->at, (size_t)size);
    cursor->at += size;
    return true;
}

/* Reads a field of bytes with a length of one byte, if it comes next. */
static inline bool native_short(struct native_cursor *cursor, uint8_t tag, struct slice *out)
{
    const uint8_t *at = cursor->at;
    size_t left = (size_t)(cursor->end - at);
    if (left < 2 || at[0] != tag || at[1] >= 0x80 || at[1] > left - 2) {
        return false;
    }
    *out = slice_make(at + 2, at[1]);
    cursor->at = at + 2 + at[1];
    return true;
}

enum native_decode_length native_decode_length(struct slice in, struct slice *payload,
                                               size_t *used)
{
    size_t length = 0;
    if (in.size > 0 && in.data[0] < 0x80 && in.data[0] < in.size) {
        *payload = slice_make(in.data + 1, in.data[0]);
        *used = 1 + (size_t)in.data[0];
        return NATIVE_DECODE_COMPLETE;
    }
    for (unsigned i = 0; i < LIMITS_CLIENT_LENGTH_BYTES_MAX; i++) {
        if (i >= in.size) {
            return NATIVE_DECODE_MORE;
        }
        length |= (size_t)(in.data[i] & 0x7f) << (7 * i);
        if (in.data[i] >= 0x80) {
            continue;
        }
        if (length > LIMITS_CLIENT_FRAME_BYTES_MAX) {
            return NATIVE_DECODE_TOO_LONG;
        }
        if (length > in.size - i - 1) {
            return NATIVE_DECODE_MORE;
        }
        *payload = slice_make(in.data + i + 1, length);
        *used = i + 1 + length;
        return NATIVE_DECODE_COMPLETE;
    }
    return NATIVE_DECODE_ENDLESS;
}

bool native_decode_frame(struct slice payload, struct native_decode_frame *frame)
{
    struct native_cursor cursor = native_cursor_make(payload);
    frame->id = 0;
    if (cursor.at < cursor.end && *cursor.at == NATIVE_TAG(1, NATIVE_VARINT)) {
        cursor.at++;
        if (!native_varint(&cursor, &frame->id)) {
            return false;
        }
    }
    if (native_short(&cursor, NATIVE_TAG(NATIVE_DECODE_SHOULD_ALLOW, NATIVE_BYTES),
                     &frame->bytes)) {
        frame->body = NATIVE_DECODE_SHOULD_ALLOW;
        return cursor.at == cursor.end;
    }
    if (cursor.at >= cursor.end) {
        return false;
    }
    switch (*cursor.at++) {
    case NATIVE_TAG(NATIVE_DECODE_SHOULD_ALLOW, NATIVE_BYTES):
        frame->body = NATIVE_DECODE_SHOULD_ALLOW;
        break;
    case NATIVE_TAG(NATIVE_DECODE_BATCH, NATIVE_BYTES):
        frame->body = NATIVE_DECODE_BATCH;
        break;
    default:
        return false;
    }
    return native_bytes(&cursor, &frame->bytes) && cursor.at == cursor.end;
}

/* An entry of the attributes map: a name, a value, in this order, each present or not. */
static bool native_attribute(struct slice bytes, struct request *request)
{
    struct native_cursor cursor = native_cursor_make(bytes);
    struct request_attribute attribute = {0};
    if (cursor.at < cursor.end && *cursor.at == NATIVE_TAG(1, NATIVE_BYTES)) {
        cursor.at++;
        if (!native_bytes(&cursor, &attribute.name)) {
            return false;
        }
    }
    if (cursor.at < cursor.end && *cursor.at == NATIVE_TAG(2, NATIVE_BYTES)) {
        cursor.at++;
        if (!native_bytes(&cursor, &attribute.value)) {
            return false;
        }
    }
    if (cursor.at != cursor.end) {
        return false;
    }
    if (request->attribute_count < LIMITS_ATTRIBUTES_MAX) {
        request->attributes[request->attribute_count] = attribute;
    }
    request->attribute_count++;
    return true;
}

/* A field that came before is unusual: `seen` has a bit for each. */
static inline bool native_first_time(unsigned *seen, unsigned number)
{
    bool first = (*seen & 1u << number) == 0;
    *seen |= 1u << number;
    return first;
}

bool native_decode_request(struct slice bytes, struct request *request)
{
    struct native_cursor cursor = native_cursor_make(bytes);
    unsigned seen = 0;
    uint64_t flag = 0;
    struct slice entry;
    request->key = request->route = slice_make(NULL, 0);
    request->cost = 0;
    request->has_cost = request->cost_invalid = request->details = false;
    request->utf8 = true;
    request->attribute_count = 0;
    /* As nearly all begin, and most end. */
    if (native_short(&cursor, NATIVE_TAG(1, NATIVE_BYTES), &request->key)) {
        seen |= 1u << 1;
    }
    if (native_short(&cursor, NATIVE_TAG(2, NATIVE_BYTES), &request->route)) {
        seen |= 1u << 2;
    }
    while (cursor.at < cursor.end) {
        bool good;
        switch (*cursor.at++) {
        case NATIVE_TAG(1, NATIVE_BYTES):
            good = native_first_time(&seen, 1) && native_bytes(&cursor, &request->key);
            break;
        case NATIVE_TAG(2, NATIVE_BYTES):
            good = native_first_time(&seen, 2) && native_bytes(&cursor, &request->route);
            break;
        case NATIVE_TAG(3, NATIVE_VARINT):
            good = native_first_time(&seen, 3) && native_varint(&cursor, &request->cost);
            request->has_cost = true;
            break;
        case NATIVE_TAG(4, NATIVE_BYTES):
            good = native_bytes(&cursor, &entry) && native_attribute(entry, request);
            break;
        case NATIVE_TAG(5, NATIVE_VARINT):
            good = native_first_time(&seen, 5) && native_varint(&cursor, &flag) && flag <= 1;
            request->details = good && flag == 1;
            break;
        default:
            good = false;
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

bool native_decode_member(struct slice *batch, struct slice *member)
{
    struct native_cursor cursor = native_cursor_make(*batch);
    if (cursor.at >= cursor.end || *cursor.at++ != NATIVE_TAG(1, NATIVE_BYTES) ||
        !native_bytes(&cursor, member)) {
        return false;
    }
    *batch = slice_make(cursor.at, (size_t)(cursor.end - cursor.at));
    return true;
}

/* Steps over a field's value. False: it is cut short or of no known type. */
static bool native_skip(struct native_cursor *cursor, unsigned type)
{
    uint64_t number;
    struct slice bytes;
    size_t fixed = type == NATIVE_64_BIT ? 8 : 4;
    switch (type) {
    case NATIVE_VARINT:
        return native_varint(cursor, &number);
    case NATIVE_BYTES:
        return native_bytes(cursor, &bytes);
    case NATIVE_64_BIT:
    case NATIVE_32_BIT:
        if ((size_t)(cursor->end - cursor->at) < fixed) {
            return false;
        }
        cursor->at += fixed;
        return true;
    default:
        return false;
    }
}

uint64_t native_decode_id(struct slice payload)
{
    struct native_cursor cursor = native_cursor_make(payload);
    uint64_t id = 0;
    uint64_t tag;
    while (cursor.at < cursor.end && native_varint(&cursor, &tag)) {
        uint64_t value;
        if (tag != NATIVE_TAG(1, NATIVE_VARINT)) {
            if (!native_skip(&cursor, tag & 7)) {
                break;
            }
        } else if (native_varint(&cursor, &value)) {
            id = value;
        } else {
            break;
        }
    }
    return id;
}
