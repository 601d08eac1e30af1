/* The state on disk: structs <-> bytes. Pure: no file, no clock, no store.
 *
 *   file      preamble (32 bytes), then blocks
 *             base-N.sluice      every counter, complete or not there at all
 *             journal-N.sluice   what changed since base N was begun, one append after another
 *             seal               after a clean stop: which files belong to the state, and how long
 *
 *   preamble  "SLUICEST" | version u32 | kind u32 | number u64 | state id u64
 *   block     checksum 16 | stored bytes u32 | raw bytes u32 | append u64 | type u8 | flags u8 |
 *             zero u16 | zero u32 | payload (stored bytes)
 *
 * All numbers are little-endian. The checksum is XXH3-128 of everything behind it up to the
 * payload's end, seeded with the file's number, the state's id and the block's own place: so a
 * block is good only where it was written. A payload is compressed (zstd) where that saves a
 * block's room.
 *
 *   HEADER    hash key 16 | created i64 | previous journal u64 | its bytes that count u64
 *   POLICIES  epoch u64 | in force since i64 | description (engine/engine_describe.h)
 *   COUNTERS  epoch u64 | records u32 | upper halves u32 | logs u32 | entries u32 |
 *             32 planes of `records` bytes | upper halves | logs | entries
 *   END       counters u64 | append u64       the base's last block; the last of each append: what
 *                                             follows the last END of a journal does not count
 *
 *   record    order u64 | tag u32 | policy << 2 | kind u32 | time i64 | value u64
 *   log       base u32 | kept u32 | entries u32            entry: instant i64 | total u32
 *
 * A record is a counter's whole state, so reading one twice does no harm; the last one counts.
 * Plane b holds byte b of every record: bytes that resemble each other lie together and compress.
 * A record of kind UPPER has its value's upper 64 bits in the next upper half. One of kind LOG has
 * its entries in the next log: the log as it was before loses what lies at or before `base`, keeps
 * `kept` entries of the rest, and gains these. Totals count units for ever (modulo 2^32), so they
 * say which entry is which.
 *
 * Epochs are counted through all restarts: each start and each reload begins one. A counter was
 * written under the policies of its epoch; loading takes it through those of all later ones.
 *
 * To change any of this: raise FORMAT_VERSION, keep reading every older version (a branch on the
 * version in format.c or load.c), add a golden directory of the new version to
 * tests/persist/golden and leave the old ones as they are: a test loads all of them for ever. */
#ifndef PERSIST_FORMAT_H
#define PERSIST_FORMAT_H

#include "base/buf.h"
#include "base/hash.h"
#include "store/door_batch.h"

#define FORMAT_VERSION 1u
#define FORMAT_PREAMBLE_BYTES 32u
#define FORMAT_BLOCK_BYTES 40u /* of a block before its payload */

enum format_kind { FORMAT_BASE = 1, FORMAT_JOURNAL = 2 };

struct format_preamble {
    enum format_kind kind;
    uint64_t number;
    uint64_t state_id; /* random: files of two states never mix */
};

enum format_type { FORMAT_HEADER = 1, FORMAT_POLICIES, FORMAT_COUNTERS, FORMAT_END };

#define FORMAT_FLAG_PACKED 1u /* the payload is compressed */

struct format_block {
    enum format_type type;
    uint64_t append;
    size_t bytes; /* in the file, all of it */
    struct slice payload;
};

struct format_header {
    struct hash_key key;
    int64_t created_ns;
    uint64_t previous;       /* journal: number of the one before; 0: none */
    uint64_t previous_bytes; /* of which so many count */
};

struct format_policies {
    uint64_t epoch;
    int64_t since_ns;
    struct slice description;
};

struct format_end {
    uint64_t counters;
    uint64_t append; /* base: the journal's append that completes it */
};

/* One file that belongs to a sealed state. */
struct format_sealed {
    enum format_kind kind;
    uint64_t number;
    uint64_t bytes;
};

/* Compresses and decompresses; one a thread. */
struct format_codec;
struct format_codec *format_codec_create(void); /* NULL: no memory */
void format_codec_destroy(struct format_codec **codec);

void format_put_preamble(const struct format_preamble *preamble, struct buf *out);
/* STATUS_UNSUPPORTED: written by a newer version, or an unknown one. On failure *why completes
 * "FILE ". */
STATUS_CHECKED enum status format_get_preamble(struct slice file, struct format_preamble *out,
                                               const char **why);

/* Appends a block that will stand at byte `place` of the file. */
void format_put_block(struct format_codec *codec, const struct format_preamble *preamble,
                      uint64_t place, const struct format_block *block, struct buf *out);
/* The block at `place`. Its payload lies in the file or in the codec, until the next call. False:
 * there is no good block there. */
bool format_get_block(struct format_codec *codec, const struct format_preamble *preamble,
                      struct slice file, uint64_t place, struct format_block *out);
/* The same without decompressing: all but the payload. */
bool format_peek_block(const struct format_preamble *preamble, struct slice file, uint64_t place,
                       struct format_block *out);

void format_put_header(const struct format_header *header, struct buf *out);
bool format_get_header(struct slice payload, struct format_header *out);
void format_put_policies(const struct format_policies *policies, struct buf *out);
bool format_get_policies(struct slice payload, struct format_policies *out);
void format_put_end(const struct format_end *end, struct buf *out);
bool format_get_end(struct slice payload, struct format_end *out);

void format_put_counters(const struct door_batch *batch, struct buf *out);
/* Into a batch with room enough (FORMAT_BATCH_*); false: not a payload that format_put_counters
 * wrote. */
bool format_get_counters(struct slice payload, struct door_batch *batch);

void format_put_seal(uint64_t state_id, const struct format_sealed *files, uint32_t count,
                     struct buf *out);
/* *files is allocated; free it. */
STATUS_CHECKED enum status format_get_seal(struct slice file, uint64_t *state_id,
                                           struct format_sealed **files, uint32_t *count);

#endif
