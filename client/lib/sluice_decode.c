#include "sluice_decode.h"

#include <string.h>

/* A field's tag as it stands on the wire: its number and the wire type it must have. */
#define VARINT(field) ((field) << 3)
#define BYTES(field) ((field) << 3 | 2)

static bool get_varint_slow(struct sluice_decode_view *view, uint64_t *value)
{
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 70 && view->at < view->end; shift += 7) {
        uint8_t byte = *view->at++;
        sum |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (byte < 0x80) {
            *value = sum;
            return true;
        }
    }
    return false;
}

static inline bool get_varint(struct sluice_decode_view *view, uint64_t *value)
{
    if (view->at < view->end && *view->at < 0x80) {
        *value = *view->at++;
        return true;
    }
    return get_varint_slow(view, value);
}

static inline bool get_bytes(struct sluice_decode_view *view, struct sluice_decode_view *bytes)
{
    uint64_t size;
    if (!get_varint(view, &size) || size > (uint64_t)(view->end - view->at)) {
        return false;
    }
    *bytes = (struct sluice_decode_view){view->at, view->at + size};
    view->at += size;
    return true;
}

static inline bool get_text(struct sluice_decode_view *view, struct sluice_bytes *text)
{
    struct sluice_decode_view bytes;
    if (!get_bytes(view, &bytes)) {
        return false;
    }
    *text = (struct sluice_bytes){(const char *)bytes.at, (size_t)(bytes.end - bytes.at)};
    return true;
}

static inline bool get_bool(struct sluice_decode_view *view, bool *flag)
{
    uint64_t value;
    if (!get_varint(view, &value)) {
        return false;
    }
    *flag = value != 0;
    return true;
}

/* Passes over a field that this build does not know; one of those it knows (1 to `known`) has come
 * with a wrong type when it gets here. */
static bool skip(struct sluice_decode_view *view, uint64_t tag, unsigned known)
{
    uint64_t ignored;
    struct sluice_decode_view bytes;
    if (tag >> 3 <= known || tag >> 32 != 0) {
        return false;
    }
    switch (tag & 7) {
    case 0:
        return get_varint(view, &ignored);
    case 2:
        return get_bytes(view, &bytes);
    case 1:
    case 5: {
        size_t size = (tag & 7) == 1 ? 8 : 4;
        bool fits = (size_t)(view->end - view->at) >= size;
        view->at += fits ? size : 0;
        return fits;
    }
    default:
        return false;
    }
}

static bool get_duration(struct sluice_decode_view *view, int64_t *ns)
{
    struct sluice_decode_view body;
    uint64_t tag, value;
    uint64_t seconds = 0, nanos = 0;
    if (!get_bytes(view, &body)) {
        return false;
    }
    while (body.at < body.end) {
        if (!get_varint(&body, &tag)) {
            return false;
        }
        bool known = tag == VARINT(1) || tag == VARINT(2);
        if (known ? !get_varint(&body, &value) : !skip(&body, tag, 2)) {
            return false;
        }
        seconds = tag == VARINT(1) ? value : seconds;
        nanos = tag == VARINT(2) ? value : nanos;
    }
    if (seconds > INT64_MAX || nanos > 999999999) {
        return false;
    }
    if (__builtin_mul_overflow((int64_t)seconds, INT64_C(1000000000), ns) ||
        __builtin_add_overflow(*ns, (int64_t)nanos, ns)) {
        *ns = INT64_MAX;
    }
    return true;
}

enum sluice_decode_result sluice_decode_next(const uint8_t *data, size_t size,
                                             struct sluice_decode_view *frame, size_t *consumed)
{
    size_t length = 0;
    size_t head = 0;
    for (;;) {
        if (head == SLUICE_DECODE_LENGTH_BYTES_MAX) {
            return SLUICE_DECODE_BROKEN;
        }
        if (head == size) {
            return SLUICE_DECODE_MORE;
        }
        length |= (size_t)(data[head] & 0x7f) << (7 * head);
        if (data[head++] < 0x80) {
            break;
        }
    }
    if (length > SLUICE_DECODE_FRAME_BYTES_MAX) {
        return SLUICE_DECODE_BROKEN;
    }
    if (size - head < length) {
        return SLUICE_DECODE_MORE;
    }
    *frame = (struct sluice_decode_view){data + head, data + head + length};
    *consumed = head + length;
    return SLUICE_DECODE_OK;
}

