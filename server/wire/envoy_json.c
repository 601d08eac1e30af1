#include "wire/envoy_json.h"

#include "base/text.h"
#include "base/utf8.h"
#include "wire/envoy_headers.h"
#include "wire/json_out.h"
#include "wire/json_scan.h"

/* Every member's name and number, without the limit's name; once more for what is around. */
#define STATUS_BYTES 320u

static const char *const unit_names[ENVOY_UNITS] = {"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                                                    "DAY",     "MONTH",  "YEAR",   "WEEK"};

struct reading {
    struct json_in in;
    struct request_error *error;
    bool refused; /* *error says why */
};

/* A message's members, each by both its names, and what reads member `index` into the message. */
struct shape {
    const char *names[4][2];
    uint32_t count;
    bool (*member)(struct reading *reading, uint32_t index, void *into);
};

static bool refuse(struct reading *reading, const char *message)
{
    if (!reading->refused) {
        request_error_set(reading->error, REQUEST_INVALID_ARGUMENT, "", "%s", message);
        reading->refused = true;
    }
    return false;
}

static bool read_name(struct reading *reading, const struct shape *shape, unsigned *seen,
                      uint32_t *index)
{
    struct slice name;
    if (!json_scan_string(&reading->in, &name) ||
        !json_scan_expect(&reading->in, ':', "a colon")) {
        return false;
    }
    for (uint32_t i = 0; i < shape->count; i++) {
        if (slice_equal_text(name, shape->names[i][0]) ||
            slice_equal_text(name, shape->names[i][1])) {
            *index = i;
            if ((*seen & 1u << i) != 0) {
                return refuse(reading, "a member stands in its object twice");
            }
            *seen |= 1u << i;
            return true;
        }
    }
    return refuse(reading, "an object has a member that its message does not know");
}

static bool read_object(struct reading *reading, const struct shape *shape, void *into)
{
    unsigned seen = 0;
    if (!json_scan_expect(&reading->in, '{', "an object")) {
        return false;
    }
    if (json_scan_take(&reading->in, '}')) {
        return true;
    }
    do {
        uint32_t index;
        if (!read_name(reading, shape, &seen, &index) ||
            (!json_scan_word(&reading->in, "null") && !shape->member(reading, index, into))) {
            return false;
        }
    } while (json_scan_take(&reading->in, ','));
    return json_scan_expect(&reading->in, '}', "a comma or the end of an object");
}

static bool read_number(struct reading *reading, uint64_t most, uint64_t *out)
{
    struct slice digits;
    bool good = json_scan_peek(&reading->in) == '"' ? json_scan_string(&reading->in, &digits)
                                                    : json_scan_number(&reading->in, &digits);
    if (!good) {
        return false;
    }
    if (text_parse_u64(digits, out) != STATUS_OK || *out > most) {
        return refuse(reading, most > UINT32_MAX
                                   ? "a whole number up to 18446744073709551615 was expected"
                                   : "a whole number up to 4294967295 was expected");
    }
    return true;
}

static bool read_u32(struct reading *reading, uint32_t *out)
{
    uint64_t number;
    if (!read_number(reading, UINT32_MAX, &number)) {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

static bool read_unit(struct reading *reading, uint64_t *out)
{
    struct slice name;
    if (json_scan_peek(&reading->in) != '"') {
        return read_number(reading, UINT32_MAX, out);
    }
    if (!json_scan_string(&reading->in, &name)) {
        return false;
    }
    for (uint32_t i = 0; i < ENVOY_UNITS; i++) {
        if (slice_equal_text(name, unit_names[i])) {
            *out = i;
            return true;
        }
    }
    return refuse(reading, "a unit such as MINUTE was expected");
}

/* Room for one more in a list whose members have `size` bytes each. NULL: no memory. */
static void *one_more(struct reading *reading, void *list, uint32_t count, size_t size)
{
    if (count > 0 && (count & (count - 1)) != 0) {
        return list;
    }
    void *grown = arena_alloc(reading->in.arena, 2 * ((size_t)count + 1) * size);
    if (grown == NULL) {
        (void)refuse(reading, "there is no memory for so many");
    } else if (count > 0) {
        memcpy(grown, list, count * size);
    }
    return grown;
}

static bool entry_member(struct reading *reading, uint32_t index, void *into)
{
    struct envoy_entry *entry = into;
    return json_scan_string(&reading->in, index == 0 ? &entry->key : &entry->value);
}

static bool read_entries(struct reading *reading, struct envoy_descriptor *descriptor)
{
    static const struct shape shape = {
        .names = {{"key", "key"}, {"value", "value"}}, .count = 2, .member = entry_member};
    struct envoy_entry *list = NULL;
    if (!json_scan_expect(&reading->in, '[', "a list of entries")) {
        return false;
    }
    if (json_scan_take(&reading->in, ']')) {
        return true;
    }
    do {
        list = one_more(reading, list, descriptor->entry_count, sizeof(*list));
        descriptor->entries = list;
        if (list == NULL) {
            return false;
        }
        struct envoy_entry *entry = &list[descriptor->entry_count++];
        *entry = (struct envoy_entry){.key = slice_text(""), .value = slice_text("")};
        if (!read_object(reading, &shape, entry)) {
            return false;
        }
    } while (json_scan_take(&reading->in, ','));
    return json_scan_expect(&reading->in, ']', "a comma or the end of a list");
}

static bool override_member(struct reading *reading, uint32_t index, void *into)
{
    struct envoy_descriptor *descriptor = into;
    switch (index) {
    case 0:
        return read_u32(reading, &descriptor->override_requests);
    case 1:
        return read_unit(reading, &descriptor->override_unit);
    default:
        return read_number(reading, UINT32_MAX, &descriptor->override_multiplier);
    }
}

static bool descriptor_member(struct reading *reading, uint32_t index, void *into)
{
    static const struct shape limit = {.names = {{"requestsPerUnit", "requests_per_unit"},
                                                 {"unit", "unit"},
                                                 {"unitMultiplier", "unit_multiplier"}},
                                       .count = 3,
                                       .member = override_member};
    struct envoy_descriptor *descriptor = into;
    switch (index) {
    case 0:
        return read_entries(reading, descriptor);
    case 1:
        descriptor->has_override = true;
        return read_object(reading, &limit, descriptor);
    case 2:
        descriptor->has_hits = true;
        return read_number(reading, UINT64_MAX, &descriptor->hits);
    default:
        descriptor->negative = json_scan_word(&reading->in, "true");
        return descriptor->negative || json_scan_word(&reading->in, "false") ||
               refuse(reading, "isNegativeHits must be true or false");
    }
}

static bool read_descriptors(struct reading *reading, struct envoy_request *request)
{
    static const struct shape shape = {.names = {{"entries", "entries"},
                                                 {"limit", "limit"},
                                                 {"hitsAddend", "hits_addend"},
                                                 {"isNegativeHits", "is_negative_hits"}},
                                       .count = 4,
                                       .member = descriptor_member};
    struct envoy_descriptor *list = NULL;
    if (!json_scan_expect(&reading->in, '[', "a list of descriptors")) {
        return false;
    }
    if (json_scan_take(&reading->in, ']')) {
        return true;
    }
    do {
        list = one_more(reading, list, request->descriptor_count, sizeof(*list));
        request->descriptors = list;
        if (list == NULL) {
            return false;
        }
        struct envoy_descriptor *descriptor = &list[request->descriptor_count++];
        *descriptor = (struct envoy_descriptor){.entry_count = 0};
        if (!read_object(reading, &shape, descriptor)) {
            return false;
        }
    } while (json_scan_take(&reading->in, ','));
    return json_scan_expect(&reading->in, ']', "a comma or the end of a list");
}

static bool request_member(struct reading *reading, uint32_t index, void *into)
{
    struct envoy_request *request = into;
    switch (index) {
    case 0:
        return json_scan_string(&reading->in, &request->domain);
    case 1:
        return read_descriptors(reading, request);
    default:
        return read_u32(reading, &request->hits);
    }
}

bool envoy_json_read(struct slice text, struct arena *arena, struct envoy_request *request,
                     struct request_error *error)
{
    static const struct shape shape = {.names = {{"domain", "domain"},
                                                 {"descriptors", "descriptors"},
                                                 {"hitsAddend", "hits_addend"}},
                                       .count = 3,
                                       .member = request_member};
    struct reading reading = {.error = error};
    json_in_init(&reading.in, text, arena);
    *request = (struct envoy_request){.domain = slice_text("")};
    if (!utf8_is_valid(text)) {
        return refuse(&reading, "the body is not UTF-8");
    }
    if (read_object(&reading, &shape, request)) {
        return json_in_end(&reading.in, error) == JSON_IN_OK;
    }
    if (!reading.refused) {
        request_error_set(error, REQUEST_INVALID_ARGUMENT, "",
                          "the body is no RateLimitRequest: at byte %zu, %s was expected",
                          reading.in.at, reading.in.broken == NULL ? "a value" : reading.in.broken);
    }
    return false;
}

/* ---- writing ---- */

size_t envoy_json_bytes(const struct envoy_answer *answer)
{
    size_t bytes = STATUS_BYTES;
    for (uint32_t i = 0; i < answer->count; i++) {
        bytes += STATUS_BYTES + JSON_OUT_ESCAPED_BYTES * answer->statuses[i].name.size;
    }
    return bytes;
}

static const char *code_name(enum envoy_code code)
{
    switch (code) {
    case ENVOY_CODE_OK:
        return "OK";
    case ENVOY_CODE_OVER_LIMIT:
        return "OVER_LIMIT";
    case ENVOY_CODE_UNKNOWN:
        break;
    }
    return "UNKNOWN";
}

/* `,"name":`, without the comma where it is the first of its object. */
static uint8_t *put_name(uint8_t *at, const char *name, bool *first)
{
    at = json_out_text(at, *first ? "\"" : ",\"");
    *first = false;
    return json_out_text(json_out_text(at, name), "\":");
}

static uint8_t *put_limit(uint8_t *at, const struct envoy_status *status)
{
    bool first = true;
    at = json_out_text(at, "{");
    if (status->requests_per_unit > 0) {
        at = put_name(at, "requestsPerUnit", &first);
        at = json_out_number(at, status->requests_per_unit);
    }
    if (status->unit != ENVOY_UNKNOWN) {
        at = put_name(at, "unit", &first);
        at = json_out_string(at, slice_text(unit_names[status->unit]));
    }
    if (status->name.size > 0) {
        at = put_name(at, "name", &first);
        at = json_out_string(at, status->name);
    }
    if (status->unit_multiplier > 1) {
        at = put_name(at, "unitMultiplier", &first);
        at = json_out_number(at, status->unit_multiplier);
    }
    return json_out_text(at, "}");
}

static uint8_t *put_status(uint8_t *at, const struct envoy_status *status)
{
    at = json_out_text(at, "{\"code\":");
    at = json_out_string(at, slice_text(code_name(status->code)));
    if (status->has_limit) {
        at = put_limit(json_out_text(at, ",\"currentLimit\":"), status);
    }
    if (status->remaining > 0) {
        at = json_out_number(json_out_text(at, ",\"limitRemaining\":"), status->remaining);
    }
    if (status->has_reset) {
        at = json_out_text(at, ",\"durationUntilReset\":\"");
        at = json_out_text(json_out_number(at, (uint64_t)status->reset_s), "s\"");
    }
    return json_out_text(at, "}");
}

static uint8_t *put_headers(uint8_t *at, const struct envoy_answer *answer)
{
    struct envoy_header list[ENVOY_HEADERS];
    uint32_t count = envoy_headers_of(answer, list);
    for (uint32_t i = 0; i < count; i++) {
        at = json_out_text(at, i == 0 ? ",\"responseHeadersToAdd\":[" : ",");
        at = json_out_string(json_out_text(at, "{\"key\":"), slice_text(list[i].name));
        at = json_out_string(json_out_text(at, ",\"value\":"), slice_text(list[i].value));
        at = json_out_text(at, "}");
    }
    return json_out_text(at, count > 0 ? "]" : "");
}

uint8_t *envoy_json_write(uint8_t *at, const struct envoy_answer *answer, bool headers)
{
    at = json_out_text(at, "{\"overallCode\":");
    at = json_out_string(at, slice_text(code_name(answer->overall)));
    at = json_out_text(at, ",\"statuses\":[");
    for (uint32_t i = 0; i < answer->count; i++) {
        at = put_status(json_out_text(at, i == 0 ? "" : ","), &answer->statuses[i]);
    }
    at = json_out_text(at, "]");
    return json_out_text(headers ? put_headers(at, answer) : at, "}");
}
