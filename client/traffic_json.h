/* One line of NDJSON traffic: a JSON object, strictly. */
#ifndef TRAFFIC_JSON_H
#define TRAFFIC_JSON_H

#include "traffic.h"

#include <jansson.h>

struct traffic_json {
    json_t *root;      /* of the latest line; item slices point into it */
    struct buf bytes;  /* the key that was sent as base64 */
    struct buf line;   /* the line made over, where a number is too wide for 64 bits */
};

void traffic_json_init(struct traffic_json *json);
void traffic_json_deinit(struct traffic_json *json);

/* False: *why says what is wrong and what was expected. *item holds until the next call. */
bool traffic_json_parse(struct traffic_json *json, struct slice line, struct traffic_item *item,
                        struct buf *why);

#endif
