/* links: sluice_wire sluice_client */
/* Any text as a request's body: what the one-pass scanner takes, jansson takes too and reads the
 * same values; what it refuses, jansson refuses, or the schema does. */
#include "wire/json_in.h"

#include "base/arena.h"
#include "base/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMBERS \
    (JSON_IN_KEY | JSON_IN_ROUTE | JSON_IN_COST | JSON_IN_ATTRIBUTES | JSON_IN_DETAILS)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool good, const char *what)
{
    if (!good) {
        (void)fprintf(stderr, "fuzz_json: %s\n", what);
        abort();
    }
}

static bool same_text(const json_t *value, struct slice text)
{
    return json_is_string(value) &&
           slice_equal(slice_make(json_string_value(value), json_string_length(value)), text);
}

/* A cost is right as an integer, or as a string of digits; jansson has no integer above 2^63 - 1,
 * so such a text does not come here. */
static bool good_cost(const json_t *cost, uint64_t *out)
{
    if (json_is_string(cost)) {
        return text_parse_u64(slice_make(json_string_value(cost), json_string_length(cost)),
                              out) == STATUS_OK;
    }
    *out = (uint64_t)json_integer_value(cost);
    return json_is_integer(cost) && json_integer_value(cost) >= 0;
}

/* -0 is an integer to jansson and no cost to us. */
static bool has_minus_zero(struct slice text)
{
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.data[i] == '-' && text.data[i + 1] == '0') {
            return true;
        }
    }
    return false;
}

static bool good_attributes(json_t *attributes)
{
    const char *name;
    json_t *value;
    if (!json_is_object(attributes)) {
        return false;
    }
    json_object_foreach(attributes, name, value) {
        if (!json_is_string(value)) {
            return false;
        }
    }
    return true;
}

/* Does the schema take this object? */
static bool good_object(json_t *object)
{
    const char *name;
    json_t *value;
    uint64_t cost;
    json_object_foreach(object, name, value) {
        bool good = (strcmp(name, "key") == 0 && json_is_string(value)) ||
                    (strcmp(name, "route") == 0 && json_is_string(value)) ||
                    (strcmp(name, "cost") == 0 && good_cost(value, &cost)) ||
                    (strcmp(name, "details") == 0 && json_is_boolean(value)) ||
                    (strcmp(name, "attributes") == 0 && good_attributes(value));
        if (!good) {
            return false;
        }
    }
    return true;
}

static void compare_attributes(const struct request *request, json_t *attributes)
{
    uint32_t stored = request->attribute_count < LIMITS_ATTRIBUTES_MAX ? request->attribute_count
                                                                       : LIMITS_ATTRIBUTES_MAX;
    require(request->attribute_count == json_object_size(attributes), "number of attributes");
    for (uint32_t i = 0; i < stored; i++) {
        struct slice name = request->attributes[i].name;
        const char *text = (const char *)name.data;
        json_t *value = json_object_getn(attributes, text == NULL ? "" : text, name.size);
        require(same_text(value, request->attributes[i].value), "an attribute");
    }
}

static void compare(const struct request *request, json_t *object)
{
    json_t *key = json_object_get(object, "key");
    json_t *route = json_object_get(object, "route");
    json_t *cost = json_object_get(object, "cost");
    json_t *attributes = json_object_get(object, "attributes");
    uint64_t number;
    require(key == NULL ? request->key.size == 0 : same_text(key, request->key), "key");
    require(route == NULL ? request->route.size == 0 : same_text(route, request->route), "route");
    require(request->has_cost == (cost != NULL), "has_cost");
    if (cost != NULL) {
        require(good_cost(cost, &number) && request->cost == number, "cost");
    }
    require(request->details == json_is_true(json_object_get(object, "details")), "details");
    if (attributes != NULL) {
        compare_attributes(request, attributes);
    }
}

/* All texts of a request that the scanner took: jansson looks at UTF-8 itself, the scanner leaves
 * it to request_check, and jansson has no duplicate attributes. */
static bool checked(struct request *request)
{
    struct request_error error;
    struct request plain = *request;
    plain.key = plain.key.size == 0 ? slice_text("k") : plain.key;
    plain.route = plain.route.size == 0 ? slice_text("r") : plain.route;
    return request_check(&plain, &error);
}

static bool too_deep(struct slice text)
{
    size_t open = 0;
    for (size_t i = 0; i < text.size; i++) {
        open += text.data[i] == '[' || text.data[i] == '{';
    }
    return open > LIMITS_JSON_DEPTH_MAX;
}

/* jansson swallows a NUL behind a number. */
static bool has_nul(struct slice text)
{
    return text.size > 0 && memchr(text.data, 0, text.size) != NULL;
}

/* A number that jansson cannot hold, as an integer or as a double, and so refuses. */
static bool long_number(struct slice text)
{
    size_t run = 0;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        run = byte >= '0' && byte <= '9' ? run + 1 : 0;
        if (run >= 19 || byte == 'e' || byte == 'E') {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = slice_make(data, size);
    struct request_error error;
    struct request request;
    struct arena arena;
    struct json_in in;
    json_error_t reason;
    arena_init(&arena, 4096, 0);
    json_in_init(&in, text, &arena);
    enum json_in_result result = json_in_request(&in, MEMBERS, &request, &error);
    bool ended = result != JSON_IN_BROKEN && json_in_end(&in, &error) == JSON_IN_OK;
    json_t *tree = json_loadb(size == 0 ? "" : (const char *)data, size,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &reason);
    if (result == JSON_IN_OK && ended && checked(&request) && !long_number(text)) {
        require(tree != NULL && json_is_object(tree), "jansson refuses what was taken");
        require(good_object(tree), "the schema refuses what was taken");
        compare(&request, tree);
    } else if (tree != NULL && json_is_object(tree) && good_object(tree) && !too_deep(text) &&
               !long_number(text) && !has_minus_zero(text) && !has_nul(text)) {
        require(result == JSON_IN_OK && ended, "what jansson and the schema take was refused");
    }
    json_decref(tree);
    arena_deinit(&arena);
    return 0;
}
