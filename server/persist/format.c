#include "persist/format.h"

#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#define RECORD_BYTES 32u
#define COUNTERS_HEAD_BYTES 24u
#define LOG_BYTES 12u
#define ENTRY_BYTES 12u
#define CHECKSUM_BYTES 16u
#define ZEROS_FROM 34u /* of a block's head */
#define PACK_LEVEL 1
#define SEALED_BYTES 20u
#define SEAL_HEAD_BYTES 24u
#define SEAL_FILES 65536u
/* What a block may say that it unpacks to: a description of a large limits file is the largest. */
#define RAW_BYTES_MOST (1u << 28)

static const uint8_t format_magic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'S', 'T'};
static const uint8_t format_seal_magic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'S', 'L'};

static_assert(sizeof(struct door_record) == RECORD_BYTES, "a record has no padding");

struct format_codec {
    ZSTD_CCtx *pack;
    ZSTD_DCtx *unpack;
    struct buf raw;
};

struct format_codec *format_codec_create(void)
{
    struct format_codec *codec = calloc(1, sizeof(*codec));
    if (codec == NULL) {
        return NULL;
    }
    buf_init(&codec->raw, 0);
    codec->pack = ZSTD_createCCtx();
    codec->unpack = ZSTD_createDCtx();
    if (codec->pack == NULL || codec->unpack == NULL) {
        format_codec_destroy(&codec);
    }
    return codec;
}

void format_codec_destroy(struct format_codec **codec)
{
    if (*codec != NULL) {
        (void)ZSTD_freeCCtx((*codec)->pack);
        (void)ZSTD_freeDCtx((*codec)->unpack);
        buf_deinit(&(*codec)->raw);
        free(*codec);
        *codec = NULL;
    }
}

/* ---- numbers ---- */

static void store_u32(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

static void store_u64(uint8_t *out, uint64_t value)
{
    store_u32(out, (uint32_t)value);
    store_u32(out + 4, (uint32_t)(value >> 32));
}

static uint32_t load_u32(const uint8_t *in)
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

static uint64_t load_u64(const uint8_t *in)
{
    return load_u32(in) | (uint64_t)load_u32(in + 4) << 32;
}

static void put_u32(struct buf *out, uint32_t value)
{
    uint8_t bytes[4];
    store_u32(bytes, value);
    buf_append(out, bytes, sizeof(bytes));
}

static void put_u64(struct buf *out, uint64_t value)
{
    uint8_t bytes[8];
    store_u64(bytes, value);
    buf_append(out, bytes, sizeof(bytes));
}

/* ---- preamble ---- */

void format_put_preamble(const struct format_preamble *preamble, struct buf *out)
{
    buf_append(out, format_magic, sizeof(format_magic));
    put_u32(out, FORMAT_VERSION);
    put_u32(out, preamble->kind);
    put_u64(out, preamble->number);
    put_u64(out, preamble->state_id);
}

enum status format_get_preamble(struct slice file, struct format_preamble *out, const char **why)
{
    if (file.size < FORMAT_PREAMBLE_BYTES) {
        *why = "is cut short";
        return STATUS_INVALID;
    }
    if (memcmp(file.data, format_magic, sizeof(format_magic)) != 0) {
        *why = "is not a state file of sluiced";
        return STATUS_INVALID;
    }
    uint32_t version = load_u32(file.data + 8);
    uint32_t kind = load_u32(file.data + 12);
    if (version != FORMAT_VERSION) {
        *why = version > FORMAT_VERSION ? "was written by a newer version of sluiced"
                                        : "has a format version that never was";
        return STATUS_UNSUPPORTED;
    }
    if (kind != FORMAT_BASE && kind != FORMAT_JOURNAL) {
        *why = "is damaged: neither a base nor a journal";
        return STATUS_INVALID;
    }
    out->kind = (enum format_kind)kind;
    out->number = load_u64(file.data + 16);
    out->state_id = load_u64(file.data + 24);
    return STATUS_OK;
}

/* ---- blocks ---- */

static void checksum_of(const struct format_preamble *preamble, uint64_t place,
                        const uint8_t *bytes, size_t size, uint8_t out[CHECKSUM_BYTES])
{
    uint64_t seed = preamble->state_id ^ (preamble->number << 2 | preamble->kind) ^
                    place * UINT64_C(0x9E3779B97F4A7C15);
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, size, seed);
    store_u64(out, hash.low64);
    store_u64(out + 8, hash.high64);
}

/* The payload packed into `into` (room for its bound), or 0 where that saves nothing. */
static size_t pack(struct format_codec *codec, struct slice payload, uint8_t *into, size_t room)
{
    size_t packed =
        ZSTD_compressCCtx(codec->pack, into, room, payload.data, payload.size, PACK_LEVEL);
    return ZSTD_isError(packed) || packed + FORMAT_BLOCK_BYTES >= payload.size ? 0 : packed;
}

