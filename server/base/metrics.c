/* One block of counts a worker, written by that worker alone and read by anybody:
 *
 *   metrics ── workers[i] ──> requests, errors, connections, durations of worker i
 *                             chunks[n / 256] ──> counts of limits 256*(n/256) … of worker i
 *
 * Only one thread writes a count, so an addition is a load and a store: atomic, lest a reader see
 * half of it, but with no order and no bus lock. Limits come and go with reloads while workers
 * count; their counts are found through a table of fixed length, whose chunks the control thread
 * hangs in before it hands out a number in them. Nothing moves, so workers need no lock. */
#include "base/metrics.h"

#include "base/limits.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#define CHUNK_LIMITS 256u
#define CHUNKS (LIMITS_METRIC_LIMITS_MAX / CHUNK_LIMITS)
#define CACHE_LINE_BYTES 64u
#define INDEX_SIZE_FIRST 64u
/* Where an error's code counts that is none of google.rpc.Code: UNKNOWN. */
#define CODE_UNKNOWN 2

typedef _Atomic uint64_t count_u64;

struct limit_counts {
    count_u64 outcomes[METRICS_OUTCOMES];
    count_u64 evicted;
    count_u64 refused;
};

struct chunk {
    struct limit_counts limits[CHUNK_LIMITS];
};

struct duration_counts {
    count_u64 buckets[METRICS_DURATION_BUCKETS];
    count_u64 sum_ns;
};

struct metrics_worker {
    count_u64 no_limit;
    count_u64 requests[METRICS_PROTOCOLS][METRICS_KINDS];
    count_u64 errors[METRICS_PROTOCOLS][METRICS_CODES];
    count_u64 opened[METRICS_PROTOCOLS];
    count_u64 closed[METRICS_PROTOCOLS];
    count_u64 refused[METRICS_PROTOCOLS];
    count_u64 connection_bytes;
    struct duration_counts durations[METRICS_PROTOCOLS];
    struct chunk *_Atomic chunks[CHUNKS];
};

struct metrics {
    uint32_t worker_count;
    struct metrics_worker **workers;
    struct slice *names[CHUNKS];  /* CHUNK_LIMITS each; owned; fixed once limit_count passes them */
    _Atomic uint32_t limit_count; /* raised when everything about the new number is in place */
    uint32_t *index;              /* open addressing: number of a limit, 0: empty */
    uint32_t index_size;          /* a power of two, over half of it empty */
    count_u64 reloads[2];         /* [ok] */
    _Atomic int64_t reload_ns[2];
};

static const int64_t duration_bounds_ns[METRICS_DURATION_BUCKETS] = {
    1000,     2000,     5000,     10000,     20000,     50000,     100000,
    200000,   500000,   1000000,  2000000,   5000000,   10000000,  20000000,
    50000000, 100000000, 200000000, 500000000, 1000000000, INT64_MAX,
};

/* By the place of a duration's highest bit: the first bucket it may belong to (the next one is the
 * only other). Above a second there is only the last. */
static const uint8_t duration_first_bucket[30] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  1,  2,  2,  3,  4,
    5, 6, 7, 8, 9, 10, 11, 11, 12, 13, 14, 15, 16, 17, 18,
};

static void count_add(count_u64 *count, uint64_t more)
{
    uint64_t now = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, now + more, memory_order_relaxed);
}

