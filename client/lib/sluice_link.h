/* One connection to a daemon on a libuv loop: made when it is wanted, frames out, frames in. */
#ifndef SLUICE_LINK_H
#define SLUICE_LINK_H

#include "sluice_buffer.h"
#include "sluice_decode.h"
#include "sluice_url.h"

#include <uv.h>

struct sluice_link_socket;
struct sluice_link_lookup;

/* Told by the loop, never from inside a call to the link. */
struct sluice_link_events {
    /* False: the frame is no answer; the link goes down with SLUICE_PROTOCOL. */
    bool (*frame)(void *owner, const struct sluice_decode_frame *frame);
    /* There is no connection (any more); what was to be sent is forgotten. */
    void (*down)(void *owner, enum sluice_status status, const char *message);
    void (*closed)(void *owner);
};

struct sluice_link {
    uv_loop_t *loop;
    struct sluice_url url;
    const struct sluice_link_events *events;
    void *owner;
    struct sluice_link_socket *socket; /* NULL: down, or still looking the host up */
    struct sluice_link_lookup *lookup; /* NULL: not looking up */
    bool connected;
    bool closing;
    struct addrinfo *addresses; /* that are left to try */
    struct addrinfo *address;
    uv_prepare_t flush; /* before the loop waits, all that was asked meanwhile goes out at once */
    struct sluice_buffer out;
    struct sluice_buffer in;
    int64_t heard_ns; /* when bytes came last */
};

/* False: the loop does not take it. */
bool sluice_link_init(struct sluice_link *link, uv_loop_t *loop, const struct sluice_url *url,
                      const struct sluice_link_events *events, void *owner);

/* Not connected, and nothing is being done about it. */
static inline bool sluice_link_is_idle(const struct sluice_link *link)
{
    return link->socket == NULL && link->lookup == NULL;
}

/* Begins to connect when it is down; `out` is sent once connected. */
void sluice_link_want(struct sluice_link *link);

/* Down at once, without an event. */
void sluice_link_drop(struct sluice_link *link);

/* Down for good; events->closed comes when the link's memory may go. */
void sluice_link_close(struct sluice_link *link);

#endif
