/* What engine.c needs of reloads. Private to the engine. */
#ifndef ENGINE_ENGINE_RELOAD_H
#define ENGINE_ENGINE_RELOAD_H

#include "engine/engine_state.h"

/* Frees what nobody needs any more: the change once it is applied, then old sets. */
void engine_reload_reclaim(struct engine *engine);

/* At the end: frees the change and all sets but the newest, whoever refers to them. */
void engine_reload_finish(struct engine *engine);

#endif
