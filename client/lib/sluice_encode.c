#include "sluice_encode.h"

#include <string.h>

/* Sizes first, then bytes: a length stands in front of what it measures. Every nested size fits
 * size_t easily: what a caller holds in memory, plus a few bytes each. */

enum { KEY = 1, ROUTE = 2, COST = 3, ATTRIBUTES = 4, DETAILS = 5 };

static size_t bytes_size(size_t size)
{
    return 1 + sluice_encode_varint_size(size) + size;
}

static uint8_t *put_head(uint8_t *at, unsigned field, size_t size)
{
    *at++ = (uint8_t)(field << 3 | 2);
    return sluice_encode_varint(at, size);
}

/* proto3 leaves out an empty string; a map's entry always states both. */
static uint8_t *put_bytes(uint8_t *at, unsigned field, struct sluice_bytes bytes)
{
    at = put_head(at, field, bytes.size);
    if (bytes.size > 0) {
        memcpy(at, bytes.data, bytes.size);
    }
    return at + bytes.size;
}

static size_t attribute_size(const struct sluice_attribute *attribute)
{
    return bytes_size(attribute->name.size) + bytes_size(attribute->value.size);
}

static bool sends_cost(const struct sluice_question *question, enum sluice_encode_kind kind)
{
    return question->has_cost && kind != SLUICE_ENCODE_RESET;
}

static bool sends_details(const struct sluice_question *question, enum sluice_encode_kind kind)
{
    return question->details && (kind == SLUICE_ENCODE_ASK || kind == SLUICE_ENCODE_BATCH);
}

static size_t question_size(const struct sluice_question *question, enum sluice_encode_kind kind)
{
    size_t size = 0;
    if (question->key.size > 0) {
        size += bytes_size(question->key.size);
    }
    if (question->route.size > 0) {
        size += bytes_size(question->route.size);
    }
    if (sends_cost(question, kind)) {
        size += 1 + sluice_encode_varint_size(question->cost);
    }
    for (size_t i = 0; i < question->attribute_count; i++) {
        size += bytes_size(attribute_size(&question->attributes[i]));
    }
    return size + (sends_details(question, kind) ? 2 : 0);
}

static uint8_t *put_question(uint8_t *at, const struct sluice_question *question,
                             enum sluice_encode_kind kind)
{
    if (question->key.size > 0) {
        at = put_bytes(at, KEY, question->key);
    }
    if (question->route.size > 0) {
        at = put_bytes(at, ROUTE, question->route);
    }
    if (sends_cost(question, kind)) {
        *at++ = COST << 3;
        at = sluice_encode_varint(at, question->cost);
    }
    for (size_t i = 0; i < question->attribute_count; i++) {
        const struct sluice_attribute *attribute = &question->attributes[i];
        at = put_head(at, ATTRIBUTES, attribute_size(attribute));
        at = put_bytes(at, 1, attribute->name);
        at = put_bytes(at, 2, attribute->value);
    }
    if (sends_details(question, kind)) {
        *at++ = DETAILS << 3;
        *at++ = 1;
    }
    return at;
}

static size_t body_size(enum sluice_encode_kind kind, const struct sluice_question *questions,
                        size_t count)
{
    if (kind != SLUICE_ENCODE_BATCH && count == 1) {
        return question_size(questions, kind);
    }
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += bytes_size(question_size(&questions[i], kind));
    }
    return size;
}

static uint8_t *put_body(uint8_t *at, enum sluice_encode_kind kind,
                         const struct sluice_question *questions, size_t count)
{
    if (kind != SLUICE_ENCODE_BATCH && count == 1) {
        return put_question(at, questions, kind);
    }
    for (size_t i = 0; i < count; i++) {
        at = put_head(at, 1, question_size(&questions[i], kind));
        at = put_question(at, &questions[i], kind);
    }
    return at;
}

enum sluice_status sluice_encode(struct sluice_buffer *out, uint64_t id,
                                 enum sluice_encode_kind kind,
                                 const struct sluice_question *questions, size_t count)
{
    if (kind == SLUICE_ENCODE_BATCH && count > SLUICE_ENCODE_BATCH_MAX) {
        return SLUICE_INVALID;
    }
    size_t body = body_size(kind, questions, count);
    size_t frame = (id == 0 ? 0 : 1 + sluice_encode_varint_size(id)) + bytes_size(body);
    if (frame > SLUICE_ENCODE_FRAME_BYTES_MAX) {
        return SLUICE_INVALID;
    }
    if (!sluice_buffer_reserve(out, sluice_encode_varint_size(frame) + frame)) {
        return SLUICE_NO_MEMORY;
    }
    uint8_t *at = sluice_encode_varint(out->data + out->end, frame);
    if (id != 0) {
        *at++ = 1 << 3;
        at = sluice_encode_varint(at, id);
    }
    at = put_head(at, kind, body);
    at = put_body(at, kind, questions, count);
    out->end = (size_t)(at - out->data);
    return SLUICE_OK;
}
