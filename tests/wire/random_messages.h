/* Random messages for the tests that hold the hand-written codec to protobuf-c. */
#ifndef TESTS_WIRE_RANDOM_MESSAGES_H
#define TESTS_WIRE_RANDOM_MESSAGES_H

#include "engine/request.h"
#include "wire/pb.h"

#include <stdlib.h>

/* xorshift64*: the same run each time. */
struct random_source {
    uint64_t state;
};

static inline uint64_t random_u64(struct random_source *source)
{
    uint64_t x = source->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    source->state = x;
    return x * UINT64_C(2685821657736338717);
}

static inline uint64_t random_below(struct random_source *source, uint64_t bound)
{
    return random_u64(source) % bound;
}

/* Small and large numbers alike: each size of varint comes up. */
static inline uint64_t random_number(struct random_source *source)
{
    unsigned shift = (unsigned)random_below(source, 65);
    return shift == 64 ? 0 : random_u64(source) >> shift;
}

static inline ProtobufCBinaryData random_bytes(struct random_source *source,
                                               struct arena *arena, size_t most)
{
    size_t size = random_below(source, 4) == 0 ? 0 : random_below(source, most + 1);
    uint8_t *data = arena_alloc(arena, size + 1);
    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)random_u64(source);
    }
    return (ProtobufCBinaryData){.len = size, .data = data};
}

static inline Sluice__V1__ShouldAllowRequest *random_request(struct random_source *source,
                                                             struct arena *arena)
{
    Sluice__V1__ShouldAllowRequest *message = arena_alloc(arena, sizeof(*message));
    sluice__v1__should_allow_request__init(message);
    message->key = random_bytes(source, arena, random_below(source, 8) == 0 ? 1500 : 40);
    message->route = random_bytes(source, arena, 40);
    message->details = random_below(source, 2) == 1;
    if (random_below(source, 2) == 1) {
        message->_cost_case = SLUICE__V1__SHOULD_ALLOW_REQUEST___COST_COST;
        message->cost = random_number(source);
    }
    message->n_attributes = random_below(source, 3) == 0 ? random_below(source, 20) : 0;
    message->attributes = arena_zalloc(arena, (message->n_attributes + 1) * sizeof(void *));
    for (size_t i = 0; i < message->n_attributes; i++) {
        message->attributes[i] = arena_alloc(arena, sizeof(Sluice__V1__AttributesEntry));
        sluice__v1__attributes_entry__init(message->attributes[i]);
        message->attributes[i]->key = random_bytes(source, arena, 20);
        message->attributes[i]->value = random_bytes(source, arena, 20);
    }
    return message;
}

static inline struct slice random_pack(const ProtobufCMessage *message, struct arena *arena)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *data = arena_alloc(arena, size + 1);
    return slice_make(data, protobuf_c_message_pack(message, data));
}

/* The same request in every field that counts? */
static inline bool random_same_request(const struct request *a, const struct request *b)
{
    bool same = slice_equal(a->key, b->key) && slice_equal(a->route, b->route) &&
                a->has_cost == b->has_cost && (!a->has_cost || a->cost == b->cost) &&
                a->cost_invalid == b->cost_invalid && a->details == b->details &&
                a->utf8 == b->utf8 && a->attribute_count == b->attribute_count;
    for (uint32_t i = 0; same && i < a->attribute_count && i < LIMITS_ATTRIBUTES_MAX; i++) {
        same = slice_equal(a->attributes[i].name, b->attributes[i].name) &&
               slice_equal(a->attributes[i].value, b->attributes[i].value);
    }
    return same;
}

#endif
