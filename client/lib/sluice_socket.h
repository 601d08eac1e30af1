/* A stream socket whose every wait ends at a deadline. */
#ifndef SLUICE_SOCKET_H
#define SLUICE_SOCKET_H

#include "sluice.h"
#include "sluice_buffer.h"

#include <sys/socket.h>

/* Monotonic nanoseconds: what deadlines are counted in. */
int64_t sluice_socket_now_ns(void);

/* SLUICE_OK: *fd is connected. SLUICE_TIMEOUT, or SLUICE_UNREACHABLE with errno set. */
enum sluice_status sluice_socket_connect(const struct sockaddr *address, socklen_t size,
                                         int64_t deadline_ns, int *fd);
enum sluice_status sluice_socket_connect_unix(const char *path, int64_t deadline_ns, int *fd);

/* Sends all of it. *sent says how much went out when it fails (errno set unless a time-out). */
enum sluice_status sluice_socket_send(int fd, const uint8_t *data, size_t size,
                                      int64_t deadline_ns, size_t *sent);

/* Waits for bytes and appends what is there. SLUICE_UNREACHABLE with errno 0: the peer closed. */
enum sluice_status sluice_socket_receive(int fd, struct sluice_buffer *in, int64_t deadline_ns);

/* Nothing has come in, and the peer has not closed. */
bool sluice_socket_is_quiet(int fd);

#endif
