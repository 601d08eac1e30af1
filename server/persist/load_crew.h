/* A few threads for work that comes in many equal jobs. Private to persistence. */
#ifndef PERSIST_LOAD_CREW_H
#define PERSIST_LOAD_CREW_H

#include "base/status.h"

#include <stdint.h>

#define LOAD_CREW_WORKERS 8u /* at most */

/* Does job number `job`; `worker` is below load_crew_size. */
typedef enum status load_crew_job(void *context, uint32_t worker, uint32_t job);

/* How many threads are worth it. */
uint32_t load_crew_size(uint32_t jobs);

/* Does all jobs, in any order; stops at the first that does not return STATUS_OK, and returns
 * what that returned. */
STATUS_CHECKED enum status load_crew_run(uint32_t jobs, load_crew_job *job, void *context);

#endif
