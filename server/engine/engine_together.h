/* Several requests as one: all are charged or none is. What one gateway asks in one breath. */
#ifndef ENGINE_ENGINE_TOGETHER_H
#define ENGINE_ENGINE_TOGETHER_H

#include "engine/engine.h"

struct engine_together_answer {
    struct decision_row shown;        /* the request's own verdict, whatever the others say */
    const struct policy_limit *limit; /* the one shown, or NULL */
};

/* Decides and counts the plans made for ENGINE_DECIDE since engine_enter or engine_rewind; there
 * are no others. *allowed: none of them refuses. False: *error says why there is no answer. */
bool engine_together_decide(struct engine_worker *worker, struct engine_plan *plans,
                            uint32_t count, int64_t now_ns, bool *allowed,
                            struct engine_together_answer *answers, struct request_error *error);

#endif
