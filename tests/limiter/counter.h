/* One counter with its log, kept as a store keeps it, for tests that ask one limiter questions.
 * Every refusal is checked for what it promises: the same request passes after the wait and not a
 * nanosecond earlier. */
#ifndef LIMITER_TESTS_COUNTER_H
#define LIMITER_TESTS_COUNTER_H

#include "limiter/limiter.h"

#define COUNTER_LOG_ROOM 512

#define US(n) ((int64_t)(n) * 1000)
#define MS(n) ((int64_t)(n) * 1000000)
#define SECONDS(n) ((int64_t)(n) * 1000000000)
#define DAYS(n) SECONDS((int64_t)(n) * 86400)
#define YEARS(n) DAYS((int64_t)(n) * 365)
#define T0 SECONDS(1767225600) /* 2026-01-01T00:00:00Z */

struct counter {
    struct limiter_log view; /* first: `at` casts back */
    struct limiter_log_entry entries[COUNTER_LOG_ROOM];
    struct limiter_state state;
    struct limiter_policy held;
    bool exists;
};

struct counter_answer {
    enum limiter_outcome outcome;
    struct limiter_report report;
};

struct counter_answer counter_ask(struct counter *counter, const struct limiter_policy *asked,
                                  uint64_t cost, int64_t now_ns);
bool counter_refund(struct counter *counter, uint64_t units, int64_t now_ns);
/* A reload from the numbers held to `to`. */
bool counter_convert(struct counter *counter, const struct limiter_policy *to, int64_t at_ns);

/* A state of this counter's own, or NULL where there is none. */
const struct limiter_state *counter_state(const struct counter *counter);

struct limiter_policy counter_policy(enum limiter_algorithm algorithm, uint64_t limit,
                                     uint64_t burst, int64_t window_ns);

/* A row of a table of expected answers: `times` requests one after another at one instant. What
 * remains falls by the cost from one granted request to the next. */
struct counter_row {
    int64_t at_ns; /* since T0 */
    uint64_t cost;
    int times;
    enum limiter_outcome outcome;
    uint64_t remaining; /* after the first */
    int64_t retry_ns;
};

void counter_play(struct counter *counter, const struct limiter_policy *policy,
                  const struct counter_row *rows, int count);

#define COUNTER_PLAY(counter, policy, ...)                                                        \
    counter_play(counter, policy, (const struct counter_row[]){__VA_ARGS__},                      \
                 (int)(sizeof((const struct counter_row[]){__VA_ARGS__}) /                        \
                       sizeof(struct counter_row)))

#endif
