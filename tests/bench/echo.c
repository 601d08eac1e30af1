/* The yardstick: a libuv server that sends back whatever it reads, in one try-write a read.
 * Nothing a rate limiter does is in it, so the ratio to it says what deciding costs.
 * Usage: bench_echo; prints "listening 127.0.0.1:PORT". */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

static char echo_buffer[65536];

static void echo_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(echo_buffer, sizeof(echo_buffer));
}

static void echo_closed(uv_handle_t *handle)
{
    free(handle);
}

struct echo_write {
    uv_write_t request;
    char bytes[];
};

static void echo_written(uv_write_t *request, int status)
{
    (void)status;
    free(request);
}

static void echo_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    if (size < 0) {
        uv_close((uv_handle_t *)stream, echo_closed);
        return;
    }
    uv_buf_t out = uv_buf_init(buf->base, (unsigned)size);
    int done = uv_try_write(stream, &out, 1);
    size_t written = done > 0 ? (size_t)done : 0;
    if (written == (size_t)size) {
        return;
    }
    size_t rest = (size_t)size - written;
    struct echo_write *write = malloc(sizeof(*write) + rest);
    if (write == NULL) {
        abort();
    }
    for (size_t i = 0; i < rest; i++) {
        write->bytes[i] = buf->base[written + i];
    }
    out = uv_buf_init(write->bytes, (unsigned)rest);
    (void)uv_write(&write->request, stream, &out, 1, echo_written);
}

static void echo_connection(uv_stream_t *server, int status)
{
    uv_tcp_t *peer = status == 0 ? malloc(sizeof(*peer)) : NULL;
    if (peer == NULL) {
        return;
    }
    (void)uv_tcp_init(server->loop, peer);
    if (uv_accept(server, (uv_stream_t *)peer) != 0) {
        uv_close((uv_handle_t *)peer, echo_closed);
        return;
    }
    (void)uv_tcp_nodelay(peer, 1);
    (void)uv_read_start((uv_stream_t *)peer, echo_alloc, echo_read);
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t server;
    struct sockaddr_in address;
    int size = sizeof(address);
    (void)uv_tcp_init(loop, &server);
    (void)uv_ip4_addr("127.0.0.1", 0, &address);
    if (uv_tcp_bind(&server, (const struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&server, 511, echo_connection) != 0 ||
        uv_tcp_getsockname(&server, (struct sockaddr *)&address, &size) != 0) {
        (void)fprintf(stderr, "bench_echo: cannot listen\n");
        return 1;
    }
    (void)printf("listening 127.0.0.1:%d\n", ntohs(address.sin_port));
    (void)fflush(stdout);
    return uv_run(loop, UV_RUN_DEFAULT);
}
