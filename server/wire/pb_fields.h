/* A message's fields one by one, for the few messages that are read and written by hand. */
#ifndef WIRE_PB_FIELDS_H
#define WIRE_PB_FIELDS_H

#include "base/buf.h"

struct pb_field {
    uint32_t number;
    bool is_bytes;      /* `bytes` holds it; else `value` where it was a varint */
    uint64_t value;
    struct slice bytes;
};

enum pb_fields_result { PB_FIELDS_ONE, PB_FIELDS_END, PB_FIELDS_MALFORMED };

/* Takes the next field off the front of *rest. */
enum pb_fields_result pb_fields_next(struct slice *rest, struct pb_field *field);

/* The last field of that number, as proto3 reads one; empty when there is none. False: the message
 * is malformed. */
bool pb_fields_bytes(struct slice message, uint32_t number, struct slice *out);

void pb_fields_put_number(struct buf *out, uint32_t number, uint64_t value);
void pb_fields_put_bytes(struct buf *out, uint32_t number, struct slice bytes);
/* A message's tag and length, ahead of its `size` bytes. */
void pb_fields_put_head(struct buf *out, uint32_t number, size_t size);

#endif
