#include "wire/pb.h"

#define PB_ARENA_CHUNK_BYTES (64u * 1024)

struct pb_memory {
    struct arena *arena;
    bool exhausted;
};

bool pb_arena_init(struct arena *arena)
{
    arena_init(arena, PB_ARENA_CHUNK_BYTES, LIMITS_UNPACK_BYTES_MAX);
    return arena_alloc(arena, 1) != NULL;
}

static void *pb_memory_alloc(void *data, size_t size)
{
    struct pb_memory *memory = data;
    void *at = arena_alloc(memory->arena, size);
    memory->exhausted = memory->exhausted || at == NULL;
    return at;
}

/* The arena gives everything back at once. */
static void pb_memory_free(void *data, void *at)
{
    (void)data;
    (void)at;
}

enum pb_result pb_unpack(const ProtobufCMessageDescriptor *type, struct arena *arena,
                         struct slice bytes, void **message)
{
    static const uint8_t nothing[1] = {0};
    struct pb_memory memory = {.arena = arena};
    ProtobufCAllocator allocator = {
        .alloc = pb_memory_alloc, .free = pb_memory_free, .allocator_data = &memory};
    *message = protobuf_c_message_unpack(type, &allocator, bytes.size,
                                         bytes.size == 0 ? nothing : bytes.data);
    if (*message != NULL) {
        return PB_OK;
    }
    return memory.exhausted ? PB_TOO_LARGE : PB_MALFORMED;
}

bool pb_append_frame(const ProtobufCMessage *message, struct buf *out)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *at = buf_reserve(out, size + LIMITS_VARINT_BYTES_MAX);
    if (at == NULL) {
        return false;
    }
    size_t header = 0;
    size_t rest = size;
    while (rest >= 0x80) {
        at[header++] = (uint8_t)(rest | 0x80);
        rest >>= 7;
    }
    at[header++] = (uint8_t)rest;
    buf_commit(out, header + protobuf_c_message_pack(message, at + header));
    return true;
}

static struct slice pb_slice(ProtobufCBinaryData bytes)
{
    return slice_make(bytes.data, bytes.len);
}

static void pb_request_fill(struct request *request, ProtobufCBinaryData key,
                            ProtobufCBinaryData route, Sluice__V1__AttributesEntry **attributes,
                            size_t count)
{
    request->key = pb_slice(key);
    request->route = pb_slice(route);
    request->cost = 0;
    request->has_cost = false;
    request->cost_invalid = false;
    request->details = false;
    request->utf8 = true;
    request->attribute_count = (uint32_t)count;
    for (size_t i = 0; i < count && i < LIMITS_ATTRIBUTES_MAX; i++) {
        request->attributes[i].name = pb_slice(attributes[i]->key);
        request->attributes[i].value = pb_slice(attributes[i]->value);
    }
}

void pb_request_should_allow(const Sluice__V1__ShouldAllowRequest *message,
                             struct request *request)
{
    pb_request_fill(request, message->key, message->route, message->attributes,
                    message->n_attributes);
    request->details = message->details;
    if (message->_cost_case == SLUICE__V1__SHOULD_ALLOW_REQUEST___COST_COST) {
        request->has_cost = true;
        request->cost = message->cost;
    }
}

void pb_request_refund(const Sluice__V1__RefundRequest *message, struct request *request)
{
    pb_request_fill(request, message->key, message->route, message->attributes,
                    message->n_attributes);
    if (message->_cost_case == SLUICE__V1__REFUND_REQUEST___COST_COST) {
        request->has_cost = true;
        request->cost = message->cost;
    }
}

void pb_request_reset(const Sluice__V1__ResetRequest *message, struct request *request)
{
    pb_request_fill(request, message->key, message->route, message->attributes,
                    message->n_attributes);
}
