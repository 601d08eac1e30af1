/* The fields of recorded traffic that every format spells alike. Each returns false with what was
 * wrong, and what was expected, in *why. */
#ifndef TRAFFIC_FIELDS_H
#define TRAFFIC_FIELDS_H

#include "base/buf.h"
#include "traffic.h"

/* Digits (with a minus sign before 1970), exact. */
bool traffic_fields_t_ns(struct slice text, int64_t *out, struct buf *why);
/* RFC 3339. */
bool traffic_fields_time(struct slice text, int64_t *out, struct buf *why);

/* A number that no request may have (negative, a fraction, above 2^63 - 1) makes the request an
 * error, not the line unreadable: cost_invalid. What is no number at all is unreadable. */
bool traffic_fields_cost(struct slice text, struct request *request, struct buf *why);

bool traffic_fields_op(struct slice text, enum traffic_op *out, struct buf *why);

/* Standard alphabet, padded. Appends the bytes to *out. */
bool traffic_fields_base64(struct slice text, struct buf *out, struct buf *why);

/* Adds one; those past LIMITS_ATTRIBUTES_MAX are only counted, which makes the request an error. */
void traffic_fields_attribute(struct request *request, struct slice name, struct slice value);

/* A reload names its limits once, and nothing else names any. */
bool traffic_fields_check(const struct traffic_item *item, struct buf *why);

/* Appends `text` in quotes, escaped and cut to a length that people read. */
void traffic_fields_quote(struct buf *out, struct slice text);

#endif
