#include "sluice_resolve.h"

#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Held by the asker and by the thread; the last one to let go frees it. */
struct sluice_resolve {
    pthread_mutex_t lock;
    pthread_cond_t finished;
    unsigned holders; /* under lock, as is all below */
    bool done;
    int error; /* of getaddrinfo */
    struct sluice_resolve_addresses found;
    char *host; /* the thread's alone */
    char *port;
};

static void take(const struct addrinfo *from, struct sluice_resolve_addresses *out)
{
    out->count = 0;
    for (; from != NULL && out->count < SLUICE_RESOLVE_ADDRESSES_MAX; from = from->ai_next) {
        memcpy(&out->list[out->count].storage, from->ai_addr, from->ai_addrlen);
        out->list[out->count++].size = from->ai_addrlen;
    }
}

static int look_up(const char *host, const char *port, int flags,
                   struct sluice_resolve_addresses *out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(host, port, &hints, &found);
    if (error == 0) {
        take(found, out);
        freeaddrinfo(found);
    }
    return error;
}

bool sluice_resolve_numeric(const char *host, const char *port,
                            struct sluice_resolve_addresses *out)
{
    return look_up(host, port, AI_NUMERICHOST, out) == 0;
}

static void let_go(struct sluice_resolve *lookup)
{
    pthread_mutex_lock(&lookup->lock);
    unsigned left = --lookup->holders;
    pthread_mutex_unlock(&lookup->lock);
    if (left > 0) {
        return;
    }
    pthread_cond_destroy(&lookup->finished);
    pthread_mutex_destroy(&lookup->lock);
    free(lookup->host);
    free(lookup->port);
    free(lookup);
}

static void *run(void *argument)
{
    struct sluice_resolve *lookup = argument;
    struct sluice_resolve_addresses found = {.count = 0};
    int error = look_up(lookup->host, lookup->port, 0, &found);
    pthread_mutex_lock(&lookup->lock);
    lookup->found = found;
    lookup->error = error;
    lookup->done = true;
    pthread_cond_signal(&lookup->finished);
    pthread_mutex_unlock(&lookup->lock);
    let_go(lookup);
    return NULL;
}

static bool start_thread(struct sluice_resolve *lookup)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &attributes, run, lookup) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

struct sluice_resolve *sluice_resolve_begin(const char *host, const char *port)
{
    struct sluice_resolve *lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL) {
        return NULL;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&lookup->finished, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&lookup->lock, NULL);
    lookup->host = strdup(host);
    lookup->port = strdup(port);
    lookup->holders = 2;
    if (lookup->host == NULL || lookup->port == NULL || !start_thread(lookup)) {
        lookup->holders = 1;
        let_go(lookup);
        return NULL;
    }
    return lookup;
}

enum sluice_status sluice_resolve_wait(struct sluice_resolve *lookup, int64_t deadline_ns,
                                       struct sluice_resolve_addresses *out, const char **why)
{
    const struct timespec until = {deadline_ns / 1000000000, deadline_ns % 1000000000};
    enum sluice_status status = SLUICE_TIMEOUT;
    int waited = 0;
    pthread_mutex_lock(&lookup->lock);
    while (!lookup->done && waited == 0) {
        waited = pthread_cond_timedwait(&lookup->finished, &lookup->lock, &until);
    }
    if (lookup->done && lookup->error == 0 && lookup->found.count > 0) {
        *out = lookup->found;
        status = SLUICE_OK;
    } else if (lookup->done) {
        *why = lookup->error == 0 ? "it has no address" : gai_strerror(lookup->error);
        status = SLUICE_UNREACHABLE;
    }
    pthread_mutex_unlock(&lookup->lock);
    return status;
}

void sluice_resolve_drop(struct sluice_resolve **lookup)
{
    if (*lookup != NULL) {
        let_go(*lookup);
        *lookup = NULL;
    }
}
