/* The answers of the native protocol, written straight into the output: ServerFrames with a
 * decision, a batch's results, an Error. The bytes are those that protobuf-c writes (unit tests
 * compare them over random answers); rare answers are left to protobuf-c itself (pb_append_frame).
 *
 * A message's length stands in front of it and is not known before it is written. One byte is left
 * free for it, which fits nearly every answer; a longer message moves over by what is missing. */
#ifndef WIRE_NATIVE_ENCODE_H
#define WIRE_NATIVE_ENCODE_H

#include "base/limits.h"
#include "engine/request.h"

/* Body numbers of ServerFrame. */
enum native_encode_body {
    NATIVE_ENCODE_SHOULD_ALLOW = 2,
    NATIVE_ENCODE_BATCH = 3,
    NATIVE_ENCODE_REFUND = 4,
    NATIVE_ENCODE_ERROR = 15
};

/* The most that each piece takes: tag and value, or tag, length and content. */
#define NATIVE_ENCODE_NUMBER_BYTES (1 + LIMITS_VARINT_BYTES_MAX)
#define NATIVE_ENCODE_DURATION_BYTES (2 + 2 * NATIVE_ENCODE_NUMBER_BYTES)
#define NATIVE_ENCODE_NAME_BYTES (2 + LIMITS_LIMIT_NAME_BYTES_MAX)
#define NATIVE_ENCODE_ROW_BYTES \
    (4 + 2 * NATIVE_ENCODE_NAME_BYTES + 4 * NATIVE_ENCODE_NUMBER_BYTES + \
     4 * NATIVE_ENCODE_DURATION_BYTES)
#define NATIVE_ENCODE_PLAIN_BYTES \
    (NATIVE_ENCODE_NAME_BYTES + 4 * NATIVE_ENCODE_NUMBER_BYTES + \
     3 * NATIVE_ENCODE_DURATION_BYTES)
#define NATIVE_ENCODE_ANSWER_BYTES \
    (NATIVE_ENCODE_PLAIN_BYTES + LIMITS_ROUTE_LIMITS_MAX * NATIVE_ENCODE_ROW_BYTES)
/* A frame with any one answer or error; also a member of a batch. */
#define NATIVE_ENCODE_FRAME_BYTES \
    (2 * LIMITS_SERVER_LENGTH_BYTES_MAX + 2 + NATIVE_ENCODE_NUMBER_BYTES + \
     NATIVE_ENCODE_ANSWER_BYTES)

static_assert(NATIVE_ENCODE_ANSWER_BYTES > LIMITS_FIELD_BYTES_MAX + LIMITS_MESSAGE_BYTES_MAX + 16,
              "an error is no longer than the longest answer");
static_assert(LIMITS_BATCH_MAX * NATIVE_ENCODE_FRAME_BYTES < LIMITS_SERVER_FRAME_BYTES_MAX,
              "a whole batch with details fits a frame");

/* Each writes at `at`, where NATIVE_ENCODE_FRAME_BYTES are free, and returns the end. */
uint8_t *native_encode_decision(uint8_t *at, uint64_t id, enum native_encode_body body,
                                const struct decision *decision);
uint8_t *native_encode_error(uint8_t *at, uint64_t id, const struct request_error *error);

/* A decision as a ShouldAllowResponse of its own, without a frame: gRPC's. Takes at most
 * NATIVE_ENCODE_ANSWER_BYTES, without rows NATIVE_ENCODE_PLAIN_BYTES. */
uint8_t *native_encode_message(uint8_t *at, const struct decision *decision);

/* Members of a batch, to be put between begin and end. */
uint8_t *native_encode_result(uint8_t *at, const struct decision *decision);
uint8_t *native_encode_result_error(uint8_t *at, const struct request_error *error);

/* The frame around a batch's results: begin writes its front at `at`; once `size` bytes of results
 * stand behind it, end puts the lengths in. Needs the room of a frame at either call. */
uint8_t *native_encode_batch_begin(uint8_t *at, uint64_t id);
uint8_t *native_encode_batch_end(uint8_t *begin, uint64_t id, uint8_t *end);

#endif