void format_put_block(struct format_codec *codec, const struct format_preamble *preamble,
                      uint64_t place, const struct format_block *block, struct buf *out)
{
    size_t room = ZSTD_compressBound(block->payload.size);
    uint8_t *at = buf_reserve(out, FORMAT_BLOCK_BYTES + room);
    if (at == NULL || block->payload.size > RAW_BYTES_MOST) {
        out->failed = true;
        return;
    }
    size_t stored = pack(codec, block->payload, at + FORMAT_BLOCK_BYTES, room);
    uint8_t flags = stored > 0 ? FORMAT_FLAG_PACKED : 0;
    if (stored == 0) {
        stored = block->payload.size;
        memcpy(at + FORMAT_BLOCK_BYTES, block->payload.data, stored);
    }
    memset(at, 0, FORMAT_BLOCK_BYTES);
    store_u32(at + 16, (uint32_t)stored);
    store_u32(at + 20, (uint32_t)block->payload.size);
    store_u64(at + 24, block->append);
    at[32] = (uint8_t)block->type;
    at[33] = flags;
    checksum_of(preamble, place, at + CHECKSUM_BYTES,
                FORMAT_BLOCK_BYTES - CHECKSUM_BYTES + stored, at);
    buf_commit(out, FORMAT_BLOCK_BYTES + stored);
}

bool format_peek_block(const struct format_preamble *preamble, struct slice file, uint64_t place,
                       struct format_block *out)
{
    uint8_t sum[CHECKSUM_BYTES];
    if (place > file.size || file.size - place < FORMAT_BLOCK_BYTES) {
        return false;
    }
    static const uint8_t zeros[FORMAT_BLOCK_BYTES - ZEROS_FROM];
    const uint8_t *at = file.data + place;
    uint32_t stored = load_u32(at + 16);
    uint32_t raw = load_u32(at + 20);
    uint8_t type = at[32];
    if ((at[33] & ~FORMAT_FLAG_PACKED) != 0 || memcmp(at + ZEROS_FROM, zeros, sizeof(zeros)) != 0) {
        return false;
    }
    if (stored > file.size - place - FORMAT_BLOCK_BYTES || raw > RAW_BYTES_MOST ||
        type < FORMAT_HEADER || type > FORMAT_END) {
        return false;
    }
    checksum_of(preamble, place, at + CHECKSUM_BYTES,
                FORMAT_BLOCK_BYTES - CHECKSUM_BYTES + stored, sum);
    if (memcmp(sum, at, sizeof(sum)) != 0) {
        return false;
    }
    *out = (struct format_block){.type = (enum format_type)type,
                                 .append = load_u64(at + 24),
                                 .bytes = FORMAT_BLOCK_BYTES + stored,
                                 .payload = slice_make(at + FORMAT_BLOCK_BYTES, stored)};
    return (at[33] & FORMAT_FLAG_PACKED) != 0 || raw == stored;
}

bool format_get_block(struct format_codec *codec, const struct format_preamble *preamble,
                      struct slice file, uint64_t place, struct format_block *out)
{
    if (!format_peek_block(preamble, file, place, out)) {
        return false;
    }
    const uint8_t *at = file.data + place;
    if ((at[33] & FORMAT_FLAG_PACKED) == 0) {
        return true;
    }
    size_t raw = load_u32(at + 20);
    buf_clear(&codec->raw);
    uint8_t *into = buf_reserve(&codec->raw, raw + 1);
    if (into == NULL || ZSTD_decompressDCtx(codec->unpack, into, raw, out->payload.data,
                                            out->payload.size) != raw) {
        return false;
    }
    out->payload = slice_make(into, raw);
    return true;
}

/* ---- payloads ---- */

void format_put_header(const struct format_header *header, struct buf *out)
{
    buf_append(out, header->key.bytes, sizeof(header->key.bytes));
    put_u64(out, (uint64_t)header->created_ns);
    put_u64(out, header->previous);
    put_u64(out, header->previous_bytes);
}

bool format_get_header(struct slice payload, struct format_header *out)
{
    if (payload.size != sizeof(out->key.bytes) + 24) {
        return false;
    }
    memcpy(out->key.bytes, payload.data, sizeof(out->key.bytes));
    out->created_ns = (int64_t)load_u64(payload.data + 16);
    out->previous = load_u64(payload.data + 24);
    out->previous_bytes = load_u64(payload.data + 32);
    return true;
}

void format_put_policies(const struct format_policies *policies, struct buf *out)
{
    put_u64(out, policies->epoch);
    put_u64(out, (uint64_t)policies->since_ns);
    buf_append_slice(out, policies->description);
}

