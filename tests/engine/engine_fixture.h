/* A whole engine over a small limits file, asked by script. Times are given in seconds since
 * FIXTURE_T0. */
#ifndef TESTS_ENGINE_FIXTURE_H
#define TESTS_ENGINE_FIXTURE_H

#include "engine/engine.h"
#include "engine/limits_file.h"

#include <criterion/criterion.h>

#include <stdio.h>

#define FIXTURE_T0 INT64_C(1767225600000000000)
#define SECONDS(s) ((int64_t)((s) * 1000000000LL))
#define AT(s) (FIXTURE_T0 + SECONDS(s))

struct fixture {
    struct store *store;
    struct metrics *metrics;
    struct engine *engine;
    struct engine_worker *worker;
};

static inline struct policy_set *fixture_parse(struct fixture *f, const char *text)
{
    struct limits_file_report report;
    struct policy_set *set = NULL;
    struct limits_file_options options = {.key = store_hash_key(f->store),
                                          .metrics = f->metrics,
                                          .now_ns = FIXTURE_T0};
    limits_file_report_init(&report);
    enum status status =
        limits_file_parse("limits.yaml", slice_text(text), &options, &set, &report);
    cr_assert(status == STATUS_OK, "%.*s", (int)report.text.size,
              (const char *)buf_slice(&report.text).data);
    limits_file_report_deinit(&report);
    return set;
}

static inline void fixture_open_store(struct fixture *f, const char *text,
                                      struct store_config config)
{
    for (unsigned i = 0; i < sizeof(config.key.bytes); i++) {
        config.key.bytes[i] = (uint8_t)(i * 7 + 1);
    }
    f->store = store_create(&config);
    f->metrics = metrics_create(1);
    cr_assert(f->store != NULL && f->metrics != NULL);
    struct engine_config engine = {f->store, f->metrics, fixture_parse(f, text)};
    f->engine = engine_create(&engine);
    cr_assert(f->engine != NULL);
    f->worker = engine_worker_create(f->engine, metrics_worker(f->metrics, 0));
    cr_assert(f->worker != NULL);
}

static inline void fixture_open(struct fixture *f, const char *text)
{
    fixture_open_store(f, text, (struct store_config){.shards = 4});
}

static inline void fixture_close(struct fixture *f)
{
    engine_worker_destroy(&f->worker);
    engine_destroy(&f->engine);
    store_destroy(&f->store);
    metrics_destroy(&f->metrics);
    cr_assert(f->worker == NULL && f->engine == NULL && f->store == NULL && f->metrics == NULL);
}

/* Sweeps until the store has applied the change before, then reloads. */
static inline void fixture_reload_log(struct fixture *f, int64_t now_ns, const char *text,
                                      struct buf *log)
{
    struct policy_set *set = fixture_parse(f, text);
    enum status status;
    int tries = 0;
    while ((status = engine_reload(f->engine, &set, now_ns, log)) == STATUS_UNAVAILABLE) {
        cr_assert(++tries < 100000, "the change before is never applied");
        (void)engine_sweep(f->engine, now_ns, 64);
    }
    cr_assert_eq(status, STATUS_OK);
    cr_assert_null(set);
}

static inline void fixture_reload(struct fixture *f, int64_t now_ns, const char *text)
{
    fixture_reload_log(f, now_ns, text, NULL);
}

static inline struct request fixture_request(const char *key, const char *route)
{
    return (struct request){.key = slice_text(key), .route = slice_text(route), .utf8 = true};
}

static inline struct request fixture_costing(const char *key, const char *route, uint64_t cost)
{
    struct request request = fixture_request(key, route);
    request.has_cost = true;
    request.cost = cost;
    return request;
}

static inline void fixture_attribute(struct request *request, const char *name, const char *value)
{
    request->attributes[request->attribute_count++] =
        (struct request_attribute){slice_text(name), slice_text(value)};
}

/* One decision that is not an error. */
static inline struct decision fixture_decide(struct fixture *f, int64_t now_ns,
                                             const struct request *request)
{
    struct engine_plan plan;
    struct decision decision;
    struct request_error error = {0};
    engine_enter(f->worker);
    bool made = engine_prepare(f->worker, request, ENGINE_DECIDE, now_ns, &plan, &error);
    cr_assert(made, "%s: %s", error.field, error.message);
    cr_assert(engine_decide(f->worker, &plan, now_ns, &decision, &error));
    engine_leave(f->worker);
    return decision;
}

