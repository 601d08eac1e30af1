/* Strict on purpose: an unknown member is more likely a misspelt one than a harmless one, and a
 * simulation that silently drops "atributes" answers a question nobody asked.
 *
 * Integers are read exactly. Where a line holds a number that does not fit 64 bits the parser
 * gives up on the whole line, though only one request is wrong; such numbers are then replaced by
 * a fraction, which no member takes for a whole number either. */
#include "traffic_json.h"

#include "base/text.h"
#include "traffic_fields.h"

struct parse {
    struct traffic_json *json;
    struct traffic_item *item;
    struct buf *why;
    bool has_time;
    bool has_key;
};

void traffic_json_init(struct traffic_json *json)
{
    *json = (struct traffic_json){.root = NULL};
    buf_init(&json->bytes, 0);
    buf_init(&json->line, 0);
}

void traffic_json_deinit(struct traffic_json *json)
{
    json_decref(json->root);
    json->root = NULL;
    buf_deinit(&json->bytes);
    buf_deinit(&json->line);
}

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        return "null";
    }
    return "something else";
}

static bool mistyped(struct parse *parse, const char *name, const json_t *value,
                     const char *expected)
{
    buf_printf(parse->why, "%s is %s, expected %s", name, type_name(value), expected);
    return false;
}

static struct slice string_slice(const json_t *value)
{
    return slice_make(json_string_value(value), json_string_length(value));
}

static bool take_string(struct parse *parse, const char *name, const json_t *value,
                        struct slice *out)
{
    if (!json_is_string(value)) {
        return mistyped(parse, name, value, "a string");
    }
    *out = string_slice(value);
    return true;
}

static bool only_once(struct parse *parse, bool *seen, const char *a, const char *b)
{
    if (*seen) {
        buf_printf(parse->why, "both %s and %s are there, expected one of them", a, b);
        return false;
    }
    *seen = true;
    return true;
}

static bool take_t_ns(struct parse *parse, const json_t *value)
{
    if (!only_once(parse, &parse->has_time, "t_ns", "time")) {
        return false;
    }
    if (json_is_integer(value)) {
        parse->item->t_ns = json_integer_value(value);
        return true;
    }
    if (json_is_string(value)) {
        return traffic_fields_t_ns(string_slice(value), &parse->item->t_ns, parse->why);
    }
    if (json_is_real(value)) {
        buf_append_text(parse->why, "t_ns is a fraction or does not fit 64 bits, expected whole "
                                    "nanoseconds since 1970");
        return false;
    }
    return mistyped(parse, "t_ns", value, "whole nanoseconds since 1970");
}

static bool take_time(struct parse *parse, const json_t *value)
{
    struct slice text;
    return only_once(parse, &parse->has_time, "t_ns", "time") &&
           take_string(parse, "time", value, &text) &&
           traffic_fields_time(text, &parse->item->t_ns, parse->why);
}

static bool take_op(struct parse *parse, const json_t *value)
{
    struct slice text;
    return take_string(parse, "op", value, &text) &&
           traffic_fields_op(text, &parse->item->op, parse->why);
}

static bool take_key(struct parse *parse, const json_t *value)
{
    return only_once(parse, &parse->has_key, "key", "key_base64") &&
           take_string(parse, "key", value, &parse->item->request.key);
}

static bool take_key_base64(struct parse *parse, const json_t *value)
{
    struct slice text;
    if (!only_once(parse, &parse->has_key, "key", "key_base64") ||
        !take_string(parse, "key_base64", value, &text) ||
        !traffic_fields_base64(text, &parse->json->bytes, parse->why)) {
        return false;
    }
    parse->item->request.key = buf_slice(&parse->json->bytes);
    return true;
}

static bool take_route(struct parse *parse, const json_t *value)
{
    return take_string(parse, "route", value, &parse->item->request.route);
}

static bool take_cost(struct parse *parse, const json_t *value)
{
    struct request *request = &parse->item->request;
    if (json_is_string(value)) {
        return traffic_fields_cost(string_slice(value), request, parse->why);
    }
    if (!json_is_number(value)) {
        return mistyped(parse, "cost", value, "a whole number from 0 to 9223372036854775807");
    }
    request->has_cost = true;
    request->cost_invalid = !json_is_integer(value) || json_integer_value(value) < 0;
    request->cost = request->cost_invalid ? 0 : (uint64_t)json_integer_value(value);
    return true;
}

static bool take_attributes(struct parse *parse, const json_t *value)
{
    if (!json_is_object(value)) {
        return mistyped(parse, "attributes", value, "an object of strings");
    }
    const char *name;
    json_t *text;
    json_object_foreach((json_t *)value, name, text) {
        if (!json_is_string(text)) {
            return mistyped(parse, "an attribute's value", text, "a string");
        }
        traffic_fields_attribute(&parse->item->request, slice_text(name), string_slice(text));
    }
    return true;
}

static bool take_lease_id(struct parse *parse, const json_t *value)
{
    return take_string(parse, "lease_id", value, &parse->item->lease_id);
}

static bool take_limits_file(struct parse *parse, const json_t *value)
{
    parse->item->has_limits_file = true;
    return take_string(parse, "limits_file", value, &parse->item->limits_file);
}

