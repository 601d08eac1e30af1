/* The JSON bodies of the HTTP API, read in one pass and without a tree: a fixed schema, integers
 * exact to 2^64 - 1, strings used where they lie unless they hold an escape. Strict: no duplicate,
 * unknown or mistyped member, nothing behind the value. A differential fuzz test
 * (tests/fuzz/fuzz_json.c) holds it to what jansson accepts.
 *
 * UTF-8 is left to request_check, which looks at every text that gets into a request anyway. */
#ifndef WIRE_JSON_IN_H
#define WIRE_JSON_IN_H

#include "base/arena.h"
#include "engine/request.h"

/* Members of a request, or-ed: which of them a body may have. */
enum json_in_member {
    JSON_IN_KEY = 1,
    JSON_IN_ROUTE = 2,
    JSON_IN_COST = 4,
    JSON_IN_ATTRIBUTES = 8,
    JSON_IN_DETAILS = 16
};

struct json_in {
    struct slice text;
    size_t at;
    struct arena *arena; /* for strings with escapes */
    const char *broken;  /* what was expected at `at`; NULL: so far it is JSON */
};

enum json_in_result {
    JSON_IN_OK,
    JSON_IN_FAULT, /* JSON, but not what was asked for: *error says what; read to its end */
    JSON_IN_BROKEN /* no JSON from here on: *error says what and where */
};

void json_in_init(struct json_in *in, struct slice text, struct arena *arena);

/* One request object at the front of what is left. A fault found first is the one told. A key or
 * route that is missing is request_check's to tell: it is left empty. */
enum json_in_result json_in_request(struct json_in *in, unsigned members,
                                    struct request *request, struct request_error *error);

/* Nothing but blanks may follow. */
enum json_in_result json_in_end(struct json_in *in, struct request_error *error);

/* {"requests":[ … ]}: begin, then json_in_batch_more before each member, until it is false. */
enum json_in_result json_in_batch_begin(struct json_in *in, struct request_error *error);
/* False: the list has ended, or the text is broken (json_in_batch_end tells). */
bool json_in_batch_more(struct json_in *in, bool first);
/* What stands behind the list. */
enum json_in_result json_in_batch_end(struct json_in *in, struct request_error *error);

#endif
