/* Why a request is answered as it is, in words: `sluice check --explain`. */
#ifndef ENGINE_EXPLAIN_H
#define ENGINE_EXPLAIN_H

#include "base/buf.h"
#include "engine/policy.h"

/* Appends a few lines for people: which entry of routes serves the request, then each of its
 * limits with the numbers in force, what chose them and what is counted. */
void explain_request(const struct policy_set *set, const struct request *request, int64_t now_ns,
                     struct buf *out);

#endif