static bool take_limits(struct parse *parse, const json_t *value)
{
    parse->item->has_limits = true;
    return take_string(parse, "limits", value, &parse->item->limits);
}

static const struct {
    const char *name;
    bool (*take)(struct parse *parse, const json_t *value);
} members[] = {
    {"t_ns", take_t_ns},
    {"key", take_key},
    {"route", take_route},
    {"cost", take_cost},
    {"attributes", take_attributes},
    {"time", take_time},
    {"op", take_op},
    {"key_base64", take_key_base64},
    {"lease_id", take_lease_id},
    {"limits_file", take_limits_file},
    {"limits", take_limits},
};
#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

static bool unknown_member(struct parse *parse, const char *name)
{
    const char *names[MEMBER_COUNT + 1] = {NULL};
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        names[i] = members[i].name;
    }
    buf_append_text(parse->why, "unknown member ");
    traffic_fields_quote(parse->why, slice_text(name));
    const char *near = text_nearest(slice_text(name), names);
    if (near != NULL) {
        buf_printf(parse->why, "; did you mean \"%s\"?", near);
    } else {
        buf_append_text(parse->why, ", expected");
        for (size_t i = 0; i < MEMBER_COUNT; i++) {
            const char *glue = i == 0 ? "" : i + 1 == MEMBER_COUNT ? " or" : ",";
            buf_printf(parse->why, "%s %s", glue, names[i]);
        }
    }
    return false;
}

static bool take_member(struct parse *parse, const char *name, const json_t *value)
{
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (strcmp(members[i].name, name) == 0) {
            return members[i].take(parse, value);
        }
    }
    return unknown_member(parse, name);
}

static bool is_number_byte(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || byte == '-' || byte == '+' || byte == '.' ||
           byte == 'e' || byte == 'E';
}

/* A whole number that 64 bits do not hold, or one with an exponent (which may not fit a double). */
static bool is_wide(struct slice number)
{
    bool negative = number.data[0] == '-';
    struct slice digits = slice_make(number.data + negative, number.size - negative);
    uint64_t value;
    switch (text_parse_u64(digits, &value)) {
    case STATUS_OK:
        return value > (uint64_t)INT64_MAX;
    case STATUS_TOO_LARGE:
        return true;
    default:
        return memchr(number.data, 'e', number.size) != NULL ||
               memchr(number.data, 'E', number.size) != NULL;
    }
}

/* Past the number that starts at `at`; a wide one becomes 0.5 and blanks: the same length, and no
 * whole number. */
static size_t narrow_number(uint8_t *data, size_t size, size_t at)
{
    size_t end = at;
    while (end < size && is_number_byte(data[end])) {
        end++;
    }
    if (is_wide(slice_make(data + at, end - at))) {
        memset(data + at, ' ', end - at);
        memcpy(data + at, "0.5", end - at < 3 ? end - at : 3);
    }
    return end;
}

static struct slice without_wide_numbers(struct buf *out, struct slice line)
{
    buf_clear(out);
    buf_append_slice(out, line);
    if (out->failed) {
        return line;
    }
    uint8_t *data = out->data + out->start;
    bool in_string = false;
    size_t at = 0;
    while (at < line.size) {
        if (!in_string && (data[at] == '-' || (data[at] >= '0' && data[at] <= '9'))) {
            at = narrow_number(data, line.size, at);
            continue;
        }
        if (data[at] == '"') {
            in_string = !in_string;
        }
        at += in_string && data[at] == '\\' ? 2 : 1;
    }
    return buf_slice(out);
}

#define LOAD_FLAGS (JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)

static json_t *load(struct traffic_json *json, struct slice line, json_error_t *error)
{
    json_t *root = json_loadb((const char *)line.data, line.size, LOAD_FLAGS, error);
    if (root == NULL && json_error_code(error) == json_error_numeric_overflow) {
        struct slice safe = without_wide_numbers(&json->line, line);
        root = json_loadb((const char *)safe.data, safe.size, LOAD_FLAGS, error);
    }
    return root;
}

static bool not_json(const struct json_error_t *error, struct buf *why)
{
    buf_append_text(why, "not valid JSON (");
    text_append_escaped(why, slice_text(error->text), sizeof(error->text));
    buf_printf(why, ", byte %d), expected one object a line", error->position);
    return false;
}

bool traffic_json_parse(struct traffic_json *json, struct slice line, struct traffic_item *item,
                        struct buf *why)
{
    struct parse parse = {.json = json, .item = item, .why = why};
    json_error_t error;
    json_decref(json->root);
    buf_clear(&json->bytes);
    json->root = load(json, line, &error);
    if (json->root == NULL) {
        return not_json(&error, why);
    }
    if (!json_is_object(json->root)) {
        buf_printf(why, "the line is %s, expected an object", type_name(json->root));
        return false;
    }
    const char *name;
    json_t *value;
    json_object_foreach(json->root, name, value) {
        if (!take_member(&parse, name, value)) {
            return false;
        }
    }
    if (!parse.has_time) {
        buf_append_text(why, "no time, expected t_ns or time");
        return false;
    }
    return traffic_fields_check(item, why);
}
