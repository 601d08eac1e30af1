/* The domain `sluice`: each descriptor is a request to the limits file. Private to envoy_*.c. */
#ifndef ENGINE_ENVOY_SLUICE_H
#define ENGINE_ENVOY_SLUICE_H

#include "engine/envoy_subject.h"

/* work->request was checked. False: *work->error says why there is no answer. */
bool envoy_sluice_decide(struct envoy_work *work, bool classic);

#endif
