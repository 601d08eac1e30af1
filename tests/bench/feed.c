/* What a read of native frames costs in process: bytes in -> decided -> bytes out through the
 * adapter, as net/conn.c does it, without a socket. What is left of a request's cost over the
 * network is the kernel's and the loop's.
 * Usage: bench_feed [ROUNDS]; prints one line of JSON: CPU ns a decision with 1 and 32 frames a
 * read, and in batches of 100. */
#include "base/clock.h"
#include "engine/limits_file.h"
#include "wire/native.h"
#include "wire/wire_scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FEED_KEYS = 100000, FEED_FRAME_BYTES = 96, FEED_BATCH = 100 };

static struct wire_worker wire;
static void *session;
static struct buf output;

static void feed_fail(const char *what)
{
    (void)fprintf(stderr, "bench_feed: %s\n", what);
    exit(1);
}

/* CPU time of this process: what others do meanwhile does not count. */
static double feed_cpu_ns(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

static size_t put_varint(uint8_t *out, uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
        out[size++] = (uint8_t)(value | 0x80);
    }
    out[size++] = (uint8_t)value;
    return size;
}

static size_t put_bytes(uint8_t *out, unsigned field, const void *data, size_t size)
{
    size_t at = 0;
    out[at++] = (uint8_t)(field << 3 | 2);
    at += put_varint(out + at, size);
    memcpy(out + at, data, size);
    return at + size;
}

static size_t put_question(uint8_t *out, uint32_t key)
{
    static const char route[] = "GET /bench/route/a";
    char text[40];
    int size = snprintf(text, sizeof(text), "user-%08u-0123456789abcdef", key);
    size_t at = put_bytes(out, 1, text, (size_t)size);
    return at + put_bytes(out + at, 2, route, sizeof(route) - 1);
}

/* A frame with `count` questions, alone or as a batch, from key `first` on. */
static size_t put_frame(uint8_t *out, uint32_t first, uint32_t count)
{
    static uint8_t body[FEED_BATCH * FEED_FRAME_BYTES];
    static uint8_t payload[sizeof(body) + FEED_FRAME_BYTES];
    uint8_t question[FEED_FRAME_BYTES];
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t one = put_question(question, (first + i) * 7919u % FEED_KEYS);
        if (count > 1) {
            size += put_bytes(body + size, 1, question, one);
        } else {
            memcpy(body, question, one);
            size = one;
        }
    }
    size_t head = 1;
    payload[0] = 0x08;
    head += put_varint(payload + 1, first + 1);
    head += put_bytes(payload + head, count > 1 ? 3 : 2, body, size);
    size_t at = put_varint(out, head);
    memcpy(out + at, payload, head);
    return at + head;
}

/* CPU ns a decision: reads of `frames` frames of `count` questions each. */
static double feed_run(uint32_t frames, uint32_t count, uint32_t rounds)
{
    uint32_t kinds = FEED_KEYS / count / frames;
    uint8_t *bytes = malloc((size_t)FEED_KEYS * FEED_FRAME_BYTES);
    size_t *ends = malloc((kinds + 1) * sizeof(*ends));
    size_t at = 0;
    if (bytes == NULL || ends == NULL) {
        feed_fail("no memory");
    }
    ends[0] = 0;
    for (uint32_t i = 0; i < kinds; i++) {
        for (uint32_t k = 0; k < frames; k++) {
            at += put_frame(bytes + at, (i * frames + k) * count, count);
        }
        ends[i + 1] = at;
    }
    uint64_t answered = 0;
    double begin = feed_cpu_ns();
    for (uint32_t i = 0; answered < rounds; i = (i + 1) % kinds) {
        size_t consumed;
        struct slice in = slice_make(bytes + ends[i], ends[i + 1] - ends[i]);
        if (native_protocol.feed(session, &wire, in, &consumed, clock_now_ns(), &output,
                                 &answered) != WIRE_MORE ||
            consumed != in.size) {
            feed_fail("a read was not answered");
        }
        buf_clear(&output);
    }
    double ns = (feed_cpu_ns() - begin) / (double)answered;
    free(bytes);
    free(ends);
    return ns;
}

static struct engine *feed_engine(struct metrics *metrics)
{
    static const char limits[] = "limits:\n"
                                 "  bench: {algorithm: token_bucket, limit: 1000000000, "
                                 "window: 1h}\n"
                                 "routes: {\"GET /bench/route/a\": [bench]}\n";
    struct store_config config = {0};
    struct limits_file_report report;
    struct policy_set *set = NULL;
    hash_random_key(&config.key);
    struct store *store = store_create(&config);
    limits_file_report_init(&report);
    struct limits_file_options options = {.key = &config.key, .metrics = metrics};
    if (store == NULL || metrics == NULL ||
        limits_file_parse("bench", slice_text(limits), &options, &set, &report) != STATUS_OK) {
        feed_fail("cannot set up");
    }
    limits_file_report_deinit(&report);
    return engine_create(
        &(struct engine_config){.store = store, .metrics = metrics, .set = set});
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 4000000;
    static const struct wire_config config;
    static const struct wire_peer peer = {.local = true};
    clock_start();
    struct metrics *metrics = metrics_create(1);
    struct engine *engine = feed_engine(metrics);
    wire.config = &config;
    wire.metrics = metrics_worker(metrics, 0);
    wire.engine = engine_worker_create(engine, wire.metrics);
    wire.arena = malloc(sizeof(*wire.arena));
    wire.scratch = wire_scratch_create();
    if (wire.engine == NULL || wire.arena == NULL || wire.scratch == NULL) {
        feed_fail("no memory");
    }
    arena_init(wire.arena, 1 << 16, 1 << 20);
    buf_init(&output, 1 << 24);
    session = native_protocol.open(&wire, &peer, &output);
    (void)feed_run(32, 1, FEED_KEYS);
    double deep = feed_run(32, 1, rounds);
    double single = feed_run(1, 1, rounds);
    double batch = feed_run(1, FEED_BATCH, rounds);
    (void)printf("{\"single_ns\":%.1f,\"deep_ns\":%.1f,\"batch_ns\":%.1f}\n", single, deep,
                 batch);
    struct store *store = engine_store(engine);
    struct wire_scratch *scratch = wire.scratch;
    native_protocol.close(&session);
    wire_scratch_destroy(&scratch);
    engine_worker_destroy(&wire.engine);
    engine_destroy(&engine);
    metrics_destroy(&metrics);
    store_destroy(&store);
    arena_deinit(wire.arena);
    free(wire.arena);
    buf_deinit(&output);
    return 0;
}
