/* The counts behind `sluice stats`. Each worker writes its own block (plain additions, readable by
 * others without tearing); readers add the blocks up. Nothing of a peer becomes a label.
 *
 * Names and labels are fixed (README, "Metrics"); the table of them is in metrics_text.c. */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include "base/buf.h"

#include <stdint.h>

struct metrics;
struct metrics_worker;

/* X(symbol, label text) */
#define METRICS_OUTCOME_MAP(X) \
    X(ALLOWED, "allowed") \
    X(REFUSED, "refused") \
    X(WOULD_REFUSE, "would_refuse") \
    X(COST_EXCEEDS, "cost_exceeds") \
    X(BLOCKED, "blocked") \
    X(UNLIMITED, "unlimited") \
    X(STORE_FULL, "store_full") \
    X(SHADOW_ERROR, "shadow_error")
#define METRICS_OUTCOME_ENUM(name, text) METRICS_##name,
enum metrics_outcome { METRICS_OUTCOME_MAP(METRICS_OUTCOME_ENUM) METRICS_OUTCOMES };

enum metrics_protocol {
    METRICS_NATIVE,
    METRICS_HTTP,
    METRICS_GRPC,
    METRICS_RESP,
    METRICS_ADMIN,
    METRICS_PROTOCOLS
};

enum metrics_kind {
    METRICS_SHOULD_ALLOW,
    METRICS_BATCH,
    METRICS_REFUND,
    METRICS_RESET,
    METRICS_STATS,
    METRICS_RELOAD,
    METRICS_SNAPSHOT,
    METRICS_KINDS
};

#define METRICS_NO_LIMIT 0u /* the limit `` */
#define METRICS_CODES 17    /* google.rpc.Code, 0 to 16 */
#define METRICS_DURATION_BUCKETS 20

struct metrics *metrics_create(uint32_t workers); /* NULL: no memory */
void metrics_destroy(struct metrics **metrics);
struct metrics_worker *metrics_worker(struct metrics *metrics, uint32_t index);

/* The number of a limit's name: the same for ever, also over reloads. Control thread only. 0 when
 * there is no memory (it then counts under ``). */
uint32_t metrics_limit(struct metrics *metrics, struct slice name);

/* Each called by the worker that owns the block. */
void metrics_decision(struct metrics_worker *worker, uint32_t limit, enum metrics_outcome outcome);
void metrics_no_limit(struct metrics_worker *worker);
void metrics_request(struct metrics_worker *worker, enum metrics_protocol protocol,
                     enum metrics_kind kind, uint64_t count);
void metrics_request_error(struct metrics_worker *worker, enum metrics_protocol protocol,
                           int code);
void metrics_counter_evicted(struct metrics_worker *worker, uint32_t limit);
void metrics_counter_refused(struct metrics_worker *worker, uint32_t limit);
void metrics_connection_opened(struct metrics_worker *worker, enum metrics_protocol protocol);
void metrics_connection_closed(struct metrics_worker *worker, enum metrics_protocol protocol);
void metrics_connection_refused(struct metrics_worker *worker, enum metrics_protocol protocol);
/* The memory that connections hold is so much more, or less. */
void metrics_connection_bytes(struct metrics_worker *worker, int64_t more);
/* `count` decisions took `ns` each, from the last byte read to the answer handed over. */
void metrics_duration(struct metrics_worker *worker, enum metrics_protocol protocol, int64_t ns,
                      uint64_t count);
/* Control thread. */
void metrics_reload(struct metrics *metrics, bool ok, int64_t now_ns);
/* The limits were read at the start: no reload, but the latest success. */
void metrics_loaded(struct metrics *metrics, int64_t now_ns);

/* Sums over all workers. */
uint64_t metrics_read_decisions(const struct metrics *metrics, uint32_t limit,
                                enum metrics_outcome outcome);
uint64_t metrics_read_no_limit(const struct metrics *metrics);
uint64_t metrics_read_requests(const struct metrics *metrics, enum metrics_protocol protocol,
                               enum metrics_kind kind);
uint64_t metrics_read_request_errors(const struct metrics *metrics, enum metrics_protocol protocol,
                                     int code);
uint64_t metrics_read_connections(const struct metrics *metrics, enum metrics_protocol protocol);
uint64_t metrics_read_reloads(const struct metrics *metrics, bool ok);
uint64_t metrics_read_duration_count(const struct metrics *metrics, enum metrics_protocol protocol);

/* Limits have the numbers 0 (``) to metrics_limit_count - 1; a number's name never changes. */
uint32_t metrics_limit_count(const struct metrics *metrics);
struct slice metrics_limit_name(const struct metrics *metrics, uint32_t limit);
uint64_t metrics_read_counters_evicted(const struct metrics *metrics, uint32_t limit);
uint64_t metrics_read_counters_refused(const struct metrics *metrics, uint32_t limit);
uint64_t metrics_read_connections_opened(const struct metrics *metrics,
                                         enum metrics_protocol protocol);
uint64_t metrics_read_connections_refused(const struct metrics *metrics,
                                          enum metrics_protocol protocol);
uint64_t metrics_read_connection_bytes(const struct metrics *metrics);
/* When the latest reload of that outcome was; 0: never. */
int64_t metrics_read_reload_ns(const struct metrics *metrics, bool ok);
/* Decisions of one bucket alone (not those below it). */
uint64_t metrics_read_duration_bucket(const struct metrics *metrics,
                                      enum metrics_protocol protocol, uint32_t bucket);
uint64_t metrics_read_duration_sum_ns(const struct metrics *metrics,
                                      enum metrics_protocol protocol);
/* The longest duration a bucket counts; INT64_MAX for the last. */
int64_t metrics_duration_bound_ns(uint32_t bucket);

#endif
