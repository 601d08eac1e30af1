#include "wire/json_in.h"

#include "base/text.h"
#include "base/utf8.h"
#include "wire/json_scan.h"

void json_in_init(struct json_in *in, struct slice text, struct arena *arena)
{
    *in = (struct json_in){.text = text, .arena = arena};
}

/* The request under construction. */
struct reading {
    struct json_in *in;
    struct request *request;
    struct request_error *error;
    unsigned allowed;
    unsigned seen;
    bool faulty; /* *error holds the first fault */
};

static void fault(struct reading *reading, const char *field, const char *message)
{
    if (!reading->faulty) {
        request_error_set(reading->error, REQUEST_INVALID_ARGUMENT, field, "%s", message);
        reading->faulty = true;
    }
}

static enum json_in_result broken(const struct json_in *in, struct request_error *error)
{
    request_error_set(error, REQUEST_INVALID_ARGUMENT, "",
                      "the body is not the JSON that was expected: at byte %zu, %s was expected",
                      in->at, in->broken);
    return JSON_IN_BROKEN;
}

/* A text member. False: broken. */
static bool read_text(struct reading *reading, const char *name, struct slice *out)
{
    if (json_scan_peek(reading->in) == '"') {
        return json_scan_string(reading->in, out);
    }
    fault(reading, name, "a string was expected");
    return json_scan_skip(reading->in);
}

/* A number, or a string of digits as gateways and languages without 64-bit numbers send it. */
static bool read_cost(struct reading *reading)
{
    struct request *request = reading->request;
    struct slice digits = slice_make(NULL, 0);
    uint8_t first = json_scan_peek(reading->in);
    request->has_cost = true;
    if (first == '"') {
        if (!json_scan_string(reading->in, &digits)) {
            return false;
        }
    } else if (first == '-' || (first >= '0' && first <= '9')) {
        if (!json_scan_number(reading->in, &digits)) {
            return false;
        }
    } else if (!json_scan_skip(reading->in)) {
        return false;
    }
    request->cost_invalid = text_parse_u64(digits, &request->cost) != STATUS_OK;
    return true;
}

static bool read_details(struct reading *reading)
{
    reading->request->details = json_scan_word(reading->in, "true");
    if (reading->request->details || json_scan_word(reading->in, "false")) {
        return true;
    }
    fault(reading, "details", "details must be true or false");
    return json_scan_skip(reading->in);
}

static bool read_attribute(struct reading *reading)
{
    struct request *request = reading->request;
    struct request_attribute attribute = {.value = slice_make(NULL, 0)};
    char field[LIMITS_FIELD_BYTES_MAX];
    if (!json_scan_string(reading->in, &attribute.name) ||
        !json_scan_expect(reading->in, ':', "a colon")) {
        return false;
    }
    if (json_scan_peek(reading->in) != '"') {
        fault(reading, request_attribute_field(attribute.name, field),
              "an attribute's value must be a string");
        return json_scan_skip(reading->in);
    }
    if (!json_scan_string(reading->in, &attribute.value)) {
        return false;
    }
    if (request->attribute_count < LIMITS_ATTRIBUTES_MAX) {
        request->attributes[request->attribute_count] = attribute;
    }
    request->attribute_count++;
    return true;
}

static bool read_attributes(struct reading *reading)
{
    if (!json_scan_take(reading->in, '{')) {
        fault(reading, "attributes", "attributes must be an object of strings");
        return json_scan_skip(reading->in);
    }
    if (json_scan_take(reading->in, '}')) {
        return true;
    }
    do {
        if (!read_attribute(reading)) {
            return false;
        }
    } while (json_scan_take(reading->in, ','));
    return json_scan_expect(reading->in, '}', "a comma or the end of attributes");
}

/* A member that the schema does not know: told by its name where that can be shown. */
static bool read_unknown(struct reading *reading, struct slice name)
{
    char field[LIMITS_FIELD_BYTES_MAX] = "";
    if (name.size < sizeof(field) && memchr(name.data, 0, name.size) == NULL &&
        utf8_is_valid(name)) {
        memcpy(field, name.data, name.size);
        field[name.size] = '\0';
    }
    fault(reading, field,
          reading->allowed & JSON_IN_DETAILS
              ? "there is no such member; key, route, cost, attributes and details are known"
          : reading->allowed & JSON_IN_COST
              ? "there is no such member; key, route, cost and attributes are known"
              : "there is no such member; key, route and attributes are known");
    return json_scan_skip(reading->in);
}

