/* The hot messages of the native protocol, read without copying or allocating: a ClientFrame with a
 * ShouldAllowRequest or a batch of them, written the way every encoder writes it (each field at
 * most once). Whatever is unusual - unknown fields, a field that comes twice, an odd wire type - is
 * left to protobuf-c, so this decoder is either right or says "unusual"; a differential fuzz test
 * (tests/fuzz/fuzz_native_decode.c) holds it to that. */
#ifndef WIRE_NATIVE_DECODE_H
#define WIRE_NATIVE_DECODE_H

#include "engine/request.h"

/* Body numbers of ClientFrame. */
enum native_decode_body {
    NATIVE_DECODE_SHOULD_ALLOW = 2,
    NATIVE_DECODE_BATCH = 3
};

enum native_decode_length {
    NATIVE_DECODE_COMPLETE, /* the frame is in `payload` */
    NATIVE_DECODE_MORE,     /* not all of it is here */
    NATIVE_DECODE_TOO_LONG, /* above LIMITS_CLIENT_FRAME_BYTES_MAX */
    NATIVE_DECODE_ENDLESS   /* the length does not end within its bytes */
};

/* The next frame at the front of `in`; *used is its size with the length in front. */
enum native_decode_length native_decode_length(struct slice in, struct slice *payload,
                                               size_t *used);

struct native_decode_frame {
    uint64_t id;
    enum native_decode_body body;
    struct slice bytes; /* the body's */
};

/* False: unusual. */
bool native_decode_frame(struct slice payload, struct native_decode_frame *frame);

/* Fills the request as pb_request_should_allow would. False: unusual. */
bool native_decode_request(struct slice bytes, struct request *request);

/* Takes the next member off the front of a batch's bytes. False: unusual. */
bool native_decode_member(struct slice *batch, struct slice *member);

/* The id of a frame that is not a ClientFrame as far as it can be read, else 0. */
uint64_t native_decode_id(struct slice payload);

#endif
