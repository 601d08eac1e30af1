/* An answer as one line of JSON, as the HTTP API spells it but exact to the nanosecond. */
#ifndef SIMULATE_ANSWER_H
#define SIMULATE_ANSWER_H

#include "simulate.h"

/* Appends the line, \n included. */
void simulate_answer_append(struct buf *out, const struct traffic_item *item,
                            const struct simulate_answer *answer, bool details);

#endif
