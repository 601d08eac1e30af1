#include "sluice_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES (64u * 1024)
#define MESSAGE_BYTES 320

/* A socket outlives its link's interest in it: libuv gives its memory back later. `link` is NULL
 * from the moment it is dropped. */
struct sluice_link_socket {
    union {
        uv_tcp_t tcp;
        uv_pipe_t pipe;
        uv_stream_t stream;
        uv_handle_t handle;
    } as;
    struct sluice_link *link;
    uv_connect_t connect;
    uv_write_t write;
    bool writing;
    struct sluice_buffer leaving; /* what uv_write holds */
};

struct sluice_link_lookup {
    uv_getaddrinfo_t request;
    struct sluice_link *link; /* NULL: nobody waits for it any more */
};

static void flush(struct sluice_link *link);

static void on_socket_closed(uv_handle_t *handle)
{
    struct sluice_link_socket *socket = handle->data;
    sluice_buffer_deinit(&socket->leaving);
    free(socket);
}

static void drop_socket(struct sluice_link *link)
{
    if (link->socket != NULL) {
        link->socket->link = NULL;
        uv_close(&link->socket->as.handle, on_socket_closed);
        link->socket = NULL;
    }
    link->connected = false;
}

void sluice_link_drop(struct sluice_link *link)
{
    drop_socket(link);
    if (link->lookup != NULL) {
        link->lookup->link = NULL;
        (void)uv_cancel((uv_req_t *)&link->lookup->request);
        link->lookup = NULL;
    }
    if (link->addresses != NULL) {
        uv_freeaddrinfo(link->addresses);
        link->addresses = link->address = NULL;
    }
    (void)uv_prepare_stop(&link->flush);
    sluice_buffer_clear(&link->out);
    sluice_buffer_clear(&link->in);
}

static void go_down(struct sluice_link *link, enum sluice_status status, const char *what,
                    const char *why)
{
    char message[MESSAGE_BYTES];
    (void)snprintf(message, sizeof message, "%s: %s", what, why);
    sluice_link_drop(link);
    link->events->down(link->owner, status, message);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct sluice_link_socket *socket = handle->data;
    (void)suggested;
    *room = uv_buf_init(NULL, 0);
    if (socket->link != NULL && sluice_buffer_reserve(&socket->link->in, READ_BYTES)) {
        struct sluice_buffer *in = &socket->link->in;
        *room = uv_buf_init((char *)in->data + in->end, READ_BYTES);
    }
}

/* The owner's callbacks may drop or close the link: `socket->link` tells. */
static void take_frames(struct sluice_link_socket *socket)
{
    while (socket->link != NULL) {
        struct sluice_link *link = socket->link;
        struct sluice_decode_view bytes;
        struct sluice_decode_frame frame;
        size_t consumed = 0;
        enum sluice_decode_result found = sluice_decode_next(
            link->in.data + link->in.start, sluice_buffer_size(&link->in), &bytes, &consumed);
        if (found == SLUICE_DECODE_MORE) {
            return;
        }
        if (found != SLUICE_DECODE_OK || !sluice_decode_frame(bytes, &frame) ||
            !link->events->frame(link->owner, &frame)) {
            if (socket->link != NULL) {
                go_down(link, SLUICE_PROTOCOL, "the connection was given up",
                        "the server does not speak Sluice's protocol");
            }
            return;
        }
        if (socket->link != NULL) {
            sluice_buffer_consume(&link->in, consumed);
        }
    }
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *room)
{
    struct sluice_link_socket *socket = stream->data;
    (void)room;
    if (socket->link == NULL || size == 0) {
        return;
    }
    if (size < 0) {
        go_down(socket->link, SLUICE_UNREACHABLE, "the connection ended before the answer",
                size == UV_EOF ? "the daemon closed it" : uv_strerror((int)size));
        return;
    }
    socket->link->in.end += (size_t)size;
    socket->link->heard_ns = (int64_t)uv_hrtime();
    take_frames(socket);
}

static void on_written(uv_write_t *write, int status)
{
    struct sluice_link_socket *socket = write->data;
    socket->writing = false;
    sluice_buffer_clear(&socket->leaving);
    if (socket->link != NULL && status < 0) {
        go_down(socket->link, SLUICE_UNREACHABLE, "the connection ended", uv_strerror(status));
    } else if (socket->link != NULL) {
        flush(socket->link);
    }
}

/* What the socket does not take now moves to a buffer of its own, so that more can be appended. */
static int write_rest(struct sluice_link_socket *socket)
{
    struct sluice_buffer swap = socket->leaving;
    socket->leaving = socket->link->out;
    socket->link->out = swap;
    socket->write.data = socket;
    uv_buf_t rest = uv_buf_init((char *)socket->leaving.data + socket->leaving.start,
                                (unsigned)sluice_buffer_size(&socket->leaving));
    int error = uv_write(&socket->write, &socket->as.stream, &rest, 1, on_written);
    socket->writing = error == 0;
    return error;
}

