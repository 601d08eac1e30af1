/* A policy set together with what the engine keeps beside it. Private to the engine. */
#ifndef ENGINE_ENGINE_SET_H
#define ENGINE_ENGINE_SET_H

#include "engine/engine_plan.h"

/* Takes `policies` over; NULL (nothing taken): no memory. */
struct engine_set *engine_set_create(struct policy_set *policies, uint64_t sequence);
void engine_set_destroy(struct engine_set **set);

#endif
