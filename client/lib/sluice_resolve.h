/* Looks a host up without making its caller wait longer than it wants to: the system's resolver
 * knows no time-out of ours, so it works in a thread of its own, and a lookup that is late goes on
 * while the caller has long answered. */
#ifndef SLUICE_RESOLVE_H
#define SLUICE_RESOLVE_H

#include "sluice.h"

#include <sys/socket.h>

#define SLUICE_RESOLVE_ADDRESSES_MAX 8

struct sluice_resolve_addresses {
    struct {
        struct sockaddr_storage storage;
        socklen_t size;
    } list[SLUICE_RESOLVE_ADDRESSES_MAX];
    size_t count;
};

/* An address in digits, at once. False: a name. */
bool sluice_resolve_numeric(const char *host, const char *port,
                            struct sluice_resolve_addresses *out);

struct sluice_resolve;

/* NULL: no memory, no thread. */
struct sluice_resolve *sluice_resolve_begin(const char *host, const char *port);

/* SLUICE_OK: *out is filled. SLUICE_TIMEOUT: not yet; wait again or drop it. SLUICE_UNREACHABLE:
 * there is no such host, and *why says what the resolver said. */
enum sluice_status sluice_resolve_wait(struct sluice_resolve *lookup, int64_t deadline_ns,
                                       struct sluice_resolve_addresses *out, const char **why);

/* Forgets the lookup, finished or not. */
void sluice_resolve_drop(struct sluice_resolve **lookup);

#endif
