/* From the rows of a plan and the store's verdicts to the answer and its counts. Private to the
 * engine. */
#ifndef ENGINE_ENGINE_ANSWER_H
#define ENGINE_ENGINE_ANSWER_H

#include "engine/engine_plan.h"

/* Fills *decision from the plan's rows and the items that the store has filled. Returns the row
 * under whose limit the request counts; NULL where the answer names none. */
const struct engine_row *engine_answer_make(const struct engine_scratch *scratch,
                                            const struct engine_plan *plan, int64_t now_ns,
                                            struct decision *decision);

/* Both at once, for a plain plan whose limit has admitted the request, nothing evicted, no details.
 * False: it is not so. */
bool engine_answer_plain(struct metrics_worker *metrics, const struct engine_scratch *scratch,
                         const struct engine_plan *plan, struct decision *decision);

/* Counts a decision as README's "Metrics" says; `shown` as engine_answer_make returned it. */
void engine_answer_count(struct metrics_worker *metrics, const struct engine_scratch *scratch,
                         const struct engine_plan *plan, const struct engine_row *shown,
                         const struct decision *decision);

#endif
