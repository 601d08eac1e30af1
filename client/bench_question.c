#include "bench_question.h"

#include "base/limits.h"
#include "sluice_decode.h"

#include <stdlib.h>
#include <string.h>

enum { KEY = 1, ROUTE = 2, COST = 3, ATTRIBUTES = 4 };

/* The frames are our own and well-formed; whatever is not stops the reading. */
static bool take_number(struct sluice_decode_view *view, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; shift < 64 && view->at < view->end; shift += 7) {
        uint8_t byte = *view->at++;
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

static bool take_bytes(struct sluice_decode_view *view, struct sluice_bytes *bytes)
{
    uint64_t size;
    if (!take_number(view, &size) || size > (uint64_t)(view->end - view->at)) {
        return false;
    }
    *bytes = (struct sluice_bytes){(const char *)view->at, (size_t)size};
    view->at += size;
    return true;
}

static struct sluice_decode_view view_of(struct sluice_bytes bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    return (struct sluice_decode_view){at, at + bytes.size};
}

static bool take_attribute(struct sluice_bytes entry, struct sluice_attribute *attribute)
{
    struct sluice_decode_view view = view_of(entry);
    uint64_t tag;
    return take_number(&view, &tag) && take_bytes(&view, &attribute->name) &&
           take_number(&view, &tag) && take_bytes(&view, &attribute->value);
}

static bool take_field(struct sluice_decode_view *view, uint64_t field,
                       struct sluice_question *question, struct sluice_attribute *attributes)
{
    struct sluice_bytes bytes;
    if (field == COST) {
        question->has_cost = true;
        return take_number(view, &question->cost);
    }
    if (!take_bytes(view, &bytes)) {
        return false;
    }
    if (field == KEY) {
        question->key = bytes;
    } else if (field == ROUTE) {
        question->route = bytes;
    } else if (field == ATTRIBUTES && question->attribute_count < LIMITS_ATTRIBUTES_MAX) {
        return take_attribute(bytes, &attributes[question->attribute_count++]);
    }
    return true;
}

static bool read_question(struct sluice_bytes bytes, struct sluice_question *question,
                          struct sluice_attribute *attributes)
{
    struct sluice_decode_view view = view_of(bytes);
    uint64_t tag;
    *question = (struct sluice_question){.attributes = attributes};
    while (view.at < view.end) {
        if (!take_number(&view, &tag) || !take_field(&view, tag >> 3, question, attributes)) {
            return false;
        }
    }
    return true;
}

/* A question and room for its attributes. */
struct place {
    struct sluice_question question;
    struct sluice_attribute attributes[LIMITS_ATTRIBUTES_MAX];
};

static bool read_all(struct sluice_decode_view body, struct bench_question *out,
                     struct sluice_attribute *attributes)
{
    struct sluice_bytes bytes = {(const char *)body.at, (size_t)(body.end - body.at)};
    uint64_t tag;
    if (out->kind == SLUICE_ENCODE_ASK) {
        out->count = 1;
        return read_question(bytes, out->questions, attributes);
    }
    while (body.at < body.end && out->count < LIMITS_BATCH_MAX) {
        if (!take_number(&body, &tag) || !take_bytes(&body, &bytes) ||
            !read_question(bytes, &out->questions[out->count],
                           attributes + out->count * LIMITS_ATTRIBUTES_MAX)) {
            return false;
        }
        out->count++;
    }
    return true;
}

bool bench_question_read(const struct sluice_buffer *buffer, struct bench_question *out)
{
    struct sluice_decode_view bytes;
    struct sluice_decode_frame frame;
    size_t consumed;
    *out = (struct bench_question){.kind = SLUICE_ENCODE_ASK};
    if (sluice_decode_next(buffer->data + buffer->start, sluice_buffer_size(buffer), &bytes,
                           &consumed) != SLUICE_DECODE_OK ||
        !sluice_decode_frame(bytes, &frame)) {
        return false;
    }
    out->kind = (enum sluice_encode_kind)frame.kind;
    size_t room = out->kind == SLUICE_ENCODE_ASK ? 1 : LIMITS_BATCH_MAX;
    out->memory = malloc(room * sizeof(struct place));
    if (out->memory == NULL) {
        return false;
    }
    out->questions = out->memory;
    struct sluice_attribute *attributes = (void *)(out->questions + room);
    return read_all(frame.body, out, attributes);
}

void bench_question_deinit(struct bench_question *question)
{
    free(question->memory);
    question->memory = NULL;
}
