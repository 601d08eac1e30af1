#include "sluice_resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_MS INT64_C(1000000)
#define ANSWER_FIELDS 8

static bool put(struct sluice_buffer *out, const void *data, size_t size)
{
    if (!sluice_buffer_reserve(out, size + 1)) {
        return false;
    }
    if (size > 0) {
        memcpy(out->data + out->end, data, size);
    }
    out->end += size;
    return true;
}

static bool put_bulk(struct sluice_buffer *out, const char *data, size_t size)
{
    char head[32];
    int length = snprintf(head, sizeof head, "$%zu\r\n", size);
    return put(out, head, (size_t)length) && put(out, data, size) && put(out, "\r\n", 2);
}

static bool put_array(struct sluice_buffer *out, size_t count)
{
    char head[32];
    int length = snprintf(head, sizeof head, "*%zu\r\n", count);
    return put(out, head, (size_t)length);
}

static bool put_attributes(struct sluice_buffer *out, const struct sluice_question *question)
{
    for (size_t i = 0; i < question->attribute_count; i++) {
        const struct sluice_attribute *attribute = &question->attributes[i];
        if (!put_bulk(out, attribute->name.data, attribute->name.size) ||
            !put_bulk(out, attribute->value.data, attribute->value.size)) {
            return false;
        }
    }
    return true;
}

enum sluice_status sluice_resp_encode(struct sluice_buffer *out, enum sluice_encode_kind kind,
                                      const struct sluice_question *question)
{
    const char *name = kind == SLUICE_ENCODE_ASK      ? "SLUICE.ALLOW"
                       : kind == SLUICE_ENCODE_REFUND ? "SLUICE.REFUND"
                       : kind == SLUICE_ENCODE_RESET  ? "SLUICE.RESET"
                                                      : NULL;
    char cost[24];
    if (name == NULL || (question->details && kind == SLUICE_ENCODE_ASK)) {
        return SLUICE_UNSUPPORTED;
    }
    bool has_cost = question->has_cost && kind != SLUICE_ENCODE_RESET;
    size_t attributes = question->attribute_count;
    int size = snprintf(cost, sizeof cost, "%" PRIu64, question->cost);
    bool ok = put_array(out, 3 + has_cost + (attributes > 0 ? 1 + 2 * attributes : 0)) &&
              put_bulk(out, name, strlen(name)) &&
              put_bulk(out, question->key.data, question->key.size) &&
              put_bulk(out, question->route.data, question->route.size) &&
              (!has_cost || put_bulk(out, cost, (size_t)size)) &&
              (attributes == 0 || put_bulk(out, "ATTR", 4)) && put_attributes(out, question);
    return ok ? SLUICE_OK : SLUICE_NO_MEMORY;
}

bool sluice_resp_encode_auth(struct sluice_buffer *out, const char *token)
{
    return put_array(out, 2) && put_bulk(out, "AUTH", 4) && put_bulk(out, token, strlen(token));
}

/* ---- replies ---- */

/* The text of the line at *at, which moves behind it. */
static enum sluice_decode_result take_line(struct sluice_decode_view *view,
                                           struct sluice_bytes *line)
{
    const uint8_t *end = view->at == view->end
                             ? NULL
                             : memchr(view->at, '\n', (size_t)(view->end - view->at));
    if (end == NULL) {
        return view->end - view->at > 1024 ? SLUICE_DECODE_BROKEN : SLUICE_DECODE_MORE;
    }
    size_t size = (size_t)(end - view->at);
    if (size < 2 || view->at[size - 1] != '\r') {
        return SLUICE_DECODE_BROKEN;
    }
    *line = (struct sluice_bytes){(const char *)view->at, size - 1};
    view->at = end + 1;
    return SLUICE_DECODE_OK;
}

static bool read_integer(struct sluice_bytes digits, int64_t *number)
{
    char text[24];
    int length = 0;
    if (digits.size == 0 || digits.size >= sizeof text) {
        return false;
    }
    memcpy(text, digits.data, digits.size);
    text[digits.size] = '\0';
    return sscanf(text, "%" SCNd64 "%n", number, &length) == 1 && (size_t)length == digits.size;
}

struct value {
    bool is_text;
    int64_t number;
    struct sluice_bytes text;
};

/* An integer or a bulk string. */
static enum sluice_decode_result take_value(struct sluice_decode_view *view, struct value *value)
{
    struct sluice_bytes line;
    enum sluice_decode_result result = take_line(view, &line);
    if (result != SLUICE_DECODE_OK) {
        return result;
    }
    char type = line.data[0];
    line = (struct sluice_bytes){line.data + 1, line.size - 1};
    if ((type != ':' && type != '$') || !read_integer(line, &value->number)) {
        return SLUICE_DECODE_BROKEN;
    }
    value->is_text = type == '$';
    if (type == ':') {
        return SLUICE_DECODE_OK;
    }
    if (value->number < 0 || value->number > 65536) {
        return SLUICE_DECODE_BROKEN;
    }
    size_t size = (size_t)value->number;
    if ((size_t)(view->end - view->at) < size + 2) {
        return SLUICE_DECODE_MORE;
    }
    value->text = (struct sluice_bytes){(const char *)view->at, size};
    view->at += size + 2;
    return view->at[-2] == '\r' && view->at[-1] == '\n' ? SLUICE_DECODE_OK : SLUICE_DECODE_BROKEN;
}

