/* What a worker's adapters need for one read, lent through wire_worker.scratch: room for the
 * requests decoded and prepared ahead of deciding, and for one decision. One a worker, so that a
 * connection costs none of it. */
#ifndef WIRE_WIRE_SCRATCH_H
#define WIRE_WIRE_SCRATCH_H

#include "engine/engine_throttle.h"
#include "wire/http2_pool.h"
#include "wire/wire.h"

/* Requests prepared (hashed, their counters fetched into the cache) before the first is decided:
 * enough that memory is waited for once, few enough that all of them stay in the first cache. */
#define WIRE_SCRATCH_AHEAD 32u

/* A request on its way through one read. */
struct wire_scratch_entry {
    uint64_t id; /* the adapter's own: the frame's (native), which question it is (resp) */
    bool failed; /* error, not plan, is valid */
    struct engine_plan plan;
    struct request request;
    struct request_error error;
};

struct wire_scratch {
    struct wire_scratch_entry entries[WIRE_SCRATCH_AHEAD];
    struct engine_throttle throttles[WIRE_SCRATCH_AHEAD];
    struct decision decision;
    struct http2_pool *http2; /* what its HTTP/2 connections leave for each other */
};

struct wire_scratch *wire_scratch_create(void); /* NULL: no memory */
void wire_scratch_destroy(struct wire_scratch **scratch);

#endif
