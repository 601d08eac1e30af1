/* What policy.h leaves out of the matching: which override decided, for explanations. */
#ifndef ENGINE_POLICY_MATCH_H
#define ENGINE_POLICY_MATCH_H

#include "engine/policy.h"

/* The override that decides for this request at now_ns, or NULL. */
const struct policy_override *policy_match_override(const struct policy_limit *limit,
                                                    const struct request *request,
                                                    struct slice route, int64_t now_ns);

#endif
