/* The decision over the counters of one request, with all their shards locked. Knows nothing of
 * locks, allocates nothing: where memory is wanted it stops before anything was changed that
 * matters, and is repeated from the start.
 *
 *   look     bring each counter over to the policies in force, ask the limiters
 *   settle   all or nothing, shadows, who finds no room
 *   reserve  room in the tables, cells and blocks for what is to be charged
 *   finish   write the answers and the counters; cannot fail */
#ifndef STORE_DECIDE_H
#define STORE_DECIDE_H

#include "base/limits.h"
#include "store/shard.h"

/* A log as it would stand after an earlier item of the same request. */
struct decide_overlay {
    struct limiter_log log;
    const struct limiter_log *under; /* NULL: no counter yet */
    struct limiter_log_entry newest;
};

struct decide_work {
    struct shard *shard;
    struct table_key key;
    const struct limiter_policy *held;  /* what drains the state below */
    const struct limiter_state *state;  /* what the limiter sees; NULL: fresh */
    const struct limiter_state *before; /* the same without earlier items of the request */
    const struct limiter_policy *before_held;
    struct limiter_step step;
    enum limiter_outcome outcome;
    struct counter_view view;
    struct limiter_state state_after; /* where an earlier item has the same counter */
    struct decide_overlay overlay;
    uint32_t dropped;  /* log entries that this and earlier items of the counter drop */
    bool made;         /* the counter is there, or will be after this item */
    bool creates;      /* the counter is not there and has to be made */
    bool charged;      /* if the request is allowed */
    bool no_memory;    /* in: memory for it was refused */
    bool no_counter;   /* this or an earlier item of the counter found no room for it */
    bool full;         /* its verdict is STORE_FULL */
};

struct decide {
    struct store_item *items;
    uint32_t count;
    int64_t now_ns;
    uint32_t creates;        /* counters wanted, shadow ones included; after decide_look */
    bool allowed;            /* after decide_settle */
    struct shard *wanting;   /* whose memory is wanted, after a step said false */
    uint32_t wanting_item;
    struct decide_work work[LIMITS_ROUTE_LIMITS_MAX];
};

enum decide_result { DECIDE_DONE, DECIDE_STALE, DECIDE_OTHERWISE };

/* The straight path: one item, its counter there or (in a store without a bound) easily made.
 * OTHERWISE: nothing was done, go the long way. */
enum decide_result decide_one(struct shard *shard, const struct store_policies *policies,
                              struct store_item *item, struct table_key key, int64_t now_ns);

bool decide_look(struct decide *decide);
/* Does every enforced item pass, if there is room? After decide_look. */
bool decide_passes(const struct decide *decide);
/* `granted`: counters that may be made. Those that find no room refuse. */
void decide_settle(struct decide *decide, uint32_t granted);
bool decide_reserve(struct decide *decide);
/* Returns how many counters were made (and tells their shards). */
uint32_t decide_finish(struct decide *decide);

/* Refund and reset of items whose `work` is set up as for a decision. False: wants memory, and
 * nothing was given back yet. */
bool decide_refund(struct decide *decide);
bool decide_reset(struct decide *decide, uint32_t *forgotten);

#endif
