/* links: sluice_persist sluice_engine */
/* Any bytes as a state file, and as the payload of a block behind its checksum: the blocks of a
 * base or a journal, a seal, a description of limits. Refused or read, never more. */
#include "engine/engine_describe.h"
#include "persist/format.h"
#include "store/door_in.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read and written down again reads as the same. */
static void read_policies(struct slice payload)
{
    struct format_policies policies;
    struct policy_set *set = NULL;
    struct policy_set *again = NULL;
    struct buf once;
    struct buf twice;
    if (!format_get_policies(payload, &policies) ||
        engine_describe_read(policies.description, &set) != STATUS_OK) {
        return;
    }
    buf_init(&once, 0);
    buf_init(&twice, 0);
    engine_describe_write(set, &once);
    if (engine_describe_read(buf_slice(&once), &again) != STATUS_OK) {
        abort();
    }
    engine_describe_write(again, &twice);
    if (!slice_equal(buf_slice(&once), buf_slice(&twice))) {
        abort();
    }
    buf_deinit(&twice);
    buf_deinit(&once);
    policy_set_destroy(&again);
    policy_set_destroy(&set);
}

/* Into a store, under two policies: whatever is taken must leave it sound. */
static void put_counters(struct slice payload, struct door_batch *batch)
{
    struct limiter_policy list[2];
    struct door_way ways[2] = {{.written = &list[0], .policy = 0},
                               {.written = &list[1], .policy = 1}};
    struct door_ways row = {.ways = ways, .count = 2};
    struct store_policies policies = {.policies = list, .count = 2};
    struct store_config config = {.shards = 2};
    struct door_in_result result = {.counters = 0};
    if (!format_get_counters(payload, batch)) {
        return;
    }
    limiter_policy_init(&list[0], LIMITER_TOKEN_BUCKET, 5, 0, INT64_C(1000000000), NULL);
    limiter_policy_init(&list[1], LIMITER_SLIDING_LOG, 50, 0, INT64_C(1000000000), NULL);
    list[1].id = 1;
    struct store *store = store_create(&config);
    if (store == NULL) {
        return;
    }
    store_install(store, &policies);
    if (door_in_put(store, batch, &row, false) == STATUS_OK) {
        for (uint32_t i = 0; i < door_in_shards(store); i++) {
            (void)door_in_settle(store, i, &row, INT64_C(1700000000000000000), &result);
        }
        while (store_sweep(store, INT64_MAX, 1000)) {
        }
    }
    store_destroy(&store);
}

static void read_block(const struct format_block *block, struct door_batch *batch)
{
    struct format_header header;
    struct format_end end;
    switch (block->type) {
    case FORMAT_HEADER:
        (void)format_get_header(block->payload, &header);
        break;
    case FORMAT_POLICIES:
        read_policies(block->payload);
        break;
    case FORMAT_COUNTERS:
        put_counters(block->payload, batch);
        break;
    case FORMAT_END:
        (void)format_get_end(block->payload, &end);
        break;
    }
}

static void read_file(struct format_codec *codec, struct slice file, struct door_batch *batch)
{
    struct format_preamble preamble;
    struct format_block block;
    const char *why;
    uint64_t place = FORMAT_PREAMBLE_BYTES;
    if (format_get_preamble(file, &preamble, &why) != STATUS_OK) {
        return;
    }
    while (format_get_block(codec, &preamble, file, place, &block)) {
        read_block(&block, batch);
        place += block.bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct format_codec *codec = format_codec_create();
    struct door_batch *batch = door_batch_create();
    struct format_sealed *sealed = NULL;
    uint64_t state_id;
    uint32_t count;
    if (codec != NULL && batch != NULL) {
        struct slice bytes = slice_make(data, size);
        read_file(codec, bytes, batch);
        if (format_get_seal(bytes, &state_id, &sealed, &count) == STATUS_OK) {
            free(sealed);
        }
        if (size > 0) {
            struct format_block block = {.type = (enum format_type)(1 + data[0] % 4),
                                         .payload = slice_make(data + 1, size - 1)};
            read_block(&block, batch);
        }
    }
    door_batch_destroy(&batch);
    format_codec_destroy(&codec);
    return 0;
}
