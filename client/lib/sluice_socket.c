#include "sluice_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define RECEIVE_BYTES 16384u
#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

int64_t sluice_socket_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* SLUICE_OK: one of `events`, or an error for the next call to report, is there. */
static enum sluice_status wait_for(int fd, short events, int64_t deadline_ns)
{
    for (;;) {
        int64_t left = deadline_ns - sluice_socket_now_ns();
        if (left <= 0) {
            return SLUICE_TIMEOUT;
        }
        const struct timespec pause = {left / NS_PER_S, left % NS_PER_S};
        struct pollfd watch = {.fd = fd, .events = events};
        int ready = ppoll(&watch, 1, &pause, NULL);
        if (ready > 0) {
            return SLUICE_OK;
        }
        if (ready < 0 && errno != EINTR) {
            return SLUICE_UNREACHABLE;
        }
    }
}

static enum sluice_status finish_connect(int fd, int64_t deadline_ns)
{
    int error = 0;
    socklen_t size = sizeof error;
    enum sluice_status status = wait_for(fd, POLLOUT, deadline_ns);
    if (status != SLUICE_OK) {
        return status;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        return SLUICE_UNREACHABLE;
    }
    errno = error;
    return error == 0 ? SLUICE_OK : SLUICE_UNREACHABLE;
}

/* A Unix socket whose queue of connections is full says EAGAIN and cannot be waited for. */
static enum sluice_status start_connect(int fd, const struct sockaddr *address, socklen_t size,
                                        int64_t deadline_ns)
{
    for (;;) {
        if (connect(fd, address, size) == 0) {
            return SLUICE_OK;
        }
        if (errno == EINPROGRESS || errno == EINTR) {
            return finish_connect(fd, deadline_ns);
        }
        if (errno != EAGAIN || address->sa_family != AF_UNIX) {
            return SLUICE_UNREACHABLE;
        }
        const struct timespec pause = {0, NS_PER_MS};
        if (sluice_socket_now_ns() + NS_PER_MS >= deadline_ns) {
            return SLUICE_TIMEOUT;
        }
        nanosleep(&pause, NULL);
    }
}

enum sluice_status sluice_socket_connect(const struct sockaddr *address, socklen_t size,
                                         int64_t deadline_ns, int *fd)
{
    int one = 1;
    int made = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0) {
        return SLUICE_UNREACHABLE;
    }
    if (address->sa_family != AF_UNIX) {
        /* Without it a question waits for the answer to the one before; not having it is no
         * reason to fail. */
        (void)setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    enum sluice_status status = start_connect(made, address, size, deadline_ns);
    if (status != SLUICE_OK) {
        int error = errno;
        close(made);
        errno = error;
        return status;
    }
    *fd = made;
    return SLUICE_OK;
}

enum sluice_status sluice_socket_connect_unix(const char *path, int64_t deadline_ns, int *fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(path);
    if (size >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return SLUICE_UNREACHABLE;
    }
    memcpy(address.sun_path, path, size + 1);
    return sluice_socket_connect((const struct sockaddr *)&address, sizeof address, deadline_ns,
                                 fd);
}

enum sluice_status sluice_socket_send(int fd, const uint8_t *data, size_t size,
                                      int64_t deadline_ns, size_t *sent)
{
    *sent = 0;
    while (*sent < size) {
        ssize_t written = send(fd, data + *sent, size - *sent, MSG_NOSIGNAL);
        if (written >= 0) {
            *sent += (size_t)written;
            continue;
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            return SLUICE_UNREACHABLE;
        }
        enum sluice_status status = wait_for(fd, POLLOUT, deadline_ns);
        if (status != SLUICE_OK) {
            return status;
        }
    }
    return SLUICE_OK;
}

enum sluice_status sluice_socket_receive(int fd, struct sluice_buffer *in, int64_t deadline_ns)
{
    for (;;) {
        enum sluice_status status = wait_for(fd, POLLIN, deadline_ns);
        if (status != SLUICE_OK) {
            return status;
        }
        if (!sluice_buffer_reserve(in, RECEIVE_BYTES)) {
            return SLUICE_NO_MEMORY;
        }
        ssize_t got = recv(fd, in->data + in->end, in->capacity - in->end, 0);
        if (got > 0) {
            in->end += (size_t)got;
            return SLUICE_OK;
        }
        if (got == 0) {
            errno = 0;
            return SLUICE_UNREACHABLE;
        }
        if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) {
            return SLUICE_UNREACHABLE;
        }
    }
}

bool sluice_socket_is_quiet(int fd)
{
    uint8_t byte;
    ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}
