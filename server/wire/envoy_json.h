/* Envoy's rate limit messages in proto3 JSON: names in camelCase or as the .proto has them, 64-bit
 * numbers as numbers or strings, enum values by name or number, null for absent; an unknown or
 * repeated member is an error. */
#ifndef WIRE_ENVOY_JSON_H
#define WIRE_ENVOY_JSON_H

#include "base/arena.h"
#include "engine/envoy_decide.h"

/* The request that `text` describes; its lists and unescaped texts are the arena's. False: *error
 * says what was expected. */
bool envoy_json_read(struct slice text, struct arena *arena, struct envoy_request *request,
                     struct request_error *error);

/* The most that envoy_json_write writes. */
size_t envoy_json_bytes(const struct envoy_answer *answer);
/* Writes at `at`, returns the end. `headers`: as in envoy_wire_write. */
uint8_t *envoy_json_write(uint8_t *at, const struct envoy_answer *answer, bool headers);

#endif
