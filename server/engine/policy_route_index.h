/* Which entry of `routes` serves a request, without looking at all of them.
 *
 *   exact entries           one table, by the whole route
 *   patterns  PREFIX*...    grouped by PREFIX; tried from the longest prefix that the request
 *                           begins with; in a group
 *             PREFIX*SUFFIX   by SUFFIX, from the longest that the request ends with
 *             more stars      one after another, the longest first
 */
#ifndef ENGINE_POLICY_ROUTE_INDEX_H
#define ENGINE_POLICY_ROUTE_INDEX_H

#include "engine/policy.h"

STATUS_CHECKED enum status policy_route_index_build(struct policy_set *set);

const struct policy_route *policy_route_index_find(const struct policy_set *set,
                                                   struct slice route);

#endif
