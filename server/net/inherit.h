/* Sockets that systemd opened for us (socket activation: LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES).
 * A listener takes the one that is bound to its address or, failing that, one whose name is its
 * protocol (FileDescriptorName=native). */
#ifndef NET_INHERIT_H
#define NET_INHERIT_H

#include "net/address.h"

struct inherit {
    char *names; /* "native:admin", as handed over; may be NULL */
    int first;   /* the sockets are first … first + count - 1 */
    uint32_t count;
    bool *taken;
};

/* Reads and clears the environment; nothing handed over is no error. */
STATUS_CHECKED enum status inherit_init(struct inherit *inherit);
/* Closes what nobody took and returns how many those were. */
uint32_t inherit_deinit(struct inherit *inherit);

/* The socket for a listener, now the caller's, or -1. */
int inherit_take(struct inherit *inherit, const char *name, const struct address *address);

/* The address a socket is bound to. */
bool inherit_local_address(int fd, struct address *out);

#endif