bool format_get_policies(struct slice payload, struct format_policies *out)
{
    if (payload.size < 16) {
        return false;
    }
    out->epoch = load_u64(payload.data);
    out->since_ns = (int64_t)load_u64(payload.data + 8);
    out->description = slice_make(payload.data + 16, payload.size - 16);
    return true;
}

void format_put_end(const struct format_end *end, struct buf *out)
{
    put_u64(out, end->counters);
    put_u64(out, end->append);
}

bool format_get_end(struct slice payload, struct format_end *out)
{
    if (payload.size != 16) {
        return false;
    }
    out->counters = load_u64(payload.data);
    out->append = load_u64(payload.data + 8);
    return true;
}

/* Records are turned into planes and back a few at a time, so that each plane is met a cache line
 * at once: planes lie a power of two apart, where single bytes would fight for one place. */
#define TILE 64u

static void put_record(const struct door_record *record, uint8_t bytes[RECORD_BYTES])
{
    store_u64(bytes, record->order);
    store_u32(bytes + 8, record->tag);
    store_u32(bytes + 12, record->meta);
    store_u64(bytes + 16, (uint64_t)record->time_ns);
    store_u64(bytes + 24, record->value);
}

static void get_record(const uint8_t bytes[RECORD_BYTES], struct door_record *record)
{
    record->order = load_u64(bytes);
    record->tag = load_u32(bytes + 8);
    record->meta = load_u32(bytes + 12);
    record->time_ns = (int64_t)load_u64(bytes + 16);
    record->value = load_u64(bytes + 24);
}

static void put_planes(const struct door_batch *batch, uint8_t *out)
{
    size_t count = batch->record_count;
    uint8_t rows[TILE][RECORD_BYTES];
    for (size_t first = 0; first < count; first += TILE) {
        size_t more = count - first < TILE ? count - first : TILE;
        for (size_t i = 0; i < more; i++) {
            put_record(&batch->records[first + i], rows[i]);
        }
        for (size_t plane = 0; plane < RECORD_BYTES; plane++) {
            uint8_t *to = out + plane * count + first;
            for (size_t i = 0; i < more; i++) {
                to[i] = rows[i][plane];
            }
        }
    }
}

static void get_planes(const uint8_t *in, struct door_batch *batch)
{
    size_t count = batch->record_count;
    uint8_t rows[TILE][RECORD_BYTES];
    for (size_t first = 0; first < count; first += TILE) {
        size_t more = count - first < TILE ? count - first : TILE;
        for (size_t plane = 0; plane < RECORD_BYTES; plane++) {
            const uint8_t *from = in + plane * count + first;
            for (size_t i = 0; i < more; i++) {
                rows[i][plane] = from[i];
            }
        }
        for (size_t i = 0; i < more; i++) {
            get_record(rows[i], &batch->records[first + i]);
        }
    }
}

static size_t counters_bytes(const struct door_batch *batch)
{
    return COUNTERS_HEAD_BYTES + (size_t)batch->record_count * RECORD_BYTES +
           (size_t)batch->upper_count * sizeof(uint64_t) + (size_t)batch->log_count * LOG_BYTES +
           (size_t)batch->entry_count * ENTRY_BYTES;
}

void format_put_counters(const struct door_batch *batch, struct buf *out)
{
    size_t bytes = counters_bytes(batch);
    uint8_t *at = buf_reserve(out, bytes);
    if (at == NULL) {
        return;
    }
    store_u64(at, batch->epoch);
    store_u32(at + 8, batch->record_count);
    store_u32(at + 12, batch->upper_count);
    store_u32(at + 16, batch->log_count);
    store_u32(at + 20, batch->entry_count);
    at += COUNTERS_HEAD_BYTES;
    put_planes(batch, at);
    at += (size_t)batch->record_count * RECORD_BYTES;
    for (uint32_t i = 0; i < batch->upper_count; i++, at += sizeof(uint64_t)) {
        store_u64(at, batch->uppers[i]);
    }
    for (uint32_t i = 0; i < batch->log_count; i++, at += LOG_BYTES) {
        store_u32(at, batch->logs[i].base);
        store_u32(at + 4, batch->logs[i].kept);
        store_u32(at + 8, batch->logs[i].count);
    }
    for (uint32_t i = 0; i < batch->entry_count; i++, at += ENTRY_BYTES) {
        store_u64(at, (uint64_t)batch->entries[i].at_ns);
        store_u32(at + 8, batch->entries[i].total);
    }
    buf_commit(out, bytes);
}

