#include "bench_load.h"

#include "base/limits.h"
#include "sluice_encode.h"
#include "traffic.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY_DIGITS 16u /* of a unique key, behind its letter */
#define ID_BYTES 4u

static inline size_t item_size(uint64_t item)
{
    return item & ((UINT64_C(1) << BENCH_LOAD_SIZE_BITS) - 1);
}

static inline uint64_t item_offset(uint64_t item)
{
    return item >> BENCH_LOAD_SIZE_BITS;
}

/* Encodes a whole frame and keeps the part from the question's length on. */
static bool add(struct bench_load *load, uint64_t *capacity, const struct sluice_question *question)
{
    struct sluice_buffer *bytes = &load->bytes;
    size_t before = bytes->end;
    if (load->count == *capacity) {
        uint64_t more = *capacity == 0 ? 1024 : *capacity * 2;
        void *items = realloc(load->items, more * sizeof *load->items);
        if (items == NULL) {
            return false;
        }
        load->items = items;
        *capacity = more;
    }
    if (sluice_encode(bytes, 0, SLUICE_ENCODE_ASK, question, 1) != SLUICE_OK) {
        return false;
    }
    /* With id 0 the frame is: length | 12 <question>. */
    size_t head = 0;
    while (bytes->data[before + head] >= 0x80) {
        head++;
    }
    head += 2;
    load->items[load->count++] =
        (before + head) << BENCH_LOAD_SIZE_BITS | (bytes->end - before - head);
    return true;
}

static bool make_keys(struct bench_load *load, const struct bench_load_options *options)
{
    bool unique = options->choice == BENCH_LOAD_UNIQUE;
    bool one = options->choice == BENCH_LOAD_ONE;
    uint32_t count = unique || one ? 1 : options->keys;
    uint64_t capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        char key[32];
        int size = unique ? snprintf(key, sizeof key, "u%016x", 0u)
                          : snprintf(key, sizeof key, "key-%u", i);
        const struct sluice_question question = {
            .key = {key, (size_t)size},
            .route = {options->route, strlen(options->route)},
            .cost = options->cost,
            .has_cost = options->has_cost,
        };
        if (!add(load, &capacity, &question)) {
            return false;
        }
    }
    if (unique) {
        /* question length | 0a key length | key */
        size_t head = load->bytes.data[item_offset(load->items[0])] < 0x80 ? 1 : 2;
        load->key_at = (uint32_t)head + 2 + 1;
    }
    return options->choice != BENCH_LOAD_ZIPF || zipf_init(&load->zipf, count);
}

static struct sluice_bytes to_bytes(struct slice slice)
{
    return (struct sluice_bytes){(const char *)slice.data, slice.size};
}

static bool add_recorded(struct bench_load *load, uint64_t *capacity,
                         const struct request *request)
{
    struct sluice_attribute attributes[LIMITS_ATTRIBUTES_MAX];
    uint32_t count = request->attribute_count < LIMITS_ATTRIBUTES_MAX ? request->attribute_count
                                                                      : LIMITS_ATTRIBUTES_MAX;
    for (uint32_t i = 0; i < count; i++) {
        attributes[i].name = to_bytes(request->attributes[i].name);
        attributes[i].value = to_bytes(request->attributes[i].value);
    }
    const struct sluice_question question = {
        .key = to_bytes(request->key),
        .route = to_bytes(request->route),
        .cost = request->cost,
        .has_cost = request->has_cost,
        .attributes = attributes,
        .attribute_count = count,
    };
    return add(load, capacity, &question);
}

static bool read_traffic(struct bench_load *load, const struct bench_load_options *options,
                         struct buf *message)
{
    const struct traffic_options reading = {
        .path = options->traffic,
        .has_cost = options->has_cost,
        .cost = options->cost,
        .complaints = stderr,
    };
    struct traffic *traffic = traffic_open(&reading, message);
    if (traffic == NULL) {
        return false;
    }
    struct traffic_item item;
    enum traffic_result result;
    uint64_t capacity = 0;
    bool ok = true;
    while (ok && (result = traffic_next(traffic, &item, message)) == TRAFFIC_ITEM) {
        if (item.op == TRAFFIC_ALLOW && !item.request.cost_invalid) {
            ok = add_recorded(load, &capacity, &item.request);
        } else {
            load->skipped++;
        }
    }
    ok = ok && result == TRAFFIC_END;
    load->skipped += traffic_unreadable(traffic);
    traffic_close(&traffic);
    load->in_turn = true;
    if (ok && load->count == 0) {
        buf_printf(message, "%s holds no question", options->traffic);
        ok = false;
    }
    return ok;
}

bool bench_load_init(struct bench_load *load, const struct bench_load_options *options,
                     struct buf *message)
{
    *load = (struct bench_load){.choice = options->choice};
    bool ok = options->traffic == NULL ? make_keys(load, options)
                                       : read_traffic(load, options, message);
    if (!ok) {
        if (message->size == 0) {
            buf_append_text(message, "there is no memory for the questions");
        }
        bench_load_deinit(load);
    }
    return ok;
}