static enum json_in_member member_of(struct slice name)
{
    static const struct {
        const char *name;
        enum json_in_member member;
    } members[] = {{"key", JSON_IN_KEY},
                   {"route", JSON_IN_ROUTE},
                   {"cost", JSON_IN_COST},
                   {"attributes", JSON_IN_ATTRIBUTES},
                   {"details", JSON_IN_DETAILS}};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (slice_equal_text(name, members[i].name)) {
            return members[i].member;
        }
    }
    return 0;
}

static bool read_known(struct reading *reading, enum json_in_member member)
{
    switch (member) {
    case JSON_IN_KEY:
        return read_text(reading, "key", &reading->request->key);
    case JSON_IN_ROUTE:
        return read_text(reading, "route", &reading->request->route);
    case JSON_IN_COST:
        return read_cost(reading);
    case JSON_IN_ATTRIBUTES:
        return read_attributes(reading);
    case JSON_IN_DETAILS:
        return read_details(reading);
    }
    return false;
}

static bool read_member(struct reading *reading)
{
    struct slice name;
    if (!json_scan_string(reading->in, &name) ||
        !json_scan_expect(reading->in, ':', "a colon")) {
        return false;
    }
    enum json_in_member member = member_of(name);
    if ((member & reading->allowed) == 0) {
        return read_unknown(reading, name);
    }
    if (reading->seen & member) {
        char field[LIMITS_FIELD_BYTES_MAX];
        memcpy(field, name.data, name.size);
        field[name.size] = '\0';
        fault(reading, field, "the member is given twice");
        return json_scan_skip(reading->in);
    }
    reading->seen |= member;
    return read_known(reading, member);
}

static bool read_members(struct reading *reading)
{
    if (json_scan_take(reading->in, '}')) {
        return true;
    }
    do {
        if (!read_member(reading)) {
            return false;
        }
    } while (json_scan_take(reading->in, ','));
    return json_scan_expect(reading->in, '}', "a comma or the end of the object");
}

enum json_in_result json_in_request(struct json_in *in, unsigned members,
                                    struct request *request, struct request_error *error)
{
    struct reading reading = {
        .in = in, .request = request, .error = error, .allowed = members};
    request->key = slice_make(NULL, 0);
    request->route = slice_make(NULL, 0);
    request->cost = 0;
    request->has_cost = false;
    request->cost_invalid = false;
    request->details = false;
    request->utf8 = true;
    request->attribute_count = 0;
    if (!json_scan_take(in, '{')) {
        if (!json_scan_skip(in)) {
            return broken(in, error);
        }
        fault(&reading, "", "a JSON object was expected, such as {\"key\":\"…\",\"route\":\"…\"}");
    } else if (!read_members(&reading)) {
        return broken(in, error);
    }
    return reading.faulty ? JSON_IN_FAULT : JSON_IN_OK;
}

enum json_in_result json_in_end(struct json_in *in, struct request_error *error)
{
    (void)json_scan_peek(in);
    if (in->at == in->text.size) {
        return JSON_IN_OK;
    }
    in->broken = "the end";
    return broken(in, error);
}

static enum json_in_result batch_fault(struct request_error *error)
{
    request_error_set(error, REQUEST_INVALID_ARGUMENT, "requests",
                      "an object with one member was expected: {\"requests\":[ … ]}");
    return JSON_IN_FAULT;
}

enum json_in_result json_in_batch_begin(struct json_in *in, struct request_error *error)
{
    struct slice name;
    struct json_in whole = *in;
    if (!json_scan_take(in, '{') || !json_scan_string(in, &name) ||
        !slice_equal_text(name, "requests") || !json_scan_expect(in, ':', "a colon") ||
        !json_scan_take(in, '[')) {
        /* Text that is no JSON at all is told as such. */
        return json_scan_skip(&whole) ? batch_fault(error) : broken(&whole, error);
    }
    return JSON_IN_OK;
}

bool json_in_batch_more(struct json_in *in, bool first)
{
    if (in->broken != NULL) {
        return false;
    }
    return first ? json_scan_peek(in) != ']' : json_scan_take(in, ',');
}

enum json_in_result json_in_batch_end(struct json_in *in, struct request_error *error)
{
    if (!json_scan_expect(in, ']', "a comma or the end of requests")) {
        return broken(in, error);
    }
    if (json_scan_peek(in) == ',') {
        return batch_fault(error);
    }
    return json_scan_expect(in, '}', "the end of the object") ? json_in_end(in, error)
                                                               : broken(in, error);
}
