/* Replies of the Redis protocol. Those to questions are written straight into room that was
 * reserved; the others are appended piece by piece. */
#ifndef WIRE_RESP_REPLY_H
#define WIRE_RESP_REPLY_H

#include "base/buf.h"
#include "engine/engine_throttle.h"

/* The most that an answer to a question takes. */
#define RESP_REPLY_NUMBER_BYTES 23 /* ":-9223372036854775808\r\n" */
#define RESP_REPLY_ANSWER_BYTES \
    (8 * RESP_REPLY_NUMBER_BYTES + 2 * (RESP_REPLY_NUMBER_BYTES + LIMITS_LIMIT_NAME_BYTES_MAX))

/* Each writes at `at`, where RESP_REPLY_ANSWER_BYTES are free, and returns the end. */
uint8_t *resp_reply_throttle(uint8_t *at, const struct engine_throttle_answer *answer);
uint8_t *resp_reply_decision(uint8_t *at, const struct decision *decision);

void resp_reply_integer(struct buf *out, int64_t value);
void resp_reply_simple(struct buf *out, const char *text); /* +OK */
void resp_reply_bulk(struct buf *out, struct slice bytes);
void resp_reply_bulk_text(struct buf *out, const char *text);
void resp_reply_array(struct buf *out, uint32_t count);
/* Pairs follow: a map after HELLO 3, before it an array of twice as many. */
void resp_reply_map(struct buf *out, bool resp3, uint32_t pairs);
void resp_reply_nil(struct buf *out, bool resp3);

/* "-ERR field: message", the code's own word in front; whatever a peer wrote is escaped. */
void resp_reply_error(struct buf *out, const struct request_error *error);
/* "-" and the text. */
void resp_reply_error_text(struct buf *out, const char *text);

#endif