bool sluice_decode_frame(struct sluice_decode_view bytes, struct sluice_decode_frame *frame)
{
    uint64_t tag;
    *frame = (struct sluice_decode_frame){.kind = SLUICE_DECODE_NOTHING};
    while (bytes.at < bytes.end) {
        if (!get_varint(&bytes, &tag)) {
            return false;
        }
        if (tag == VARINT(1)) {
            if (!get_varint(&bytes, &frame->id)) {
                return false;
            }
        } else if ((tag & 7) == 2 && tag >> 3 >= 2 && tag >> 3 <= 29) {
            if (!get_bytes(&bytes, &frame->body)) {
                return false;
            }
            frame->kind = (unsigned)(tag >> 3);
        } else if (!skip(&bytes, tag, 15)) {
            return false;
        }
    }
    return true;
}

size_t sluice_decode_row_count(struct sluice_decode_view body)
{
    size_t count = 0;
    uint64_t tag;
    struct sluice_decode_view row;
    while (body.at < body.end) {
        if (!get_varint(&body, &tag)) {
            return SIZE_MAX;
        }
        if (tag == BYTES(9)) {
            if (!get_bytes(&body, &row) || ++count > SLUICE_DECODE_ROWS_MAX) {
                return SIZE_MAX;
            }
        } else if (!skip(&body, tag, 0)) {
            return SIZE_MAX;
        }
    }
    return count;
}

static bool decode_row_field(struct sluice_decode_view *body, uint64_t tag, struct sluice_row *row)
{
    switch (tag) {
    case BYTES(1):
        return get_text(body, &row->limit_name);
    case VARINT(2):
        return get_bool(body, &row->allowed);
    case VARINT(3):
        return get_varint(body, &row->limit);
    case VARINT(4):
        return get_varint(body, &row->remaining);
    case BYTES(5):
        return get_duration(body, &row->retry_after_ns);
    case BYTES(6):
        return get_duration(body, &row->reset_after_ns);
    case BYTES(7):
        return get_duration(body, &row->delay_ns);
    case VARINT(8):
        return get_bool(body, &row->shadow);
    case BYTES(9):
        return get_duration(body, &row->window_ns);
    case BYTES(10):
        return get_text(body, &row->algorithm);
    default:
        return skip(body, tag, 10);
    }
}

static bool decode_row(struct sluice_decode_view *answer, struct sluice_row *row)
{
    struct sluice_decode_view body;
    uint64_t tag;
    *row = (struct sluice_row){
        .limit_name = {"", 0},
        .algorithm = {"", 0},
        .retry_after_ns = SLUICE_ABSENT,
        .reset_after_ns = SLUICE_ABSENT,
        .delay_ns = SLUICE_ABSENT,
        .window_ns = SLUICE_ABSENT,
    };
    if (!get_bytes(answer, &body)) {
        return false;
    }
    while (body.at < body.end) {
        if (!get_varint(&body, &tag) || !decode_row_field(&body, tag, row)) {
            return false;
        }
    }
    return true;
}

static bool decode_answer_field(struct sluice_decode_view *body, uint64_t tag,
                                struct sluice_answer *answer)
{
    uint64_t number;
    switch (tag) {
    case VARINT(1):
        return get_bool(body, &answer->allowed);
    case VARINT(2):
        return get_varint(body, &answer->limit);
    case VARINT(3):
        return get_varint(body, &answer->remaining);
    case BYTES(4):
        return get_duration(body, &answer->retry_after_ns);
    case BYTES(5):
        return get_duration(body, &answer->reset_after_ns);
    case BYTES(6):
        return get_duration(body, &answer->delay_ns);
    case BYTES(7):
        return get_text(body, &answer->limit_name);
    case VARINT(8):
        if (!get_varint(body, &number)) {
            return false;
        }
        answer->reason = (enum sluice_reason)(number & INT32_MAX);
        return true;
    case BYTES(10):
        return get_text(body, &answer->lease_id);
    default:
        return skip(body, tag, 10);
    }
}

