/* What a state directory holds, for `sluice state`: its files, and its counters as a daemon would
 * load them now. */
#ifndef STATE_SHOW_H
#define STATE_SHOW_H

#include "engine/policy.h"
#include "persist/load.h"

struct state_show_limit {
    uint64_t counters;
    int64_t oldest_ns; /* latest changes of its counters */
    int64_t newest_ns;
};

struct state_show {
    struct state_dir dir;
    struct load load;
    struct policy_set *set;           /* the limits that were last in force */
    struct store *store;
    struct state_show_limit *limits;  /* as set->limits; then one for all others */
    uint64_t counters;
    int64_t now_ns;
};

/* False: *why says what is wrong. `path` is the directory, or a file in it. */
bool state_show_open(struct state_show *show, const char *path, struct buf *why);
void state_show_close(struct state_show *show);

/* Does the limit count this key alone? Then *item is its counter, asked without a charge. */
bool state_show_find(struct state_show *show, const struct policy_limit *limit, struct slice key,
                     struct store_item *item);

#endif
