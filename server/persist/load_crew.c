#include "persist/load_crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct crew {
    load_crew_job *job;
    void *context;
    uint32_t jobs;
    atomic_uint next;
    atomic_int failed; /* a status; 0: none */
};

struct crew_worker {
    struct crew *crew;
    uint32_t index;
    pthread_t thread;
};

uint32_t load_crew_size(uint32_t jobs)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t size = cores < 1 ? 1 : cores > LOAD_CREW_WORKERS ? LOAD_CREW_WORKERS : (uint32_t)cores;
    return jobs < size ? (jobs == 0 ? 1 : jobs) : size;
}

static void *work(void *context)
{
    struct crew_worker *worker = context;
    struct crew *crew = worker->crew;
    while (atomic_load(&crew->failed) == 0) {
        uint32_t job = atomic_fetch_add(&crew->next, 1);
        if (job >= crew->jobs) {
            break;
        }
        enum status status = crew->job(crew->context, worker->index, job);
        if (status != STATUS_OK) {
            atomic_store(&crew->failed, (int)status);
        }
    }
    return NULL;
}

enum status load_crew_run(uint32_t jobs, load_crew_job *job, void *context)
{
    struct crew crew = {.job = job, .context = context, .jobs = jobs};
    struct crew_worker workers[LOAD_CREW_WORKERS];
    uint32_t size = load_crew_size(jobs);
    uint32_t started = 0;
    atomic_init(&crew.next, 0);
    atomic_init(&crew.failed, 0);
    for (uint32_t i = 0; i < size; i++) {
        workers[i] = (struct crew_worker){.crew = &crew, .index = i};
    }
    /* The first is this thread; fewer than asked for do the same work. */
    for (uint32_t i = 1; i < size; i++) {
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            break;
        }
        started = i;
    }
    (void)work(&workers[0]);
    for (uint32_t i = 1; i <= started; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    return (enum status)atomic_load(&crew.failed);
}
