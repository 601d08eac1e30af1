/* An engine and a session of one protocol over it, without sockets: bytes in, bytes out. */
#ifndef TESTS_WIRE_NATIVE_FIXTURE_H
#define TESTS_WIRE_NATIVE_FIXTURE_H

#include "engine/limits_file.h"
#include "wire/native.h"
#include "wire/pb.h"
#include "wire/wire_scratch.h"

#include <stdio.h>
#include <stdlib.h>

#define FIXTURE_NOW_NS INT64_C(1767225600000000000) /* 2026-01-01T00:00:00Z */

static const char fixture_limits[] =
    "limits:\n"
    "  tb: {algorithm: token_bucket, limit: 5, window: 10s}\n"
    "  fw: {algorithm: fixed_window, limit: 3, window: 1m}\n"
    "  lb: {algorithm: leaky_bucket, limit: 2, window: 1s, burst: 4}\n"
    "  ip: {algorithm: fixed_window, limit: 3, window: 1m, count_by: [ip]}\n"
    "  sh: {algorithm: fixed_window, limit: 1, window: 1m, shadow: true}\n"
    "  big: {algorithm: fixed_window, limit: 1000, window: 1m, count_by: [route]}\n"
    "routes:\n"
    "  \"tb\": [tb]\n"
    "  \"fw\": [fw]\n"
    "  \"lb\": [lb]\n"
    "  \"ip\": [ip]\n"
    "  \"big\": [big]\n"
    "  \"all\": [tb, fw, sh]\n"
    "  \"POST /login\": [tb]\n"
    "  \"GET /export\": [tb, lb]\n";

static const char fixture_envoy[] =
    "domain: rl\n"
    "descriptors:\n"
    "  - {key: foo, rate_limit: {unit: minute, requests_per_unit: 2}}\n"
    "  - {key: foo, value: vip, rate_limit: {unlimited: true}}\n"
    "  - {key: named, rate_limit: {unit: hour, requests_per_unit: 9, name: n\xC3\xA9}}\n";

struct fixture {
    const struct wire_protocol *protocol;
    struct metrics *metrics;
    struct store *store;
    struct engine *engine;
    struct arena arena;
    struct wire_config config;
    struct wire_worker worker;
    struct wire_scratch *scratch;
    struct wire_peer peer;
    void *session;
    struct buf in; /* fed and not consumed */
    struct buf out;
    uint64_t answered;
    int64_t now_ns;
};

static inline void fixture_require(bool good, const char *what)
{
    if (!good) {
        (void)fprintf(stderr, "fixture: %s\n", what);
        abort();
    }
}

static inline void fixture_open(struct fixture *fixture)
{
    buf_clear(&fixture->in);
    buf_clear(&fixture->out);
    fixture->session = fixture->protocol->open(&fixture->worker, &fixture->peer, &fixture->out);
    fixture_require(fixture->session != NULL, "session");
}

static inline void fixture_init_as(struct fixture *fixture, const struct wire_protocol *protocol)
{
    struct store_config store = {.key = {.bytes = {1, 2, 3}}};
    struct engine_config engine = {0};
    struct limits_file_report report;
    *fixture = (struct fixture){
        .protocol = protocol, .now_ns = FIXTURE_NOW_NS, .peer = {.local = true}};
    fixture->metrics = metrics_create(1);
    fixture->store = store_create(&store);
    fixture_require(fixture->metrics != NULL && fixture->store != NULL, "store");
    struct limits_file_options options = {.key = store_hash_key(fixture->store),
                                          .metrics = fixture->metrics,
                                          .now_ns = FIXTURE_NOW_NS,
                                          .envoy_path = "envoy",
                                          .envoy_text = slice_text(fixture_envoy)};
    limits_file_report_init(&report);
    fixture_require(limits_file_parse("limits", slice_text(fixture_limits), &options, &engine.set,
                                      &report) == STATUS_OK, "limits");
    limits_file_report_deinit(&report);
    engine.store = fixture->store;
    engine.metrics = fixture->metrics;
    fixture->engine = engine_create(&engine);
    fixture_require(fixture->engine != NULL, "engine");
    fixture_require(pb_arena_init(&fixture->arena), "arena");
    fixture->scratch = wire_scratch_create();
    fixture->worker = (struct wire_worker){
        .config = &fixture->config,
        .metrics = metrics_worker(fixture->metrics, 0),
        .arena = &fixture->arena,
        .scratch = fixture->scratch};
    fixture->worker.engine = engine_worker_create(fixture->engine, fixture->worker.metrics);
    fixture_require(fixture->worker.engine != NULL && fixture->scratch != NULL, "worker");
    buf_init(&fixture->in, 0);
    buf_init(&fixture->out, WIRE_OUT_HIGH_BYTES + LIMITS_SERVER_FRAME_BYTES_MAX);
    fixture_open(fixture);
}

static inline void fixture_init(struct fixture *fixture)
{
    fixture_init_as(fixture, &native_protocol);
}

static inline void fixture_close(struct fixture *fixture)
{
    fixture->protocol->close(&fixture->session);
}

static inline void fixture_deinit(struct fixture *fixture)
{
    fixture_close(fixture);
    buf_deinit(&fixture->in);
    buf_deinit(&fixture->out);
    wire_scratch_destroy(&fixture->scratch);
    engine_worker_destroy(&fixture->worker.engine);
    engine_destroy(&fixture->engine);
    store_destroy(&fixture->store);
    metrics_destroy(&fixture->metrics);
    arena_deinit(&fixture->arena);
}

/* Gives the session more bytes, as a connection does: what was not consumed stands in front. Each
 * round's answers go to `out`, or are thrown away when there is none. */
static inline enum wire_result fixture_feed(struct fixture *fixture, struct slice bytes,
                                            struct buf *out)
{
    enum wire_result result;
    buf_append_slice(&fixture->in, bytes);
    do {
        size_t consumed = 0;
        result = fixture->protocol->feed(fixture->session, &fixture->worker,
                                      buf_slice(&fixture->in), &consumed, fixture->now_ns,
                                      &fixture->out, &fixture->answered);
        fixture_require(consumed <= fixture->in.size, "consumed more than there was");
        buf_consume(&fixture->in, consumed);
        if (out != NULL) {
            buf_append_slice(out, buf_slice(&fixture->out));
        }
        buf_clear(&fixture->out);
    } while (result == WIRE_FULL);
    return result;
}

#endif
