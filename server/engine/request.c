#include "engine/request.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

void request_error_set(struct request_error *error, enum request_code code, const char *field,
                       const char *format, ...)
{
    va_list args;
    error->code = code;
    (void)snprintf(error->field, sizeof(error->field), "%s", field);
    va_start(args, format);
    (void)vsnprintf(error->message, sizeof(error->message), format, args);
    va_end(args);
}

const char *request_attribute_field(struct slice name, char field[LIMITS_FIELD_BYTES_MAX])
{
    bool printable = name.size > 0 && name.size <= LIMITS_ATTRIBUTE_NAME_BYTES_MAX &&
                     memchr(name.data, 0, name.size) == NULL && utf8_is_valid(name);
    if (!printable) {
        return "attributes";
    }
    (void)snprintf(field, LIMITS_FIELD_BYTES_MAX, "attributes.%.*s", (int)name.size,
                   (const char *)name.data);
    return field;
}

/* `what` names the text in the sentence, `field` in the error: an attribute's name comes from the
 * peer and stays out of sentences. */
static bool check_text(struct slice text, bool utf8, const char *what, const char *field,
                       struct request_error *error)
{
    if (text.size > LIMITS_KEY_BYTES_MAX) {
        request_error_set(error, REQUEST_INVALID_ARGUMENT, field,
                          "%s has %zu bytes; at most %d are taken", what, text.size,
                          LIMITS_KEY_BYTES_MAX);
        return false;
    }
    if (utf8 && !utf8_is_valid(text)) {
        request_error_set(error, REQUEST_INVALID_ARGUMENT, field, "%s is not valid UTF-8", what);
        return false;
    }
    return true;
}

/* The key or the route. An empty one is no identity: it must not become one that all share. */
static bool check_required(struct slice text, bool utf8, const char *field,
                           struct request_error *error)
{
    if (text.size == 0) {
        request_error_set(error, REQUEST_INVALID_ARGUMENT, field,
                          "%s is missing or empty; 1 to %d bytes were expected", field,
                          LIMITS_KEY_BYTES_MAX);
        return false;
    }
    return check_text(text, utf8, field, field, error);
}

static bool check_cost(const struct request *request, struct request_error *error)
{
    bool over = request->has_cost && request->cost > LIMITS_COST_MAX;
    if (!request->cost_invalid && !over) {
        return true;
    }
    request_error_set(error, REQUEST_INVALID_ARGUMENT, "cost",
                      "cost must be a whole number from 0 to 9223372036854775807");
    return false;
}

/* What is wrong with the name of attribute `index`, or NULL. */
static const char *name_fault(const struct request *request, uint32_t index)
{
    struct slice name = request->attributes[index].name;
    if (name.size == 0) {
        return "an attribute's name is empty";
    }
    if (name.size > LIMITS_ATTRIBUTE_NAME_BYTES_MAX) {
        return "an attribute's name is longer than 64 bytes";
    }
    if (slice_equal_text(name, "key") || slice_equal_text(name, "route")) {
        return "an attribute may not be called key or route; these are fields of their own";
    }
    if (request->utf8 && !utf8_is_valid(name)) {
        return "an attribute's name is not valid UTF-8";
    }
    for (uint32_t i = 0; i < index; i++) {
        if (slice_equal(name, request->attributes[i].name)) {
            return "an attribute is given twice";
        }
    }
    return NULL;
}

/* Values come before names and number: a fault named exactly is worth more. */
static bool check_attributes(const struct request *request, struct request_error *error)
{
    bool too_many = request->attribute_count > LIMITS_ATTRIBUTES_MAX;
    uint32_t count = too_many ? LIMITS_ATTRIBUTES_MAX : request->attribute_count;
    const char *fault = NULL;

    for (uint32_t i = 0; i < count; i++) {
        char field[LIMITS_FIELD_BYTES_MAX];
        const char *this_fault = name_fault(request, i);
        if (this_fault != NULL) {
            fault = fault == NULL ? this_fault : fault;
            continue;
        }
        if (!check_text(request->attributes[i].value, request->utf8, "the attribute's value",
                        request_attribute_field(request->attributes[i].name, field), error)) {
            return false;
        }
    }
    if (too_many) {
        request_error_set(error, REQUEST_INVALID_ARGUMENT, "attributes",
                          "%u attributes were sent; at most %d are taken",
                          (unsigned)request->attribute_count, LIMITS_ATTRIBUTES_MAX);
        return false;
    }
    if (fault != NULL) {
        request_error_set(error, REQUEST_INVALID_ARGUMENT, "attributes", "%s", fault);
        return false;
    }
    return true;
}

bool request_check(const struct request *request, struct request_error *error)
{
    return check_required(request->key, request->utf8, "key", error) &&
           check_required(request->route, request->utf8, "route", error) &&
           check_cost(request, error) &&
           (request->attribute_count == 0 || check_attributes(request, error));
}

const char *request_code_name(enum request_code code)
{
    switch (code) {
    case REQUEST_OK:
        return "OK";
    case REQUEST_INVALID_ARGUMENT:
        return "INVALID_ARGUMENT";
    case REQUEST_NOT_FOUND:
        return "NOT_FOUND";
    case REQUEST_PERMISSION_DENIED:
        return "PERMISSION_DENIED";
    case REQUEST_RESOURCE_EXHAUSTED:
        return "RESOURCE_EXHAUSTED";
    case REQUEST_UNIMPLEMENTED:
        return "UNIMPLEMENTED";
    case REQUEST_INTERNAL:
        return "INTERNAL";
    case REQUEST_UNAVAILABLE:
        return "UNAVAILABLE";
    case REQUEST_UNAUTHENTICATED:
        return "UNAUTHENTICATED";
    }
    return "UNKNOWN";
}

const char *request_reason_name(enum reason reason)
{
    switch (reason) {
    case REASON_UNDER_LIMIT:
        return "UNDER_LIMIT";
    case REASON_UNLIMITED:
        return "UNLIMITED";
    case REASON_NO_LIMIT:
        return "NO_LIMIT";
    case REASON_SHADOWED:
        return "SHADOWED";
    case REASON_OVER_LIMIT:
        return "OVER_LIMIT";
    case REASON_COST_EXCEEDS_LIMIT:
        return "COST_EXCEEDS_LIMIT";
    case REASON_BLOCKED:
        return "BLOCKED";
    case REASON_STORE_FULL:
        return "STORE_FULL";
    }
    return "UNSPECIFIED";
}
