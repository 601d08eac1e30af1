/* One call of the native adapter's feed: what its parts (native.c, native_batch.c) share. */
#ifndef WIRE_NATIVE_TURN_H
#define WIRE_NATIVE_TURN_H

#include "wire/native_encode.h"
#include "wire/wire_scratch.h"

struct native_session;

struct native_turn {
    struct wire_worker *worker;
    struct wire_scratch *scratch; /* the worker's */
    struct native_session *session; /* native.c's; NULL for calls by other ways */
    const struct wire_peer *peer;
    bool may_ask;
    struct buf *out;
    int64_t now_ns;
    uint64_t answered; /* decisions made */
    enum metrics_protocol metrics; /* whose errors are counted */
};

/* Checks, matches and hashes the entry's request, ahead of deciding it. */
void native_turn_prepare(struct native_turn *turn, struct wire_scratch_entry *entry);

/* Decides a prepared entry into scratch->decision. False: entry->error says why not. */
bool native_turn_decide(struct native_turn *turn, struct wire_scratch_entry *entry);

/* Appends a frame with the error and counts it. False: out has no room. */
bool native_turn_error(struct native_turn *turn, uint64_t id, const struct request_error *error);

#endif
