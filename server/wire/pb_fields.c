#include "wire/pb_fields.h"

#include "base/limits.h"

#define PB_FIELDS_NUMBER_LAST ((1u << 29) - 1)

enum pb_fields_type {
    PB_FIELDS_VARINT = 0,
    PB_FIELDS_64_BIT = 1,
    PB_FIELDS_BYTES = 2,
    PB_FIELDS_32_BIT = 5
};

static bool pb_fields_varint(struct slice *rest, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < LIMITS_VARINT_BYTES_MAX && i < rest->size; i++) {
        value |= (uint64_t)(rest->data[i] & 0x7f) << (7 * i);
        if (rest->data[i] < 0x80) {
            *out = value;
            *rest = slice_make(rest->data + i + 1, rest->size - i - 1);
            return true;
        }
    }
    return false;
}

static bool pb_fields_take(struct slice *rest, uint64_t size, struct slice *out)
{
    if (size > rest->size) {
        return false;
    }
    *out = slice_make(rest->data, (size_t)size);
    *rest = slice_make(rest->data + size, rest->size - (size_t)size);
    return true;
}

static bool pb_fields_content(struct slice *rest, unsigned type, struct pb_field *field)
{
    uint64_t size;
    switch (type) {
    case PB_FIELDS_VARINT:
        return pb_fields_varint(rest, &field->value);
    case PB_FIELDS_BYTES:
        field->is_bytes = true;
        return pb_fields_varint(rest, &size) && pb_fields_take(rest, size, &field->bytes);
    case PB_FIELDS_64_BIT:
        return pb_fields_take(rest, 8, &field->bytes);
    case PB_FIELDS_32_BIT:
        return pb_fields_take(rest, 4, &field->bytes);
    default:
        return false;
    }
}

enum pb_fields_result pb_fields_next(struct slice *rest, struct pb_field *field)
{
    uint64_t tag;
    *field = (struct pb_field){0};
    if (rest->size == 0) {
        return PB_FIELDS_END;
    }
    if (!pb_fields_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > PB_FIELDS_NUMBER_LAST) {
        return PB_FIELDS_MALFORMED;
    }
    field->number = (uint32_t)(tag >> 3);
    return pb_fields_content(rest, tag & 7, field) ? PB_FIELDS_ONE : PB_FIELDS_MALFORMED;
}

bool pb_fields_bytes(struct slice message, uint32_t number, struct slice *out)
{
    struct pb_field field;
    enum pb_fields_result result;
    *out = slice_make(NULL, 0);
    while ((result = pb_fields_next(&message, &field)) == PB_FIELDS_ONE) {
        if (field.number == number && field.is_bytes) {
            *out = field.bytes;
        } else if (field.number == number) {
            return false;
        }
    }
    return result == PB_FIELDS_END;
}

static void pb_fields_put_varint(struct buf *out, uint64_t value)
{
    while (value >= 0x80) {
        buf_append_byte(out, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    buf_append_byte(out, (uint8_t)value);
}

void pb_fields_put_number(struct buf *out, uint32_t number, uint64_t value)
{
    pb_fields_put_varint(out, (uint64_t)number << 3 | PB_FIELDS_VARINT);
    pb_fields_put_varint(out, value);
}

void pb_fields_put_head(struct buf *out, uint32_t number, size_t size)
{
    pb_fields_put_varint(out, (uint64_t)number << 3 | PB_FIELDS_BYTES);
    pb_fields_put_varint(out, size);
}

void pb_fields_put_bytes(struct buf *out, uint32_t number, struct slice bytes)
{
    pb_fields_put_head(out, number, bytes.size);
    buf_append_slice(out, bytes);
}