/* Do the records and the logs call for just what the payload holds? */
static bool is_consistent(const struct door_batch *batch)
{
    uint32_t uppers = 0;
    uint32_t logs = 0;
    uint64_t entries = 0;
    for (uint32_t i = 0; i < batch->record_count; i++) {
        uint32_t kind = batch->records[i].meta & DOOR_KIND_MASK;
        uppers += kind == DOOR_UPPER;
        logs += kind == DOOR_LOG;
        if (kind > DOOR_LOG) {
            return false;
        }
    }
    for (uint32_t i = 0; i < batch->log_count; i++) {
        entries += batch->logs[i].count;
    }
    return uppers == batch->upper_count && logs == batch->log_count &&
           entries == batch->entry_count;
}

bool format_get_counters(struct slice payload, struct door_batch *batch)
{
    if (payload.size < COUNTERS_HEAD_BYTES) {
        return false;
    }
    const uint8_t *at = payload.data;
    batch->epoch = load_u64(at);
    batch->record_count = load_u32(at + 8);
    batch->upper_count = load_u32(at + 12);
    batch->log_count = load_u32(at + 16);
    batch->entry_count = load_u32(at + 20);
    if (batch->record_count > DOOR_BATCH_RECORDS || batch->upper_count > batch->record_count ||
        batch->log_count > batch->record_count || batch->entry_count > DOOR_BATCH_ENTRIES ||
        payload.size != counters_bytes(batch)) {
        return false;
    }
    at += COUNTERS_HEAD_BYTES;
    get_planes(at, batch);
    at += (size_t)batch->record_count * RECORD_BYTES;
    for (uint32_t i = 0; i < batch->upper_count; i++, at += sizeof(uint64_t)) {
        batch->uppers[i] = load_u64(at);
    }
    for (uint32_t i = 0; i < batch->log_count; i++, at += LOG_BYTES) {
        batch->logs[i] = (struct door_log){
            .base = load_u32(at), .kept = load_u32(at + 4), .count = load_u32(at + 8)};
    }
    for (uint32_t i = 0; i < batch->entry_count; i++, at += ENTRY_BYTES) {
        batch->entries[i] = (struct limiter_log_entry){.at_ns = (int64_t)load_u64(at),
                                                       .total = load_u32(at + 8)};
    }
    return is_consistent(batch);
}

/* ---- seal ---- */

void format_put_seal(uint64_t state_id, const struct format_sealed *files, uint32_t count,
                     struct buf *out)
{
    uint8_t sum[CHECKSUM_BYTES];
    static const struct format_preamble nothing = {.kind = FORMAT_BASE};
    size_t before = out->size;
    buf_append(out, format_seal_magic, sizeof(format_seal_magic));
    put_u32(out, FORMAT_VERSION);
    put_u32(out, count);
    put_u64(out, state_id);
    for (uint32_t i = 0; i < count; i++) {
        put_u32(out, files[i].kind);
        put_u64(out, files[i].number);
        put_u64(out, files[i].bytes);
    }
    if (!out->failed) {
        checksum_of(&nothing, 0, out->data + out->start + before, out->size - before, sum);
        buf_append(out, sum, sizeof(sum));
    }
}

enum status format_get_seal(struct slice file, uint64_t *state_id, struct format_sealed **files,
                            uint32_t *count)
{
    uint8_t sum[CHECKSUM_BYTES];
    static const struct format_preamble nothing = {.kind = FORMAT_BASE};
    if (file.size < SEAL_HEAD_BYTES + CHECKSUM_BYTES) {
        return STATUS_INVALID;
    }
    size_t bytes = file.size - CHECKSUM_BYTES;
    const uint8_t *at = file.data;
    checksum_of(&nothing, 0, at, bytes, sum);
    *count = load_u32(at + 12);
    *state_id = load_u64(at + 16);
    if (memcmp(sum, at + bytes, sizeof(sum)) != 0 ||
        memcmp(at, format_seal_magic, sizeof(format_seal_magic)) != 0 || *count > SEAL_FILES ||
        bytes != SEAL_HEAD_BYTES + (size_t)*count * SEALED_BYTES) {
        return STATUS_INVALID;
    }
    if (load_u32(at + 8) != FORMAT_VERSION) {
        return STATUS_UNSUPPORTED;
    }
    *files = calloc((size_t)*count + 1, sizeof(**files));
    if (*files == NULL) {
        return STATUS_NO_MEMORY;
    }
    at += SEAL_HEAD_BYTES;
    for (uint32_t i = 0; i < *count; i++, at += SEALED_BYTES) {
        (*files)[i] = (struct format_sealed){.kind = (enum format_kind)load_u32(at),
                                             .number = load_u64(at + 4),
                                             .bytes = load_u64(at + 12)};
    }
    return STATUS_OK;
}
