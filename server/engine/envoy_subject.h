/* What one descriptor of a request comes to: the rule or the numbers that decide it, and the
 * counter it meets. Private to the envoy_*.c files. */
#ifndef ENGINE_ENVOY_SUBJECT_H
#define ENGINE_ENVOY_SUBJECT_H

#include "engine/engine_state.h"
#include "engine/envoy_decide.h"

struct envoy_subject {
    const struct envoy_rule *rule;         /* NULL: none, or numbers of the request's own */
    const struct limiter_policy *numbers;  /* NULL: nothing is counted */
    struct limiter_policy own;             /* what `numbers` may point to */
    enum envoy_unit unit;
    struct fingerprint id;
    uint64_t cost;
    bool replaced; /* by another rule of the request */
    bool shadow;
    bool quota;
    bool negative;
    uint32_t metric;
};

/* A request on its way. */
struct envoy_work {
    struct engine_worker *worker;
    const struct envoy_request *request;
    const struct engine_set *set; /* that the subjects are of */
    int64_t now_ns;
    struct envoy_answer *answer;
    struct request_error *error;
    struct envoy_subject subjects[LIMITS_ENVOY_DESCRIPTORS_MAX];
};

/* What is wrong with the request whatever the files say. False: *work->error says it. */
bool envoy_subject_check(const struct envoy_work *work);

/* Fills the subjects from work->set. False: *work->error says why not. */
bool envoy_subject_find(struct envoy_work *work);

enum envoy_call { ENVOY_CALL_DONE, ENVOY_CALL_AGAIN, ENVOY_CALL_FAILED };

/* What a call to the store came to. AGAIN: the files were replaced; work->set is the new one. */
enum envoy_call envoy_subject_after(struct envoy_work *work, enum status status);

/* The store's item of a subject that counts. */
struct store_item envoy_subject_item(const struct envoy_subject *subject);

/* Whole seconds, rounded up. */
int64_t envoy_subject_seconds(int64_t ns);
uint32_t envoy_subject_u32(uint64_t number);

#endif
