/* Listening is done on plain sockets, watched by the main loop: a busy port is known at once, and
 * an accepted socket can go to any worker's loop. */
#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LISTENER_BACKLOG 4096
/* Connections accepted in a row before the loop sees to its timers. */
#define LISTENER_ACCEPTS 256

static enum status listener_fail(const char **why, int number)
{
    switch (number) {
    case EADDRINUSE:
        *why = "port in use";
        return STATUS_UNAVAILABLE;
    case EADDRNOTAVAIL:
        *why = "not an address of this machine";
        return STATUS_IO;
    default:
        *why = strerror(number);
        return STATUS_IO;
    }
}

static int listener_socket(const struct address *address)
{
    int fd = socket(address->bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd >= 0 && !address->is_unix) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    }
    return fd;
}

static int listener_bind_fd(int fd, const struct address *address)
{
    return bind(fd, (const struct sockaddr *)&address->bytes, address->size);
}

/* A socket file that nobody listens on is a left-over; anything else at the path is not ours. */
static bool listener_remove_stale(const struct address *address, const char **why)
{
    const char *path = ((const struct sockaddr_un *)&address->bytes)->sun_path;
    struct stat about;
    if (lstat(path, &about) != 0 || !S_ISSOCK(about.st_mode)) {
        *why = "the path exists and is not a socket";
        return false;
    }
    int probe = listener_socket(address);
    bool stale = probe >= 0 &&
                 connect(probe, (const struct sockaddr *)&address->bytes, address->size) != 0 &&
                 errno == ECONNREFUSED;
    if (probe >= 0) {
        close(probe);
    }
    if (!stale) {
        *why = "socket in use";
        return false;
    }
    return unlink(path) == 0;
}

static enum status listener_bind(struct listener *listener, const struct address *address,
                                 const char **why)
{
    int fd = listener_socket(address);
    if (fd < 0) {
        return listener_fail(why, errno);
    }
    int failed = listener_bind_fd(fd, address);
    if (failed != 0 && errno == EADDRINUSE && address->is_unix) {
        if (!listener_remove_stale(address, why)) {
            close(fd);
            return STATUS_UNAVAILABLE;
        }
        failed = listener_bind_fd(fd, address);
    }
    if (failed == 0 && address->is_unix) {
        listener->owns_path = true;
        /* Owner and group: who may ask is a matter of the file's group. */
        (void)chmod(((const struct sockaddr_un *)&address->bytes)->sun_path, 0660);
    }
    if (failed != 0 || listen(fd, LISTENER_BACKLOG) != 0) {
        int number = errno;
        close(fd);
        return listener_fail(why, number);
    }
    listener->fd = fd;
    return STATUS_OK;
}

enum status listener_open(struct listener *listener, const struct wire_protocol *protocol,
                          const struct address *address, struct inherit *inherit,
                          const char **why)
{
    *listener = (struct listener){.protocol = protocol,
                                  .admin = protocol->metrics == METRICS_ADMIN,
                                  .fd = -1,
                                  .spare_fd = -1};
    listener->fd = inherit_take(inherit, protocol->name, address);
    if (listener->fd < 0) {
        enum status status = listener_bind(listener, address, why);
        if (status != STATUS_OK) {
            return status;
        }
    }
    if (!inherit_local_address(listener->fd, &listener->address)) {
        return listener_fail(why, errno);
    }
    listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return STATUS_OK;
}

enum status listener_share(struct listener *listener, const struct wire_protocol *protocol,
                           const struct listener *owner)
{
    *listener = (struct listener){.protocol = protocol,
                                  .fd = -1,
                                  .spare_fd = -1,
                                  .shared = true,
                                  .address = owner->address};
    return STATUS_OK;
}

/* Says why not, as far as the socket takes it at once, and closes. What the peer has already sent
 * is read first: closing over unread bytes would take the answer back. */
static void listener_refuse(struct listener *listener, int fd)
{
    struct buf out;
    uint8_t unread[4096];
    buf_init(&out, 0);
    listener->protocol->refuse(&out);
    (void)recv(fd, unread, sizeof(unread), MSG_DONTWAIT);
    if (out.size > 0) {
        (void)send(fd, out.data + out.start, out.size, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    (void)shutdown(fd, SHUT_WR);
    close(fd);
    buf_deinit(&out);
    metrics_connection_refused(listener->metrics, listener->protocol->metrics);
}

/* No descriptor is left: without this the peer would hang in the queue and the loop would spin. */
static bool listener_accept_without_room(struct listener *listener)
{
    if (listener->spare_fd < 0) {
        return false;
    }
    close(listener->spare_fd);
    int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        listener_refuse(listener, fd);
    }
    listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

/* False: nobody is waiting any more. */
static bool listener_accept(struct listener *listener)
{
    struct address peer = {.size = sizeof(peer.bytes)};
    int fd = accept4(listener->fd, (struct sockaddr *)&peer.bytes, &peer.size,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) {
            return listener_accept_without_room(listener);
        }
        return errno == ECONNABORTED || errno == EINTR;
    }
    struct conn_socket socket = {
        .fd = fd,
        .is_unix = listener->address.is_unix,
        .protocol = listener->protocol,
        .peer = {.local = listener->address.is_unix || address_is_local(&peer),
                 .admin = listener->admin}};
    if (!worker_pool_take(listener->pool, &socket)) {
        listener_refuse(listener, fd);
    }
    return true;
}

static void listener_ready(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    (void)events;
    for (unsigned i = 0; status == 0 && i < LISTENER_ACCEPTS; i++) {
        if (!listener_accept(listener)) {
            return;
        }
    }
}

enum status listener_start(struct listener *listener, uv_loop_t *loop, struct worker_pool *pool,
                           struct metrics_worker *metrics)
{
    if (listener->shared) {
        return STATUS_OK;
    }
    listener->pool = pool;
    listener->metrics = metrics;
    listener->poll.data = listener;
    if (uv_poll_init(loop, &listener->poll, listener->fd) != 0) {
        return STATUS_IO;
    }
    listener->started = true;
    return uv_poll_start(&listener->poll, UV_READABLE, listener_ready) == 0 ? STATUS_OK
                                                                            : STATUS_IO;
}

void listener_close(struct listener *listener)
{
    if (listener->started) {
        uv_close((uv_handle_t *)&listener->poll, NULL);
        listener->started = false;
    }
    if (listener->owns_path) {
        (void)unlink(((const struct sockaddr_un *)&listener->address.bytes)->sun_path);
        listener->owns_path = false;
    }
    if (listener->fd >= 0) {
        close(listener->fd);
        listener->fd = -1;
    }
    if (listener->spare_fd >= 0) {
        close(listener->spare_fd);
        listener->spare_fd = -1;
    }
}
