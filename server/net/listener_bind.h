/* Binding an address: alone, as the first of two daemons that share a state directory, or beside
 * the first.
 *
 *   ALONE    nobody else may have the address
 *   FIRST    the same, but a successor may bind it too (SO_REUSEPORT)
 *   BESIDE   the one before still has it; from now on new connections come to either. A Unix
 *            socket's new file takes the place of the old one. */
#ifndef NET_LISTENER_BIND_H
#define NET_LISTENER_BIND_H

#include "net/address.h"

enum listener_manner { LISTENER_ALONE, LISTENER_FIRST, LISTENER_BESIDE };

/* The file of a Unix socket, to be removed by the one that made it. */
struct listener_bind_file {
    bool owned;
    bool displaced; /* another daemon's was there: it is kept aside until this one takes over */
    uint64_t device;
    uint64_t inode;
};

/* A bound and listening socket in *fd. On failure *why is one phrase: "port in use". */
STATUS_CHECKED enum status listener_bind_open(const struct address *address,
                                              enum listener_manner manner, int *fd,
                                              struct listener_bind_file *file, const char **why);

/* The daemon before has left: its file is not needed any more. */
void listener_bind_settle(const struct address *address, struct listener_bind_file *file);
/* Removes the file, unless another stands in its place; what it displaced comes back. */
void listener_bind_unlink(const struct address *address, struct listener_bind_file *file);

/* From now on new connections go to the socket beside this one, where there is one. */
void listener_bind_turn_away(int fd);

/* The phrase for an errno. */
enum status listener_bind_fail(const char **why, int number);

#endif