void bench_load_deinit(struct bench_load *load)
{
    sluice_buffer_deinit(&load->bytes);
    free(load->items);
    load->items = NULL;
    zipf_deinit(&load->zipf);
}

static uint64_t draw(struct bench_load_cursor *cursor)
{
    const struct bench_load *load = cursor->load;
    uint64_t index = 0;
    if (load->in_turn) {
        index = cursor->next % load->count;
        cursor->next = index + cursor->stride;
    } else if (load->choice == BENCH_LOAD_ZIPF) {
        index = zipf_next(&load->zipf, &cursor->random);
    } else if (load->choice == BENCH_LOAD_UNIFORM) {
        index = random_below(&cursor->random, load->count);
    }
    __builtin_prefetch(load->bytes.data + item_offset(load->items[index]));
    return load->items[index];
}

void bench_load_start(struct bench_load_cursor *cursor, const struct bench_load *load,
                      uint32_t thread, uint32_t threads)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t seed = (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
    *cursor = (struct bench_load_cursor){
        .load = load,
        .random = {seed + (uint64_t)thread * UINT64_C(0x632be59bd9b4e019)},
        .next = thread,
        .number = thread,
        .stride = threads,
    };
    for (uint32_t i = 0; i < BENCH_LOAD_AHEAD; i++) {
        cursor->ahead[i] = draw(cursor);
    }
}

static inline uint64_t choose(struct bench_load_cursor *cursor)
{
    uint64_t item = cursor->ahead[cursor->at];
    cursor->ahead[cursor->at] = draw(cursor);
    cursor->at = (cursor->at + 1) % BENCH_LOAD_AHEAD;
    return item;
}

static void write_digits(uint8_t *at, uint64_t number)
{
    static const char digits[] = "0123456789abcdef";
    for (uint32_t i = KEY_DIGITS; i > 0; i--) {
        at[i - 1] = (uint8_t)digits[number & 15];
        number >>= 4;
    }
}

static uint8_t *put_question(struct bench_load_cursor *cursor, uint64_t item, uint8_t *at)
{
    const struct bench_load *load = cursor->load;
    memcpy(at, load->bytes.data + item_offset(item), item_size(item));
    if (load->choice == BENCH_LOAD_UNIQUE && !load->in_turn) {
        write_digits(at + load->key_at, cursor->number);
        cursor->number += cursor->stride;
    }
    return at + item_size(item);
}

static uint8_t *put_id(uint8_t *at, uint32_t id)
{
    *at++ = 1 << 3;
    *at++ = (uint8_t)(id | 0x80);
    *at++ = (uint8_t)(id >> 7 | 0x80);
    *at++ = (uint8_t)(id >> 14 | 0x80);
    *at++ = (uint8_t)(id >> 21);
    return at;
}

static bool put_single(struct bench_load_cursor *cursor, uint32_t id, struct sluice_buffer *out)
{
    uint64_t item = choose(cursor);
    size_t frame = 1 + ID_BYTES + 1 + item_size(item);
    if (!sluice_buffer_reserve(out, frame + 4)) {
        return false;
    }
    uint8_t *at = sluice_encode_varint(out->data + out->end, frame);
    at = put_id(at, id);
    *at++ = SLUICE_ENCODE_ASK << 3 | 2;
    at = put_question(cursor, item, at);
    out->end = (size_t)(at - out->data);
    return true;
}

static bool put_batch(struct bench_load_cursor *cursor, uint32_t id, uint32_t batch,
                      struct sluice_buffer *out)
{
    uint64_t items[LIMITS_BATCH_MAX];
    size_t body = 0;
    for (uint32_t i = 0; i < batch; i++) {
        items[i] = choose(cursor);
        body += 1 + item_size(items[i]);
    }
    size_t frame = 1 + ID_BYTES + 1 + sluice_encode_varint_size(body) + body;
    if (frame > LIMITS_CLIENT_FRAME_BYTES_MAX || !sluice_buffer_reserve(out, frame + 4)) {
        return false;
    }
    uint8_t *at = sluice_encode_varint(out->data + out->end, frame);
    at = put_id(at, id);
    *at++ = SLUICE_ENCODE_BATCH << 3 | 2;
    at = sluice_encode_varint(at, body);
    for (uint32_t i = 0; i < batch; i++) {
        *at++ = 1 << 3 | 2;
        at = put_question(cursor, items[i], at);
    }
    out->end = (size_t)(at - out->data);
    return true;
}

bool bench_load_frame(struct bench_load_cursor *cursor, uint32_t id, uint32_t batch,
                      bool is_batch, struct sluice_buffer *out)
{
    return is_batch ? put_batch(cursor, id, batch, out) : put_single(cursor, id, out);
}
