#include "sluice_json.h"

#include <jansson.h>
#include <string.h>

#define NS_PER_MS INT64_C(1000000)

const char *sluice_json_path(enum sluice_encode_kind kind)
{
    switch (kind) {
    case SLUICE_ENCODE_ASK:
        return "/v1/should-allow";
    case SLUICE_ENCODE_REFUND:
        return "/v1/refund";
    case SLUICE_ENCODE_RESET:
        return "/v1/reset";
    case SLUICE_ENCODE_BATCH:
    case SLUICE_ENCODE_STATS:
        break;
    }
    return NULL;
}

static json_t *json_text(struct sluice_bytes bytes)
{
    return json_stringn(bytes.data == NULL ? "" : bytes.data, bytes.size);
}

static json_t *json_attributes(const struct sluice_question *question)
{
    json_t *object = json_object();
    for (size_t i = 0; i < question->attribute_count; i++) {
        const struct sluice_attribute *attribute = &question->attributes[i];
        char name[SLUICE_ENCODE_BATCH_MAX];
        if (attribute->name.size >= sizeof name ||
            memchr(attribute->name.data, '\0', attribute->name.size) != NULL) {
            json_decref(object);
            return NULL;
        }
        memcpy(name, attribute->name.data, attribute->name.size);
        name[attribute->name.size] = '\0';
        if (json_object_set_new(object, name, json_text(attribute->value)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

char *sluice_json_question(enum sluice_encode_kind kind, const struct sluice_question *question)
{
    json_t *object = json_object();
    int bad = json_object_set_new(object, "key", json_text(question->key));
    bad |= json_object_set_new(object, "route", json_text(question->route));
    if (question->has_cost && kind != SLUICE_ENCODE_RESET) {
        bad |= json_object_set_new(object, "cost", json_integer((json_int_t)question->cost));
    }
    if (question->attribute_count > 0) {
        bad |= json_object_set_new(object, "attributes", json_attributes(question));
    }
    if (question->details && kind == SLUICE_ENCODE_ASK) {
        bad |= json_object_set_new(object, "details", json_true());
    }
    char *text = bad != 0 ? NULL : json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

/* ---- answers ---- */

static struct sluice_bytes get_text(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value)) {
        return (struct sluice_bytes){"", 0};
    }
    return (struct sluice_bytes){json_string_value(value), json_string_length(value)};
}

/* False: it is there and not a whole number. */
static bool get_number(const json_t *object, const char *name, int64_t absent, int64_t *number)
{
    const json_t *value = json_object_get(object, name);
    *number = value == NULL || json_is_null(value) ? absent : (int64_t)json_integer_value(value);
    return value == NULL || json_is_null(value) ||
           (json_is_integer(value) && *number >= 0);
}

static bool get_time(const json_t *object, const char *name, int64_t *ns)
{
    bool good = get_number(object, name, -1, ns);
    *ns = *ns < 0 ? SLUICE_ABSENT : *ns > INT64_MAX / NS_PER_MS ? INT64_MAX : *ns * NS_PER_MS;
    return good;
}

static bool read_row(const json_t *object, struct sluice_row *row)
{
    int64_t limit;
    int64_t remaining;
    row->limit_name = get_text(object, "limit_name");
    row->algorithm = get_text(object, "algorithm");
    row->allowed = json_is_true(json_object_get(object, "allowed"));
    row->shadow = json_is_true(json_object_get(object, "shadow"));
    bool good = get_number(object, "limit", -1, &limit) &&
                get_number(object, "remaining", -1, &remaining) &&
                get_time(object, "retry_after_ms", &row->retry_after_ns) &&
                get_time(object, "reset_after_ms", &row->reset_after_ns) &&
                get_time(object, "delay_ms", &row->delay_ns) &&
                get_time(object, "window_ms", &row->window_ns);
    row->limit = good ? (uint64_t)limit : 0;
    row->remaining = good ? (uint64_t)remaining : 0;
    return good && limit >= 0 && remaining >= 0;
}

static bool read_answer(const json_t *object, unsigned kind, struct sluice_buffer *body,
                        struct sluice_decode_frame *frame)
{
    struct sluice_row whole;
    struct sluice_row rows[SLUICE_DECODE_ROWS_MAX];
    const json_t *details = json_object_get(object, "details");
    size_t count = json_array_size(details);
    if (!json_is_boolean(json_object_get(object, "allowed")) || !read_row(object, &whole) ||
        count > SLUICE_DECODE_ROWS_MAX) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!read_row(json_array_get(details, i), &rows[i])) {
            return false;
        }
    }
    const struct sluice_answer answer = {
        .allowed = whole.allowed,
        .limit = whole.limit,
        .remaining = whole.remaining,
        .retry_after_ns = whole.retry_after_ns,
        .reset_after_ns = whole.reset_after_ns,
        .delay_ns = whole.delay_ns,
        .limit_name = whole.limit_name,
        .reason = sluice_body_reason(get_text(object, "reason")),
        .rows = rows,
        .row_count = count,
    };
    return answer.reason != SLUICE_REASON_UNSPECIFIED &&
           sluice_body_answer(body, kind, &answer, frame);
}

static enum sluice_code code_of(long status)
{
    switch (status) {
    case 401:
        return SLUICE_CODE_UNAUTHENTICATED;
    case 403:
        return SLUICE_CODE_PERMISSION_DENIED;
    case 404:
        return SLUICE_CODE_NOT_FOUND;
    case 503:
        return SLUICE_CODE_UNAVAILABLE;
    default:
        return status >= 500 ? SLUICE_CODE_INTERNAL : SLUICE_CODE_INVALID_ARGUMENT;
    }
}

static bool read_any(long status, const json_t *object, enum sluice_encode_kind kind,
                     struct sluice_buffer *body, struct sluice_decode_frame *frame)
{
    int64_t counters;
    if (status != 200 && status != 429) {
        return status >= 400 && sluice_body_error(body, code_of(status), get_text(object, "field"),
                                                  get_text(object, "detail"), frame);
    }
    if (kind == SLUICE_ENCODE_RESET) {
        return get_number(object, "counters", -1, &counters) && counters >= 0 &&
               counters <= UINT32_MAX && sluice_body_reset(body, (uint32_t)counters, frame);
    }
    return read_answer(object, kind, body, frame);
}

bool sluice_json_answer(long status, const char *text, size_t size, enum sluice_encode_kind kind,
                        struct sluice_buffer *body, struct sluice_decode_frame *frame)
{
    json_t *object = size == 0 ? NULL : json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(object) && read_any(status, object, kind, body, frame);
    json_decref(object);
    return good;
}