static uint64_t count_read(const count_u64 *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

static void *alloc_zeroed(size_t size)
{
    /* Whole cache lines of its own, so that no two workers write to one. */
    size = (size + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
    void *at = aligned_alloc(CACHE_LINE_BYTES, size);
    if (at != NULL) {
        memset(at, 0, size);
    }
    return at;
}

/* Makes room in every worker for the counts of the chunk `at`. */
static bool ensure_chunk(struct metrics *metrics, uint32_t at)
{
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        struct chunk *_Atomic *slot = &metrics->workers[i]->chunks[at];
        if (atomic_load_explicit(slot, memory_order_relaxed) != NULL) {
            continue;
        }
        struct chunk *chunk = alloc_zeroed(sizeof(*chunk));
        if (chunk == NULL) {
            return false;
        }
        atomic_store_explicit(slot, chunk, memory_order_release);
    }
    if (metrics->names[at] == NULL) {
        metrics->names[at] = calloc(CHUNK_LIMITS, sizeof(struct slice));
    }
    return metrics->names[at] != NULL;
}

struct metrics *metrics_create(uint32_t workers)
{
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    if (metrics == NULL) {
        return NULL;
    }
    metrics->workers = calloc(workers == 0 ? 1 : workers, sizeof(struct metrics_worker *));
    metrics->index = calloc(INDEX_SIZE_FIRST, sizeof(uint32_t));
    metrics->index_size = INDEX_SIZE_FIRST;
    bool complete = metrics->workers != NULL && metrics->index != NULL;
    while (complete && metrics->worker_count < workers) {
        struct metrics_worker *worker = alloc_zeroed(sizeof(*worker));
        complete = worker != NULL;
        metrics->workers[metrics->worker_count] = worker;
        metrics->worker_count += complete;
    }
    if (!complete || !ensure_chunk(metrics, 0)) {
        metrics_destroy(&metrics);
        return NULL;
    }
    atomic_store(&metrics->limit_count, METRICS_NO_LIMIT + 1);
    return metrics;
}

static void destroy_worker(struct metrics_worker *worker)
{
    for (uint32_t i = 0; i < CHUNKS; i++) {
        free(atomic_load_explicit(&worker->chunks[i], memory_order_relaxed));
    }
    free(worker);
}

static void destroy_names(struct slice *names)
{
    for (uint32_t i = 0; names != NULL && i < CHUNK_LIMITS; i++) {
        free((void *)(uintptr_t)names[i].data);
    }
    free(names);
}

void metrics_destroy(struct metrics **metrics)
{
    if (*metrics == NULL) {
        return;
    }
    for (uint32_t i = 0; i < (*metrics)->worker_count; i++) {
        destroy_worker((*metrics)->workers[i]);
    }
    for (uint32_t i = 0; i < CHUNKS; i++) {
        destroy_names((*metrics)->names[i]);
    }
    free((*metrics)->workers);
    free((*metrics)->index);
    free(*metrics);
    *metrics = NULL;
}

struct metrics_worker *metrics_worker(struct metrics *metrics, uint32_t index)
{
    assert(index < metrics->worker_count);
    return metrics->workers[index];
}

/* FNV-1a. The names are the operator's own, so nobody picks them to collide. */
static uint32_t hash_name(struct slice name)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < name.size; i++) {
        hash = (hash ^ name.data[i]) * UINT64_C(0x100000001B3);
    }
    return (uint32_t)(hash >> 32 ^ hash);
}

static struct slice *name_slot(const struct metrics *metrics, uint32_t limit)
{
    return &metrics->names[limit / CHUNK_LIMITS][limit % CHUNK_LIMITS];
}

/* Where in the index the name stands, or the empty place where it belongs. */
static uint32_t *find_place(const struct metrics *metrics, uint32_t *index, uint32_t size,
                            struct slice name)
{
    uint32_t at = hash_name(name) & (size - 1);
    while (index[at] != 0 && !slice_equal(*name_slot(metrics, index[at]), name)) {
        at = (at + 1) & (size - 1);
    }
    return &index[at];
}

static bool grow_index(struct metrics *metrics, uint32_t count)
{
    uint32_t size = metrics->index_size * 2;
    uint32_t *index = calloc(size, sizeof(*index));
    if (index == NULL) {
        return false;
    }
    for (uint32_t limit = METRICS_NO_LIMIT + 1; limit < count; limit++) {
        *find_place(metrics, index, size, *name_slot(metrics, limit)) = limit;
    }
    free(metrics->index);
    metrics->index = index;
    metrics->index_size = size;
    return true;
}