static void flush(struct sluice_link *link)
{
    struct sluice_link_socket *socket = link->socket;
    size_t size = sluice_buffer_size(&link->out);
    if (!link->connected || socket->writing || size == 0) {
        return;
    }
    uv_buf_t all = uv_buf_init((char *)link->out.data + link->out.start, (unsigned)size);
    int written = uv_try_write(&socket->as.stream, &all, 1);
    if (written > 0) {
        sluice_buffer_consume(&link->out, (size_t)written);
    }
    if (sluice_buffer_size(&link->out) > 0) {
        int error = write_rest(socket);
        if (error != 0) {
            go_down(link, SLUICE_UNREACHABLE, "the connection ended", uv_strerror(error));
        }
    }
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct sluice_link *link = prepare->data;
    (void)uv_prepare_stop(prepare);
    flush(link);
}

static void connect_next(struct sluice_link *link, const char *why);

static void on_connected(uv_connect_t *connect, int status)
{
    struct sluice_link_socket *socket = connect->data;
    struct sluice_link *link = socket->link;
    if (link == NULL) {
        return;
    }
    if (status == 0) {
        status = uv_read_start(&socket->as.stream, on_room, on_read);
    }
    if (status < 0) {
        drop_socket(link);
        connect_next(link, uv_strerror(status));
        return;
    }
    link->connected = true;
    link->heard_ns = (int64_t)uv_hrtime();
    flush(link);
}

static struct sluice_link_socket *make_socket(struct sluice_link *link)
{
    struct sluice_link_socket *socket = calloc(1, sizeof *socket);
    if (socket == NULL) {
        return NULL;
    }
    if (link->url.is_unix) {
        (void)uv_pipe_init(link->loop, &socket->as.pipe, 0);
    } else if (uv_tcp_init(link->loop, &socket->as.tcp) != 0) {
        free(socket);
        return NULL;
    }
    socket->as.handle.data = socket;
    socket->link = link;
    socket->connect.data = socket;
    link->socket = socket;
    return socket;
}

/* Tries the next address, until one connects or none is left; `why` is what the one before said. */
static void connect_next(struct sluice_link *link, const char *why)
{
    while (link->address != NULL) {
        const struct addrinfo *address = link->address;
        struct sluice_link_socket *socket = make_socket(link);
        link->address = address->ai_next;
        if (socket == NULL) {
            why = "out of memory";
            break;
        }
        int error = uv_tcp_connect(&socket->connect, &socket->as.tcp, address->ai_addr,
                                   on_connected);
        if (error == 0) {
            (void)uv_tcp_nodelay(&socket->as.tcp, 1);
            return;
        }
        why = uv_strerror(error);
        drop_socket(link);
    }
    go_down(link, SLUICE_UNREACHABLE, "cannot connect", why);
}

static void on_looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *addresses)
{
    struct sluice_link_lookup *lookup = request->data;
    struct sluice_link *link = lookup->link;
    free(lookup);
    if (link == NULL) {
        uv_freeaddrinfo(addresses);
        return;
    }
    link->lookup = NULL;
    if (status != 0) {
        go_down(link, SLUICE_UNREACHABLE, "the host cannot be looked up", uv_strerror(status));
        return;
    }
    link->addresses = link->address = addresses;
    connect_next(link, "it has no address");
}

static bool look_up(struct sluice_link *link)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct sluice_link_lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL) {
        return false;
    }
    lookup->link = link;
    lookup->request.data = lookup;
    if (uv_getaddrinfo(link->loop, &lookup->request, on_looked_up, link->url.host,
                       link->url.port, &hints) != 0) {
        free(lookup);
        return false;
    }
    link->lookup = lookup;
    return true;
}

bool sluice_link_init(struct sluice_link *link, uv_loop_t *loop, const struct sluice_url *url,
                      const struct sluice_link_events *events, void *owner)
{
    *link = (struct sluice_link){.loop = loop, .url = *url, .events = events, .owner = owner};
    link->flush.data = link;
    return uv_prepare_init(loop, &link->flush) == 0;
}

void sluice_link_want(struct sluice_link *link)
{
    if (link->connected && !uv_is_active((const uv_handle_t *)&link->flush)) {
        (void)uv_prepare_start(&link->flush, on_prepare);
    }
    if (link->socket != NULL || link->lookup != NULL) {
        return;
    }
    if (link->url.is_unix) {
        struct sluice_link_socket *socket = make_socket(link);
        if (socket != NULL) {
            uv_pipe_connect(&socket->connect, &socket->as.pipe, link->url.path, on_connected);
        }
        return;
    }
    /* Without memory the questions run into their time-out, and the next one tries again. */
    (void)look_up(link);
}

static void on_prepare_closed(uv_handle_t *handle)
{
    struct sluice_link *link = handle->data;
    sluice_buffer_deinit(&link->out);
    sluice_buffer_deinit(&link->in);
    link->events->closed(link->owner);
}

void sluice_link_close(struct sluice_link *link)
{
    sluice_link_drop(link);
    link->closing = true;
    uv_close((uv_handle_t *)&link->flush, on_prepare_closed);
}
