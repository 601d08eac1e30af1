/* Listening is done on plain sockets, watched by the main loop: a busy port is known at once, and
 * an accepted socket can go to any worker's loop. */
#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Connections accepted in a row before the loop sees to its timers. */
#define LISTENER_ACCEPTS 256

enum status listener_open(struct listener *listener, const struct wire_protocol *protocol,
                          const struct address *address, enum listener_manner manner,
                          struct inherit *inherit, const char **why)
{
    *listener = (struct listener){.protocol = protocol,
                                  .admin = protocol->metrics == METRICS_ADMIN,
                                  .fd = -1,
                                  .spare_fd = -1};
    listener->fd = inherit_take(inherit, protocol->name, address);
    if (listener->fd < 0) {
        enum status status =
            listener_bind_open(address, manner, &listener->fd, &listener->file, why);
        if (status != STATUS_OK) {
            return status;
        }
    }
    if (listener->file.owned) {
        listener->address = *address; /* the socket may have been bound under another name */
    } else if (!inherit_local_address(listener->fd, &listener->address)) {
        return listener_bind_fail(why, errno);
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
    if (listener->tls == NULL || listener->address.is_unix) {
        listener->protocol->refuse(&out);
    }
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
    if (listener->tls != NULL && !socket.is_unix) {
        socket.tls = tls_context(listener->tls);
    }
    if (!worker_pool_take(listener->pool, &socket)) {
        tls_release(socket.tls);
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

void listener_settle(struct listener *listener)
{
    listener_bind_settle(&listener->address, &listener->file);
}

void listener_turn_away(struct listener *listener)
{
    if (listener->started && !listener->address.is_unix) {
        listener_bind_turn_away(listener->fd);
    }
}

void listener_drain(struct listener *listener)
{
    while (listener->started && listener_accept(listener)) {
    }
}

void listener_close(struct listener *listener)
{
    if (listener->started) {
        uv_close((uv_handle_t *)&listener->poll, NULL);
        listener->started = false;
    }
    listener_bind_unlink(&listener->address, &listener->file);
    if (listener->fd >= 0) {
        close(listener->fd);
        listener->fd = -1;
    }
    if (listener->spare_fd >= 0) {
        close(listener->spare_fd);
        listener->spare_fd = -1;
    }
}