static uint32_t add_limit(struct metrics *metrics, uint32_t limit, struct slice name)
{
    if (limit == LIMITS_METRIC_LIMITS_MAX || !ensure_chunk(metrics, limit / CHUNK_LIMITS) ||
        (limit >= metrics->index_size / 2 && !grow_index(metrics, limit))) {
        return METRICS_NO_LIMIT;
    }
    uint8_t *copy = malloc(name.size);
    if (copy == NULL) {
        return METRICS_NO_LIMIT;
    }
    memcpy(copy, name.data, name.size);
    *name_slot(metrics, limit) = slice_make(copy, name.size);
    *find_place(metrics, metrics->index, metrics->index_size, name) = limit;
    atomic_store_explicit(&metrics->limit_count, limit + 1, memory_order_release);
    return limit;
}

uint32_t metrics_limit(struct metrics *metrics, struct slice name)
{
    if (name.size == 0) {
        return METRICS_NO_LIMIT;
    }
    uint32_t limit = *find_place(metrics, metrics->index, metrics->index_size, name);
    return limit != 0 ? limit : add_limit(metrics, metrics_limit_count(metrics), name);
}

/* A worker's counts of a limit, for the worker itself as for readers. */
static struct limit_counts *counts_of(const struct metrics_worker *worker, uint32_t limit)
{
    assert(limit < LIMITS_METRIC_LIMITS_MAX);
    struct chunk *chunk =
        atomic_load_explicit(&worker->chunks[limit / CHUNK_LIMITS], memory_order_acquire);
    assert(chunk != NULL);
    return &chunk->limits[limit % CHUNK_LIMITS];
}

void metrics_decision(struct metrics_worker *worker, uint32_t limit, enum metrics_outcome outcome)
{
    count_add(&counts_of(worker, limit)->outcomes[outcome], 1);
}

void metrics_no_limit(struct metrics_worker *worker)
{
    count_add(&worker->no_limit, 1);
}

void metrics_request(struct metrics_worker *worker, enum metrics_protocol protocol,
                     enum metrics_kind kind, uint64_t count)
{
    count_add(&worker->requests[protocol][kind], count);
}

void metrics_request_error(struct metrics_worker *worker, enum metrics_protocol protocol, int code)
{
    if (code < 0 || code >= METRICS_CODES) {
        code = CODE_UNKNOWN;
    }
    count_add(&worker->errors[protocol][code], 1);
}

void metrics_counter_evicted(struct metrics_worker *worker, uint32_t limit)
{
    count_add(&counts_of(worker, limit)->evicted, 1);
}

void metrics_counter_refused(struct metrics_worker *worker, uint32_t limit)
{
    count_add(&counts_of(worker, limit)->refused, 1);
}

void metrics_connection_opened(struct metrics_worker *worker, enum metrics_protocol protocol)
{
    count_add(&worker->opened[protocol], 1);
}

void metrics_connection_closed(struct metrics_worker *worker, enum metrics_protocol protocol)
{
    count_add(&worker->closed[protocol], 1);
}

void metrics_connection_refused(struct metrics_worker *worker, enum metrics_protocol protocol)
{
    count_add(&worker->refused[protocol], 1);
}

void metrics_connection_bytes(struct metrics_worker *worker, int64_t more)
{
    count_add(&worker->connection_bytes, (uint64_t)more);
}

static uint32_t bucket_of(int64_t ns)
{
    if (ns > duration_bounds_ns[METRICS_DURATION_BUCKETS - 2]) {
        return METRICS_DURATION_BUCKETS - 1;
    }
    /* | 1: the logarithm of 0 is not defined, and 0 and 1 share a bucket. */
    uint32_t bucket = duration_first_bucket[63 - __builtin_clzll((unsigned long long)ns | 1)];
    return bucket + (ns > duration_bounds_ns[bucket]);
}

void metrics_duration(struct metrics_worker *worker, enum metrics_protocol protocol, int64_t ns,
                      uint64_t count)
{
    struct duration_counts *durations = &worker->durations[protocol];
    if (ns < 0) {
        ns = 0;
    }
    count_add(&durations->buckets[bucket_of(ns)], count);
    count_add(&durations->sum_ns, (uint64_t)ns * count);
}

