/* The time-outs of a worker's connections: one timer looks at all of them, and runs only while one
 * has a deadline, so that a request costs no timer and an idle daemon sleeps. */
#ifndef NET_CONN_DEADLINE_H
#define NET_CONN_DEADLINE_H

#include "net/conn.h"

void conn_deadline_init(struct conn_home *home);
/* The loop has to run once more to close the timer. */
void conn_deadline_deinit(struct conn_home *home);

/* A connection has got a deadline. */
void conn_deadline_watch(struct conn_home *home);

#endif
