/* Writes ClientFrames of the native protocol (proto/sluice/v1/sluice.proto) by hand: the bytes that
 * a generated encoder writes, without building a message first. Tests hold both against each other.
 *
 * Each function appends one whole frame, length in front. */
#ifndef SLUICE_ENCODE_H
#define SLUICE_ENCODE_H

#include "sluice.h"
#include "sluice_buffer.h"

#define SLUICE_ENCODE_FRAME_BYTES_MAX (256u * 1024) /* what a daemon takes */
#define SLUICE_ENCODE_BATCH_MAX 1000u

/* Field numbers of ClientFrame.body. */
enum sluice_encode_kind {
    SLUICE_ENCODE_ASK = 2,
    SLUICE_ENCODE_BATCH = 3,
    SLUICE_ENCODE_REFUND = 4,
    SLUICE_ENCODE_RESET = 5,
    SLUICE_ENCODE_STATS = 7
};

/* SLUICE_INVALID: larger than the daemon takes (or a batch of more than 1000); nothing is
 * appended. `count` is 1 for all kinds but a batch, and 0 for stats. */
enum sluice_status sluice_encode(struct sluice_buffer *out, uint64_t id,
                                 enum sluice_encode_kind kind,
                                 const struct sluice_question *questions, size_t count);

/* The bytes of a base-128 varint, and writing it. */
static inline size_t sluice_encode_varint_size(uint64_t value)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    return (bits + 6) / 7;
}

static inline uint8_t *sluice_encode_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

#endif
