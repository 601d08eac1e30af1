/* protobuf-c as Sluice uses it: messages unpacked into an arena with a ceiling, packed into a buf,
 * and turned into requests. Whatever the hand-written codec of a hot path leaves, goes this way. */
#ifndef WIRE_PB_H
#define WIRE_PB_H

#include "base/arena.h"
#include "base/buf.h"
#include "engine/request.h"

#include <protobuf-c/protobuf-c.h>
#include <sluice/v1/sluice.pb-c.h>

/* Prepares an arena for unpacking, with LIMITS_UNPACK_BYTES_MAX for a ceiling; its first chunk, the
 * one that stays, is small. False: no memory. */
bool pb_arena_init(struct arena *arena);

enum pb_result {
    PB_OK,
    PB_MALFORMED, /* not a message of this type */
    PB_TOO_LARGE  /* needs more memory than the arena may hold */
};

/* Unpacks into the arena; the message lives until the arena is reset and is never freed. */
enum pb_result pb_unpack(const ProtobufCMessageDescriptor *type, struct arena *arena,
                         struct slice bytes, void **message);

/* A length and then the message, as the native protocol frames it. False: out has no room. */
bool pb_append_frame(const ProtobufCMessage *message, struct buf *out);

/* The request that a message describes; its bytes stay the message's. */
void pb_request_should_allow(const Sluice__V1__ShouldAllowRequest *message,
                             struct request *request);
void pb_request_refund(const Sluice__V1__RefundRequest *message, struct request *request);
void pb_request_reset(const Sluice__V1__ResetRequest *message, struct request *request);

#endif
