/* All that the daemon listens on: one listener a --listen, from binding to handing over. */
#ifndef PORTS_H
#define PORTS_H

#include "config.h"
#include "net/listener.h"
#include "secrets.h"
#include "state.h"

struct ports {
    struct inherit inherit; /* sockets that were handed to the process */
    struct listener listeners[CONFIG_LISTENS];
    uint32_t count; /* open */
};

/* Binds them: alone, or beside the daemon that this one takes over from. Failures are told on
 * stderr. */
STATUS_CHECKED enum status ports_open(struct ports *ports, const struct config *config,
                                      const struct state *state);
/* The daemon before has left: they are this one's alone. */
void ports_settle(struct ports *ports);
/* Hands what arrives to the workers. */
STATUS_CHECKED enum status ports_start(struct ports *ports, uv_loop_t *loop,
                                       struct worker_pool *workers,
                                       struct metrics_worker *metrics,
                                       const struct secrets *secrets);

bool ports_have_admin(const struct ports *ports);
/* Can another machine reach one of them? */
bool ports_are_public(const struct ports *ports);
/* One line each to stdout, in the order of --listen. */
void ports_say(const struct ports *ports);

/* Another daemon listens beside this one. Who was on the way here while connections were turned to
 * it is still taken, and gets the time to ask. */
void ports_hand_over(struct ports *ports);
/* The loop has to run once more. */
void ports_close(struct ports *ports);

#endif
