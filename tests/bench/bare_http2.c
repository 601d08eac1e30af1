/* What gRPC is measured against: a bare nghttp2 server over libuv that answers every request with
 * the same bytes. One thread. Prints "bare 127.0.0.1:PORT". */
#include <nghttp2/nghttp2.h>
#include <uv.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BARE_OUT_BYTES (1u << 20)

#define FIELD(name, value) \
    {(uint8_t *)name, (uint8_t *)value, sizeof(name) - 1, sizeof(value) - 1, \
     NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE}

struct peer {
    uv_tcp_t tcp;
    nghttp2_session *codec;
};

static char in[64 * 1024];
static char out[BARE_OUT_BYTES];

/* As long as Sluice's answer. */
static const uint8_t answer[] = {0, 0, 0, 0, 19, 8, 1, 16, 5, 24, 4, 42, 2, 8, 2, 58, 5,
                                 'l', 'o', 'g', 'i', 'n', 64, 1};

static ssize_t read_answer(nghttp2_session *codec, int32_t id, uint8_t *at, size_t room,
                           uint32_t *flags, nghttp2_data_source *source, void *data)
{
    static const nghttp2_nv trailer = FIELD("grpc-status", "0");
    (void)room;
    (void)source;
    (void)data;
    memcpy(at, answer, sizeof(answer));
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    (void)nghttp2_submit_trailer(codec, id, &trailer, 1);
    return sizeof(answer);
}

static int on_frame(nghttp2_session *codec, const nghttp2_frame *frame, void *data)
{
    static const nghttp2_nv head[] = {FIELD(":status", "200"),
                                      FIELD("content-type", "application/grpc")};
    nghttp2_data_provider body = {.read_callback = read_answer};
    (void)data;
    if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        (void)nghttp2_submit_response(codec, frame->hd.stream_id, head, 2, &body);
    }
    return 0;
}

static int on_header(nghttp2_session *codec, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *data)
{
    (void)codec, (void)frame, (void)name, (void)name_size, (void)value, (void)value_size;
    (void)flags, (void)data;
    return 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct peer *peer = handle->data;
    nghttp2_session_del(peer->codec);
    free(peer);
}

static void close_peer(struct peer *peer)
{
    if (!uv_is_closing((uv_handle_t *)&peer->tcp)) {
        uv_close((uv_handle_t *)&peer->tcp, on_closed);
    }
}

static void send_all(struct peer *peer)
{
    const uint8_t *bytes;
    ssize_t some;
    size_t size = 0;
    while (size < BARE_OUT_BYTES / 2 &&
           (some = nghttp2_session_mem_send(peer->codec, &bytes)) > 0) {
        memcpy(out + size, bytes, (size_t)some);
        size += (size_t)some;
    }
    uv_buf_t whole = uv_buf_init(out, (unsigned)size);
    if (size > 0 && uv_try_write((uv_stream_t *)&peer->tcp, &whole, 1) != (int)size) {
        close_peer(peer); /* the load always reads: this is no server for others */
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(in, sizeof(in));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
    struct peer *peer = stream->data;
    (void)buf;
    if (size < 0 ||
        nghttp2_session_mem_recv(peer->codec, (const uint8_t *)in, (size_t)size) < 0) {
        close_peer(peer);
        return;
    }
    send_all(peer);
}

static void on_connection(uv_stream_t *listener, int status)
{
    static const nghttp2_settings_entry most = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1024};
    nghttp2_session_callbacks *callbacks;
    struct peer *peer = calloc(1, sizeof(*peer));
    if (status != 0 || peer == NULL || nghttp2_session_callbacks_new(&callbacks) != 0) {
        exit(1);
    }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    if (nghttp2_session_server_new(&peer->codec, callbacks, peer) != 0) {
        exit(1);
    }
    nghttp2_session_callbacks_del(callbacks);
    peer->tcp.data = peer;
    (void)uv_tcp_init(listener->loop, &peer->tcp);
    (void)uv_accept(listener, (uv_stream_t *)&peer->tcp);
    (void)uv_tcp_nodelay(&peer->tcp, 1);
    (void)nghttp2_submit_settings(peer->codec, NGHTTP2_FLAG_NONE, &most, 1);
    send_all(peer);
    (void)uv_read_start((uv_stream_t *)&peer->tcp, on_alloc, on_read);
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t listener;
    struct sockaddr_in where;
    int size = sizeof(where);
    (void)uv_ip4_addr("127.0.0.1", 0, &where);
    (void)uv_tcp_init(loop, &listener);
    if (uv_tcp_bind(&listener, (const struct sockaddr *)&where, 0) != 0 ||
        uv_listen((uv_stream_t *)&listener, 128, on_connection) != 0 ||
        uv_tcp_getsockname(&listener, (struct sockaddr *)&where, &size) != 0) {
        return 1;
    }
    (void)printf("bare 127.0.0.1:%u\n", (unsigned)ntohs(where.sin_port));
    (void)fflush(stdout);
    return uv_run(loop, UV_RUN_DEFAULT);
}
