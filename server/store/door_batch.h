/* Counters as data: what passes the door (door_out.h, door_in.h) in either direction, many at a
 * time. A slot of the table with its pointers resolved. */
#ifndef STORE_DOOR_BATCH_H
#define STORE_DOOR_BATCH_H

#include "limiter/limiter.h"

#define DOOR_BATCH_RECORDS 8192u
#define DOOR_BATCH_ENTRIES 16384u
#define DOOR_LOG_PIECE 4096u /* entries of one log in one record at most */

enum door_kind {
    DOOR_VALUE, /* time and value */
    DOOR_UPPER, /* and the value's upper 64 bits, in uppers */
    DOOR_LOG    /* and a log, in logs */
};

#define DOOR_KIND_MASK 3u
#define DOOR_POLICY_SHIFT 2

struct door_record {
    uint64_t order; /* both as in table.h: together the counter's fingerprint */
    uint32_t tag;
    uint32_t meta;  /* policy id << DOOR_POLICY_SHIFT | enum door_kind */
    int64_t time_ns;
    uint64_t value;
};

/* What became of a log: all at or before the total `base` left, of the rest `kept` entries stayed,
 * `count` follow. */
struct door_log {
    uint32_t base;
    uint32_t kept;
    uint32_t count;
};

/* Arrays with room for DOOR_BATCH_RECORDS (entries: DOOR_BATCH_ENTRIES). */
struct door_batch {
    uint64_t epoch; /* of the policies that the ids belong to */
    struct door_record *records;
    uint64_t *uppers;
    struct door_log *logs;
    struct limiter_log_entry *entries;
    uint32_t record_count;
    uint32_t upper_count;
    uint32_t log_count;
    uint32_t entry_count;
};

struct door_batch *door_batch_create(void); /* NULL: no memory */
void door_batch_destroy(struct door_batch **batch);
void door_batch_clear(struct door_batch *batch);

#endif
