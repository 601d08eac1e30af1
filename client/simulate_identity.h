/* Who a limit counted: the parts of `count_by` of one request. */
#ifndef SIMULATE_IDENTITY_H
#define SIMULATE_IDENTITY_H

#include "base/buf.h"
#include "engine/policy.h"

/* The parts, kept apart by their lengths; an address folded as the limit folds it. */
void simulate_identity_bytes(const struct policy_limit *limit, const struct request *request,
                             struct slice route, struct buf *out);
/* The same for people: "alice", "198.18.0.0/16", "alice POST /login", "everybody". */
void simulate_identity_label(const struct policy_limit *limit, const struct request *request,
                             struct slice route, struct buf *out);

#endif
