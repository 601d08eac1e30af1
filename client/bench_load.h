/* What a bench sends: questions encoded beforehand, and which of them is next.
 *
 * A question is kept as it stands inside a frame, its length in front:
 *
 *     single:  frame length | 08 id | 12 <question>
 *     batch:   frame length | 08 id | 1a body length | 0a <question> | 0a <question> ...
 *
 * so that sending one is a copy. Ids are kept where a varint takes exactly four bytes. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "base/buf.h"
#include "random.h"
#include "sluice_buffer.h"
#include "zipf.h"

#define BENCH_LOAD_SIZE_BITS 20 /* a frame has less than 2^20 bytes */

enum bench_load_choice {
    BENCH_LOAD_UNIFORM,
    BENCH_LOAD_ZIPF,
    BENCH_LOAD_ONE,
    BENCH_LOAD_UNIQUE
};

struct bench_load_options {
    const char *traffic; /* a recorded file, or NULL: made-up keys */
    enum bench_load_choice choice;
    uint32_t keys;
    const char *route;
    uint64_t cost;
    bool has_cost;
};

/* Made once, then only read, by all threads. */
struct bench_load {
    struct sluice_buffer bytes; /* questions, one behind the other */
    uint64_t *items;            /* where each is: BENCH_LOAD_SIZE_BITS of size, then its offset */
    uint64_t count;
    enum bench_load_choice choice; /* ignored with traffic */
    bool in_turn;                  /* recorded traffic */
    uint32_t key_at;               /* unique: where the key's digits stand in the question */
    struct zipf zipf;
    uint64_t skipped; /* lines of the traffic that are no question */
};

/* False: *message says why. */
bool bench_load_init(struct bench_load *load, const struct bench_load_options *options,
                     struct buf *message);
void bench_load_deinit(struct bench_load *load);

/* Questions are chosen this long before they are sent, so that their bytes are near by then: with
 * many keys they are not in the processor's cache. */
#define BENCH_LOAD_AHEAD 8u

/* A thread's own way through the load. */
struct bench_load_cursor {
    uint64_t ahead[BENCH_LOAD_AHEAD]; /* items, a ring */
    uint32_t at;
    const struct bench_load *load;
    struct random random;
    uint64_t next;   /* in turn: the next item */
    uint64_t number; /* unique: the next key */
    uint64_t stride; /* threads */
};

void bench_load_start(struct bench_load_cursor *cursor, const struct bench_load *load,
                      uint32_t thread, uint32_t threads);

#define BENCH_LOAD_ID_MIN (UINT32_C(1) << 21)
#define BENCH_LOAD_ID_COUNT ((UINT32_C(1) << 28) - BENCH_LOAD_ID_MIN)

/* Appends one frame of `batch` questions (1 and !is_batch: a single one). False without memory, or
 * when a batch is larger than a daemon takes. */
bool bench_load_frame(struct bench_load_cursor *cursor, uint32_t id, uint32_t batch,
                      bool is_batch, struct sluice_buffer *out);

#endif