void metrics_reload(struct metrics *metrics, bool ok, int64_t now_ns)
{
    count_add(&metrics->reloads[ok], 1);
    atomic_store_explicit(&metrics->reload_ns[ok], now_ns, memory_order_relaxed);
}

void metrics_loaded(struct metrics *metrics, int64_t now_ns)
{
    atomic_store_explicit(&metrics->reload_ns[true], now_ns, memory_order_relaxed);
}

uint64_t metrics_read_decisions(const struct metrics *metrics, uint32_t limit,
                                enum metrics_outcome outcome)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&counts_of(metrics->workers[i], limit)->outcomes[outcome]);
    }
    return sum;
}

uint64_t metrics_read_no_limit(const struct metrics *metrics)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&metrics->workers[i]->no_limit);
    }
    return sum;
}

uint64_t metrics_read_requests(const struct metrics *metrics, enum metrics_protocol protocol,
                               enum metrics_kind kind)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&metrics->workers[i]->requests[protocol][kind]);
    }
    return sum;
}

uint64_t metrics_read_request_errors(const struct metrics *metrics, enum metrics_protocol protocol,
                                     int code)
{
    assert(code >= 0 && code < METRICS_CODES);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&metrics->workers[i]->errors[protocol][code]);
    }
    return sum;
}

uint64_t metrics_read_counters_evicted(const struct metrics *metrics, uint32_t limit)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&counts_of(metrics->workers[i], limit)->evicted);
    }
    return sum;
}

uint64_t metrics_read_counters_refused(const struct metrics *metrics, uint32_t limit)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&counts_of(metrics->workers[i], limit)->refused);
    }
    return sum;
}

uint64_t metrics_read_connections_opened(const struct metrics *metrics,
                                         enum metrics_protocol protocol)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&metrics->workers[i]->opened[protocol]);
    }
    return sum;
}

uint64_t metrics_read_connections_refused(const struct metrics *metrics,
                                          enum metrics_protocol protocol)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&metrics->workers[i]->refused[protocol]);
    }
    return sum;
}

uint64_t metrics_read_connection_bytes(const struct metrics *metrics)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&metrics->workers[i]->connection_bytes);
    }
    return sum;
}

uint64_t metrics_read_connections(const struct metrics *metrics, enum metrics_protocol protocol)
{
    uint64_t closed = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        closed += count_read(&metrics->workers[i]->closed[protocol]);
    }
    /* Closed first: what closes in between is then still open, never less than none. */
    uint64_t opened = metrics_read_connections_opened(metrics, protocol);
    return opened > closed ? opened - closed : 0;
}

uint64_t metrics_read_reloads(const struct metrics *metrics, bool ok)
{
    return count_read(&metrics->reloads[ok]);
}

int64_t metrics_read_reload_ns(const struct metrics *metrics, bool ok)
{
    return atomic_load_explicit(&metrics->reload_ns[ok], memory_order_relaxed);
}

uint64_t metrics_read_duration_bucket(const struct metrics *metrics,
                                      enum metrics_protocol protocol, uint32_t bucket)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&metrics->workers[i]->durations[protocol].buckets[bucket]);
    }
    return sum;
}

uint64_t metrics_read_duration_sum_ns(const struct metrics *metrics,
                                      enum metrics_protocol protocol)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < metrics->worker_count; i++) {
        sum += count_read(&metrics->workers[i]->durations[protocol].sum_ns);
    }
    return sum;
}

uint64_t metrics_read_duration_count(const struct metrics *metrics, enum metrics_protocol protocol)
{
    uint64_t sum = 0;
    for (uint32_t bucket = 0; bucket < METRICS_DURATION_BUCKETS; bucket++) {
        sum += metrics_read_duration_bucket(metrics, protocol, bucket);
    }
    return sum;
}

int64_t metrics_duration_bound_ns(uint32_t bucket)
{
    return duration_bounds_ns[bucket];
}

uint32_t metrics_limit_count(const struct metrics *metrics)
{
    return atomic_load_explicit(&metrics->limit_count, memory_order_acquire);
}

struct slice metrics_limit_name(const struct metrics *metrics, uint32_t limit)
{
    return *name_slot(metrics, limit);
}