/* "-WORD sentence". */
static bool take_error(struct sluice_bytes line, struct sluice_buffer *body,
                       struct sluice_decode_frame *frame)
{
    static const struct {
        const char *word;
        enum sluice_code code;
    } words[] = {{"NOAUTH", SLUICE_CODE_UNAUTHENTICATED},
                 {"WRONGPASS", SLUICE_CODE_UNAUTHENTICATED},
                 {"NOPERM", SLUICE_CODE_PERMISSION_DENIED}};
    const char *blank = memchr(line.data, ' ', line.size);
    size_t size = blank == NULL ? line.size : (size_t)(blank - line.data);
    enum sluice_code code = SLUICE_CODE_INVALID_ARGUMENT;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].word) == size - 1 &&
            memcmp(words[i].word, line.data + 1, size - 1) == 0) {
            code = words[i].code;
        }
    }
    size_t skip = blank == NULL ? 1 : size + 1;
    const struct sluice_bytes message = {line.data + skip, line.size - skip};
    return sluice_body_error(body, code, (struct sluice_bytes){"", 0}, message, frame);
}

static int64_t from_ms(int64_t ms, int64_t absent)
{
    return ms == absent ? SLUICE_ABSENT : ms > INT64_MAX / NS_PER_MS ? INT64_MAX : ms * NS_PER_MS;
}

static enum sluice_decode_result take_answer(struct sluice_decode_view *view, unsigned kind,
                                             struct sluice_buffer *body,
                                             struct sluice_decode_frame *frame)
{
    struct value fields[ANSWER_FIELDS];
    for (int i = 0; i < ANSWER_FIELDS; i++) {
        enum sluice_decode_result result = take_value(view, &fields[i]);
        if (result != SLUICE_DECODE_OK) {
            return result;
        }
        if (fields[i].is_text != (i >= 6) || (i < 3 && fields[i].number < 0)) {
            return SLUICE_DECODE_BROKEN;
        }
    }
    const struct sluice_answer answer = {
        .allowed = fields[0].number != 0,
        .limit = (uint64_t)fields[1].number,
        .remaining = (uint64_t)fields[2].number,
        .retry_after_ns = from_ms(fields[3].number, -1),
        .reset_after_ns = from_ms(fields[4].number, -1),
        .delay_ns = from_ms(fields[5].number, 0),
        .limit_name = fields[6].text,
        .reason = sluice_body_reason(fields[7].text),
    };
    return sluice_body_answer(body, kind, &answer, frame) ? SLUICE_DECODE_OK
                                                          : SLUICE_DECODE_BROKEN;
}

enum sluice_decode_result sluice_resp_decode(const uint8_t *data, size_t size,
                                             enum sluice_encode_kind kind,
                                             struct sluice_buffer *body,
                                             struct sluice_decode_frame *frame, size_t *consumed)
{
    struct sluice_decode_view view = {data, data + size};
    struct sluice_bytes line;
    int64_t counters;
    enum sluice_decode_result result = take_line(&view, &line);
    if (result != SLUICE_DECODE_OK) {
        return result;
    }
    const struct sluice_bytes rest = {line.data + 1, line.size - 1};
    bool good = false;
    if (line.data[0] == '-') {
        good = take_error(line, body, frame);
    } else if (kind == SLUICE_ENCODE_RESET) {
        good = line.data[0] == ':' && read_integer(rest, &counters) && counters >= 0 &&
               counters <= UINT32_MAX && sluice_body_reset(body, (uint32_t)counters, frame);
    } else if (line.size == 2 && memcmp(line.data, "*8", 2) == 0) {
        result = take_answer(&view, kind, body, frame);
        good = result == SLUICE_DECODE_OK;
        if (result == SLUICE_DECODE_MORE) {
            return result;
        }
    }
    *consumed = (size_t)(view.at - data);
    return good ? SLUICE_DECODE_OK : SLUICE_DECODE_BROKEN;
}

enum sluice_decode_result sluice_resp_decode_auth(const uint8_t *data, size_t size,
                                                  struct sluice_buffer *body,
                                                  struct sluice_decode_frame *frame,
                                                  size_t *consumed)
{
    struct sluice_decode_view view = {data, data + size};
    struct sluice_bytes line;
    enum sluice_decode_result result = take_line(&view, &line);
    if (result != SLUICE_DECODE_OK) {
        return result;
    }
    *consumed = (size_t)(view.at - data);
    *frame = (struct sluice_decode_frame){.kind = SLUICE_DECODE_NOTHING};
    if (line.data[0] == '-') {
        return take_error(line, body, frame) ? SLUICE_DECODE_OK : SLUICE_DECODE_BROKEN;
    }
    return line.data[0] == '+' ? SLUICE_DECODE_OK : SLUICE_DECODE_BROKEN;
}
