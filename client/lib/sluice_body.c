#include "sluice_body.h"

#include <sluice/v1/sluice.pb-c.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S INT64_C(1000000000)

/* A duration and where it is shown; absent ones are left out. */
static Sluice__V1__Duration *duration(Sluice__V1__Duration *room, int64_t ns)
{
    if (ns == SLUICE_ABSENT) {
        return NULL;
    }
    sluice__v1__duration__init(room);
    room->seconds = ns / NS_PER_S;
    room->nanos = (int32_t)(ns % NS_PER_S);
    return room;
}

static ProtobufCBinaryData text(struct sluice_bytes bytes)
{
    return (ProtobufCBinaryData){.len = bytes.size, .data = (uint8_t *)(uintptr_t)bytes.data};
}

static bool pack(struct sluice_buffer *body, const ProtobufCMessage *message, unsigned kind,
                 struct sluice_decode_frame *frame)
{
    sluice_buffer_clear(body);
    size_t size = protobuf_c_message_get_packed_size(message);
    if (!sluice_buffer_reserve(body, size + 1)) {
        return false;
    }
    (void)protobuf_c_message_pack(message, body->data + body->end);
    body->end += size;
    const uint8_t *at = body->data + body->start;
    *frame = (struct sluice_decode_frame){.kind = kind, .body = {at, at + size}};
    return true;
}

struct row {
    Sluice__V1__LimitStatus status;
    Sluice__V1__Duration times[4];
};

static void fill_row(struct row *to, const struct sluice_row *row)
{
    sluice__v1__limit_status__init(&to->status);
    to->status.limit_name = text(row->limit_name);
    to->status.allowed = row->allowed;
    to->status.limit = row->limit;
    to->status.remaining = row->remaining;
    to->status.retry_after = duration(&to->times[0], row->retry_after_ns);
    to->status.reset_after = duration(&to->times[1], row->reset_after_ns);
    to->status.delay = duration(&to->times[2], row->delay_ns);
    to->status.window = duration(&to->times[3], row->window_ns);
    to->status.shadow = row->shadow;
    to->status.algorithm = text(row->algorithm);
}

bool sluice_body_answer(struct sluice_buffer *body, unsigned kind,
                        const struct sluice_answer *answer, struct sluice_decode_frame *frame)
{
    struct row rows[SLUICE_DECODE_ROWS_MAX];
    Sluice__V1__LimitStatus *pointers[SLUICE_DECODE_ROWS_MAX];
    Sluice__V1__Duration times[3];
    Sluice__V1__ShouldAllowResponse message = SLUICE__V1__SHOULD_ALLOW_RESPONSE__INIT;
    message.allowed = answer->allowed;
    message.limit = answer->limit;
    message.remaining = answer->remaining;
    message.retry_after = duration(&times[0], answer->retry_after_ns);
    message.reset_after = duration(&times[1], answer->reset_after_ns);
    message.delay = duration(&times[2], answer->delay_ns);
    message.limit_name = text(answer->limit_name);
    message.reason = (Sluice__V1__Reason)answer->reason;
    for (size_t i = 0; i < answer->row_count && i < SLUICE_DECODE_ROWS_MAX; i++) {
        fill_row(&rows[i], &answer->rows[i]);
        pointers[i] = &rows[i].status;
        message.n_details = i + 1;
    }
    message.details = pointers;
    return pack(body, &message.base, kind, frame);
}

bool sluice_body_reset(struct sluice_buffer *body, uint32_t counters,
                       struct sluice_decode_frame *frame)
{
    Sluice__V1__ResetResponse message = SLUICE__V1__RESET_RESPONSE__INIT;
    message.counters = counters;
    return pack(body, &message.base, SLUICE_DECODE_RESET, frame);
}

bool sluice_body_error(struct sluice_buffer *body, enum sluice_code code,
                       struct sluice_bytes field, struct sluice_bytes message,
                       struct sluice_decode_frame *frame)
{
    Sluice__V1__Error error = SLUICE__V1__ERROR__INIT;
    error.code = (Sluice__V1__Code)code;
    error.field = text(field);
    error.message = text(message);
    return pack(body, &error.base, SLUICE_DECODE_ERROR, frame);
}

bool sluice_body_copy(struct sluice_buffer *body, unsigned kind, const uint8_t *data, size_t size,
                      struct sluice_decode_frame *frame)
{
    sluice_buffer_clear(body);
    if (!sluice_buffer_reserve(body, size + 1)) {
        return false;
    }
    if (size > 0) {
        memcpy(body->data + body->end, data, size);
    }
    body->end += size;
    const uint8_t *at = body->data + body->start;
    *frame = (struct sluice_decode_frame){.kind = kind, .body = {at, at + size}};
    return true;
}

enum sluice_reason sluice_body_reason(struct sluice_bytes name)
{
    for (int i = 1; i <= SLUICE_REASON_STORE_FULL; i++) {
        const char *known = sluice_reason_text((enum sluice_reason)i);
        if (strlen(known) == name.size && memcmp(known, name.data, name.size) == 0) {
            return (enum sluice_reason)i;
        }
    }
    return SLUICE_REASON_UNSPECIFIED;
}