static inline struct decision fixture_ask(struct fixture *f, int64_t now_ns, const char *key,
                                          const char *route)
{
    struct request request = fixture_request(key, route);
    return fixture_decide(f, now_ns, &request);
}

static inline struct decision fixture_look(struct fixture *f, int64_t now_ns, const char *key,
                                           const char *route)
{
    struct request request = fixture_costing(key, route, 0);
    return fixture_decide(f, now_ns, &request);
}

static inline struct decision fixture_refund(struct fixture *f, int64_t now_ns,
                                             const struct request *request)
{
    struct engine_plan plan;
    struct decision decision;
    struct request_error error = {0};
    engine_enter(f->worker);
    cr_assert(engine_prepare(f->worker, request, ENGINE_REFUND, now_ns, &plan, &error), "%s",
              error.message);
    cr_assert(engine_refund(f->worker, &plan, now_ns, &decision, &error));
    engine_leave(f->worker);
    return decision;
}

static inline uint32_t fixture_reset(struct fixture *f, int64_t now_ns,
                                     const struct request *request)
{
    struct engine_plan plan;
    struct request_error error = {0};
    uint32_t counters = UINT32_MAX;
    engine_enter(f->worker);
    cr_assert(engine_prepare(f->worker, request, ENGINE_RESET, now_ns, &plan, &error), "%s",
              error.message);
    cr_assert(engine_reset(f->worker, &plan, now_ns, &counters, &error));
    engine_leave(f->worker);
    return counters;
}

/* The error of a request that is one. */
static inline struct request_error fixture_error(struct fixture *f, const struct request *request)
{
    struct engine_plan plan;
    struct request_error error = {0};
    engine_enter(f->worker);
    cr_assert(!engine_prepare(f->worker, request, ENGINE_DECIDE, FIXTURE_T0, &plan, &error));
    cr_expect_eq(plan.code, error.code);
    engine_leave(f->worker);
    return error;
}

static inline uint64_t fixture_count(struct fixture *f, const char *limit,
                                     enum metrics_outcome outcome)
{
    return metrics_read_decisions(f->metrics, metrics_limit(f->metrics, slice_text(limit)),
                                  outcome);
}

static inline uint64_t fixture_count_unnamed(struct fixture *f, enum metrics_outcome outcome)
{
    return metrics_read_decisions(f->metrics, METRICS_NO_LIMIT, outcome);
}

#define EXPECT_NAME(row, name)                                                                    \
    cr_expect(slice_equal_text((row).limit_name, name), "limit_name is %.*s, not %s",              \
              (int)(row).limit_name.size, (const char *)(row).limit_name.data, name)

/* allowed, remaining, no wait */
#define EXPECT_ALLOWED(decision, left)                                                            \
    do {                                                                                          \
        struct decision_row row_ = (decision).shown;                                              \
        cr_expect(row_.allowed && row_.remaining == (uint64_t)(left) &&                           \
                      row_.retry_after_ns == DECISION_ABSENT,                                     \
                  "allowed %d, remaining %llu, retry %lld; allowed with %llu left was expected",  \
                  row_.allowed, (unsigned long long)row_.remaining,                               \
                  (long long)row_.retry_after_ns, (unsigned long long)(left));                    \
    } while (0)

/* refused, remaining, the exact wait in ns (or DECISION_NEVER) */
#define EXPECT_REFUSED(decision, left, wait_ns)                                                   \
    do {                                                                                          \
        struct decision_row row_ = (decision).shown;                                              \
        cr_expect(!row_.allowed && row_.remaining == (uint64_t)(left) &&                          \
                      row_.retry_after_ns == (wait_ns),                                           \
                  "allowed %d, remaining %llu, retry %lld; refused with %llu left for %lld ns "   \
                  "was expected",                                                                 \
                  row_.allowed, (unsigned long long)row_.remaining,                               \
                  (long long)row_.retry_after_ns, (unsigned long long)(left),                     \
                  (long long)(wait_ns));                                                          \
    } while (0)

#endif
