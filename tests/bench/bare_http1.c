/* The yardstick for HTTP/1.1: llhttp over libuv, answering a fixed body to whatever is asked. The
 * ratio to it says what strict framing, JSON, a decision and its header fields cost.
 * Usage: bench_bare_http1; prints "listening 127.0.0.1:PORT". */
#include <llhttp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static const char answer[] =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 103\r\n\r\n"
    "{\"allowed\":true,\"limit\":5,\"remaining\":4,\"reset_after_ms\":2000,\"limit_name\":\"tb\","
    "\"reason\":\"UNDER_LIMIT\"}";

struct peer {
    uv_tcp_t tcp;
    llhttp_t parser;
};

static llhttp_settings_t settings;
static char input[65536];
static char output[1 << 20];
static size_t output_bytes;

static int on_complete(llhttp_t *parser)
{
    (void)parser;
    if (output_bytes + sizeof(answer) > sizeof(output)) {
        abort();
    }
    memcpy(output + output_bytes, answer, sizeof(answer) - 1);
    output_bytes += sizeof(answer) - 1;
    return 0;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(input, sizeof(input));
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    struct peer *peer = (struct peer *)stream;
    output_bytes = 0;
    if (size < 0 || llhttp_execute(&peer->parser, buf->base, (size_t)size) != HPE_OK) {
        uv_close((uv_handle_t *)stream, on_closed);
        return;
    }
    uv_buf_t out = uv_buf_init(output, (unsigned)output_bytes);
    if (output_bytes > 0 && uv_try_write(stream, &out, 1) != (int)output_bytes) {
        uv_close((uv_handle_t *)stream, on_closed); /* the load reads as it asks */
    }
}

static void on_connection(uv_stream_t *server, int status)
{
    struct peer *peer = status == 0 ? malloc(sizeof(*peer)) : NULL;
    if (peer == NULL) {
        return;
    }
    (void)uv_tcp_init(server->loop, &peer->tcp);
    llhttp_init(&peer->parser, HTTP_REQUEST, &settings);
    if (uv_accept(server, (uv_stream_t *)&peer->tcp) != 0) {
        uv_close((uv_handle_t *)&peer->tcp, on_closed);
        return;
    }
    (void)uv_tcp_nodelay(&peer->tcp, 1);
    (void)uv_read_start((uv_stream_t *)&peer->tcp, on_alloc, on_read);
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t server;
    struct sockaddr_in address;
    int size = sizeof(address);
    llhttp_settings_init(&settings);
    settings.on_message_complete = on_complete;
    (void)uv_tcp_init(loop, &server);
    (void)uv_ip4_addr("127.0.0.1", 0, &address);
    if (uv_tcp_bind(&server, (const struct sockaddr *)&address, 0) != 0 ||
        uv_listen((uv_stream_t *)&server, 511, on_connection) != 0 ||
        uv_tcp_getsockname(&server, (struct sockaddr *)&address, &size) != 0) {
        (void)fprintf(stderr, "bench_bare_http1: cannot listen\n");
        return 1;
    }
    (void)printf("listening 127.0.0.1:%d\n", ntohs(address.sin_port));
    (void)fflush(stdout);
    return uv_run(loop, UV_RUN_DEFAULT);
}