bool sluice_decode_answer(struct sluice_decode_view body, struct sluice_answer *answer,
                          struct sluice_row *rows)
{
    uint64_t tag;
    struct sluice_row unused;
    size_t count = 0;
    *answer = (struct sluice_answer){
        .decided = true,
        .retry_after_ns = SLUICE_ABSENT,
        .reset_after_ns = SLUICE_ABSENT,
        .delay_ns = SLUICE_ABSENT,
        .limit_name = {"", 0},
        .lease_id = {"", 0},
        .error = {.field = {"", 0}, .message = {"", 0}},
    };
    while (body.at < body.end) {
        if (!get_varint(&body, &tag)) {
            return false;
        }
        if (tag == BYTES(9)) {
            if (!decode_row(&body, rows == NULL ? &unused : &rows[count])) {
                return false;
            }
            count++;
        } else if (!decode_answer_field(&body, tag, answer)) {
            return false;
        }
    }
    answer->rows = rows;
    answer->row_count = rows == NULL ? 0 : count;
    return true;
}

bool sluice_decode_error(struct sluice_decode_view body, struct sluice_error *error)
{
    uint64_t tag;
    uint64_t code = 0;
    *error = (struct sluice_error){
        .status = SLUICE_ERROR, .field = {"", 0}, .message = {"", 0}};
    while (body.at < body.end) {
        bool ok = get_varint(&body, &tag);
        if (ok && tag == VARINT(1)) {
            ok = get_varint(&body, &code);
        } else if (ok && tag == BYTES(2)) {
            ok = get_text(&body, &error->field);
        } else if (ok && tag == BYTES(3)) {
            ok = get_text(&body, &error->message);
        } else {
            ok = ok && skip(&body, tag, 3);
        }
        if (!ok) {
            return false;
        }
    }
    error->code = (enum sluice_code)(code & INT32_MAX);
    return true;
}

bool sluice_decode_reset(struct sluice_decode_view body, uint32_t *counters)
{
    uint64_t tag;
    uint64_t value = 0;
    while (body.at < body.end) {
        if (!get_varint(&body, &tag)) {
            return false;
        }
        if (tag == VARINT(1) ? !get_varint(&body, &value) : !skip(&body, tag, 1)) {
            return false;
        }
    }
    *counters = (uint32_t)value;
    return true;
}

bool sluice_decode_stats(struct sluice_decode_view body, struct sluice_bytes *text)
{
    uint64_t tag;
    *text = (struct sluice_bytes){"", 0};
    while (body.at < body.end) {
        if (!get_varint(&body, &tag)) {
            return false;
        }
        if (tag == BYTES(1) ? !get_text(&body, text) : !skip(&body, tag, 1)) {
            return false;
        }
    }
    return true;
}

static bool decode_result(struct sluice_decode_view body, struct sluice_decode_result_body *result)
{
    uint64_t tag;
    bool found = false;
    while (body.at < body.end) {
        if (!get_varint(&body, &tag)) {
            return false;
        }
        if (tag == BYTES(1) || tag == BYTES(2)) {
            result->is_error = tag == BYTES(2);
            found = true;
            if (!get_bytes(&body, &result->body)) {
                return false;
            }
        } else if (!skip(&body, tag, 2)) {
            return false;
        }
    }
    return found;
}

enum sluice_decode_result sluice_decode_batch_next(struct sluice_decode_view *batch,
                                                   struct sluice_decode_result_body *result)
{
    uint64_t tag;
    struct sluice_decode_view body;
    while (batch->at < batch->end) {
        if (!get_varint(batch, &tag)) {
            return SLUICE_DECODE_BROKEN;
        }
        if (tag == BYTES(1)) {
            bool ok = get_bytes(batch, &body) && decode_result(body, result);
            return ok ? SLUICE_DECODE_OK : SLUICE_DECODE_BROKEN;
        }
        if (!skip(batch, tag, 1)) {
            return SLUICE_DECODE_BROKEN;
        }
    }
    return SLUICE_DECODE_MORE;
}
