/* A daemon's decisions without the daemon: the same engine, store and limits file, and a clock
 * that the traffic sets. One thread, no socket.
 *
 *   simulate.c            one limits file at work: requests in, answers out
 *   simulate_answer.c     an answer as a line of JSON
 *   simulate_tally.c      what is counted for the summary
 *   simulate_identity.c   who a limit counted, in words
 *   simulate_distinct.c   how many different ones, in bounded memory
 *   simulate_top.c        which ones most often, in bounded memory
 *   simulate_series.c     how many when, in bounded memory
 *   simulate_compare.c    two limits files against each other
 *   simulate_report.c, simulate_json.c, simulate_chart.c   the summary for people, for programs,
 *                         and as a picture */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "base/buf.h"
#include "engine/engine.h"
#include "traffic.h"

struct simulate;

enum simulate_kind {
    SIMULATE_DECISION, /* allow and refund */
    SIMULATE_RESET,
    SIMULATE_RELOADED,
    SIMULATE_RELOAD_REFUSED,
    SIMULATE_ERROR
};

/* What the daemon would have said. Holds until the next call. */
struct simulate_answer {
    enum simulate_kind kind;
    struct engine_plan plan; /* of a decision: the route and the limits it met */
    struct decision decision;
    uint32_t counters; /* reset */
    struct request_error error;
    struct slice reload_errors; /* lines, as `sluice check` prints them */
};

/* Loads the limits. NULL: *message has the lines of `sluice check`. Warnings of an accepted file
 * go there too. */
struct simulate *simulate_create(const char *limits_path, struct buf *message);
void simulate_destroy(struct simulate **simulate);

/* Where a reload's limits_file is looked for: the folder of the traffic file. */
void simulate_set_folder(struct simulate *simulate, const char *traffic_path);

/* Decides one item at its own time. `details`: with a row for each limit. */
void simulate_step(struct simulate *simulate, const struct traffic_item *item, bool details,
                   struct simulate_answer *answer);

/* The limits in force, until the next step. */
const struct policy_set *simulate_policies(const struct simulate *simulate);
/* The key of the store's fingerprints, for counting identities apart. */
const struct hash_key *simulate_hash_key(const struct simulate *simulate);
/* Counters that the store holds now. */
uint64_t simulate_counters(const struct simulate *simulate);

#endif
