/* Batches of the native protocol: the members are decided in their order, each seeing the effect
 * of those before it, and answered in one frame. */
#ifndef WIRE_NATIVE_BATCH_H
#define WIRE_NATIVE_BATCH_H

#include "wire/native_turn.h"
#include "wire/pb.h"

/* The members, either as they stand in the frame or as protobuf-c unpacked them. */
struct native_batch {
    uint64_t id;
    uint32_t count;
    struct slice bytes;                               /* what is left of the members, or */
    const Sluice__V1__ShouldAllowRequest *const *messages; /* the next of them; NULL: bytes */
};

/* Looks through a batch's bytes: counts its members and sees that each can be read. False: one of
 * them is unusual; ask protobuf-c. */
bool native_batch_scan(uint64_t id, struct slice bytes, struct native_batch *batch);

/* Decides and appends the results alone, which are the fields of a ShouldAllowBatchResponse.
 * False: out has no room; some may have been appended. */
bool native_batch_results(struct native_turn *turn, struct native_batch *batch);
/* Why a batch above LIMITS_BATCH_MAX is refused as a whole. */
void native_batch_too_long(const struct native_batch *batch, struct request_error *error);

/* Decides and answers. False: out has no room; nothing was appended. */
bool native_batch_answer(struct native_turn *turn, struct native_batch *batch);

#endif
