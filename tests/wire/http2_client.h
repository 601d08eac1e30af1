/* A peer of the HTTP/2 adapter: nghttp2's client side, fed from the fixture's output. */
#ifndef TESTS_WIRE_HTTP2_CLIENT_H
#define TESTS_WIRE_HTTP2_CLIENT_H

#include "wire/http2.h"

#include "native_fixture.h"

#include <nghttp2/nghttp2.h>

#define CLIENT_STREAMS 2048 /* by half the stream's number */

/* What came back on one stream. */
struct client_answer {
    int status;        /* :status; 0: none came */
    int code;          /* grpc-status; -1: none came */
    char message[512]; /* grpc-message */
    char type[64];     /* content-type */
    char retry[32];    /* retry-after */
    struct buf body;
    bool closed;
    uint32_t error; /* of the RST_STREAM */
};

struct client {
    struct fixture fixture;
    nghttp2_session *codec;
    size_t step;              /* bytes given to the adapter at once */
    enum wire_result result;  /* of the latest feed */
    uint8_t last[64]; /* the end of what it said */
    size_t last_size;
    uint32_t goaways;
    uint32_t goaway_error;
    int32_t goaway_last;
    struct client_answer answers[CLIENT_STREAMS];
    struct client_body {
        struct slice bytes;
        bool open; /* the request does not end with it */
    } bodies[CLIENT_STREAMS];
};

static inline struct client_answer *client_answer(struct client *client, int32_t stream)
{
    fixture_require(stream > 0 && stream / 2 < CLIENT_STREAMS, "stream");
    return &client->answers[stream / 2];
}

static inline void client_copy(char *to, size_t room, const uint8_t *value, size_t size)
{
    size = size < room - 1 ? size : room - 1;
    memcpy(to, value, size);
    to[size] = '\0';
}

static inline int client_on_header(nghttp2_session *codec, const nghttp2_frame *frame,
                                   const uint8_t *name, size_t name_size, const uint8_t *value,
                                   size_t value_size, uint8_t flags, void *data)
{
    struct client_answer *answer = client_answer(data, frame->hd.stream_id);
    struct slice field = slice_make(name, name_size);
    char text[16];
    (void)codec;
    (void)flags;
    client_copy(text, sizeof(text), value, value_size);
    if (slice_equal_text(field, ":status")) {
        answer->status = atoi(text);
    } else if (slice_equal_text(field, "grpc-status")) {
        answer->code = atoi(text);
    } else if (slice_equal_text(field, "grpc-message")) {
        client_copy(answer->message, sizeof(answer->message), value, value_size);
    } else if (slice_equal_text(field, "content-type")) {
        client_copy(answer->type, sizeof(answer->type), value, value_size);
    } else if (slice_equal_text(field, "retry-after")) {
        client_copy(answer->retry, sizeof(answer->retry), value, value_size);
    }
    return 0;
}

static inline int client_on_data(nghttp2_session *codec, uint8_t flags, int32_t id,
                                 const uint8_t *bytes, size_t size, void *data)
{
    (void)codec;
    (void)flags;
    buf_append(&client_answer(data, id)->body, bytes, size);
    return 0;
}

static inline int client_on_close(nghttp2_session *codec, int32_t id, uint32_t error, void *data)
{
    struct client_answer *answer = client_answer(data, id);
    (void)codec;
    answer->closed = true;
    answer->error = error;
    return 0;
}

static inline int client_on_frame(nghttp2_session *codec, const nghttp2_frame *frame, void *data)
{
    struct client *client = data;
    (void)codec;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        client->goaways++;
        client->goaway_error = frame->goaway.error_code;
        client->goaway_last = frame->goaway.last_stream_id;
    }
    return 0;
}

static inline void client_init(struct client *client)
{
    nghttp2_session_callbacks *callbacks;
    memset(client, 0, sizeof(*client));
    fixture_init_as(&client->fixture, &http2_protocol);
    client->step = SIZE_MAX;
    fixture_require(nghttp2_session_callbacks_new(&callbacks) == 0, "callbacks");
    nghttp2_session_callbacks_set_on_header_callback(callbacks, client_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, client_on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, client_on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, client_on_frame);
    fixture_require(nghttp2_session_client_new(&client->codec, callbacks, client) == 0, "codec");
    nghttp2_session_callbacks_del(callbacks);
    for (int i = 0; i < CLIENT_STREAMS; i++) {
        client->answers[i].code = -1;
        buf_init(&client->answers[i].body, 0);
    }
    fixture_require(nghttp2_submit_settings(client->codec, NGHTTP2_FLAG_NONE, NULL, 0) == 0,
                    "settings");
    /* What open() greeted with. */
    fixture_require(nghttp2_session_mem_recv(client->codec, client->fixture.out.data,
                                             client->fixture.out.size) >= 0, "greeting");
    buf_clear(&client->fixture.out);
}

static inline void client_deinit(struct client *client)
{
    nghttp2_session_del(client->codec);
    for (int i = 0; i < CLIENT_STREAMS; i++) {
        buf_deinit(&client->answers[i].body);
    }
    fixture_deinit(&client->fixture);
}

/* Gives the adapter bytes of the test's own making, and the client what comes back. */
static inline void client_send(struct client *client, const void *data, size_t size)
{
    struct buf out;
    buf_init(&out, 0);
    for (size_t at = 0; at < size; at += client->step < size ? client->step : size) {
        size_t some = size - at < client->step ? size - at : client->step;
        client->result = fixture_feed(&client->fixture,
                                      slice_make((const uint8_t *)data + at, some), &out);
        fixture_require(client->fixture.in.size == 0, "all of it was taken");
    }
    if (out.size > 0) {
        client->last_size = out.size < sizeof(client->last) ? out.size : sizeof(client->last);
        memcpy(client->last, out.data + out.start + out.size - client->last_size,
               client->last_size);
        (void)nghttp2_session_mem_recv(client->codec, out.data + out.start, out.size);
    }
    buf_deinit(&out);
}

/* Lets both sides talk until neither has more to say. */
static inline void client_run(struct client *client)
{
    const uint8_t *bytes;
    ssize_t size;
    while ((size = nghttp2_session_mem_send(client->codec, &bytes)) > 0) {
        client_send(client, bytes, (size_t)size);
    }
}

static inline ssize_t client_read(nghttp2_session *codec, int32_t id, uint8_t *out, size_t room,
                                  uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct client_body *body = source->ptr;
    size_t size = body->bytes.size < room ? body->bytes.size : room;
    (void)codec;
    (void)id;
    (void)data;
    if (size > 0) {
        memcpy(out, body->bytes.data, size);
        body->bytes = slice_make(body->bytes.data + size, body->bytes.size - size);
    }
    if (body->bytes.size == 0 && body->open) {
        return size == 0 ? NGHTTP2_ERR_DEFERRED : (ssize_t)size;
    }
    *flags |= body->bytes.size == 0 ? NGHTTP2_DATA_FLAG_EOF : 0;
    return (ssize_t)size;
}

static inline nghttp2_nv client_field(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), NGHTTP2_NV_FLAG_NONE};
}

struct client_request {
    const char *method; /* NULL: POST */
    const char *path;
    const char *type;   /* NULL: application/grpc; "": none */
    const char *timeout;
    const char *more[2]; /* one more field */
    struct slice body;
    bool open;
    bool no_body; /* HEADERS end the request */
};

/* Submits; the stream's number comes back. */
static inline int32_t client_submit(struct client *client, const struct client_request *request)
{
    nghttp2_nv fields[8] = {
        client_field(":method", request->method == NULL ? "POST" : request->method),
        client_field(":scheme", "http"), client_field(":path", request->path),
        client_field(":authority", "here")};
    size_t count = 4;
    const char *type = request->type == NULL ? "application/grpc" : request->type;
    if (type[0] != '\0') {
        fields[count++] = client_field("content-type", type);
    }
    if (request->timeout != NULL) {
        fields[count++] = client_field("grpc-timeout", request->timeout);
    }
    if (request->more[0] != NULL) {
        fields[count++] = client_field(request->more[0], request->more[1]);
    }
    int32_t next = (int32_t)nghttp2_session_get_next_stream_id(client->codec);
    struct client_body *body = &client->bodies[next / 2];
    *body = (struct client_body){request->body, request->open};
    nghttp2_data_provider provider = {.source = {.ptr = body}, .read_callback = client_read};
    int32_t stream = nghttp2_submit_request(client->codec, NULL, fields, count,
                                            request->no_body ? NULL : &provider, NULL);
    fixture_require(stream == next, "the request was submitted");
    return stream;
}

/* More of a request whose body is open. */
static inline void client_more(struct client *client, int32_t stream, struct slice bytes,
                               bool open)
{
    client->bodies[stream / 2] = (struct client_body){bytes, open};
    (void)nghttp2_session_resume_data(client->codec, stream);
    client_run(client);
}

/* "\0" + length + message. */
static inline struct slice client_message(struct buf *out, const void *message, size_t size)
{
    uint8_t prefix[5] = {0, (uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8),
                         (uint8_t)size};
    buf_append(out, prefix, sizeof(prefix));
    buf_append(out, message, size);
    return buf_slice(out);
}

/* A ShouldAllowRequest of a key and a route. */
static inline size_t client_ask(uint8_t *at, const char *key, const char *route)
{
    size_t key_size = strlen(key);
    size_t route_size = strlen(route);
    at[0] = 0x0a;
    at[1] = (uint8_t)key_size;
    memcpy(at + 2, key, key_size);
    at[2 + key_size] = 0x12;
    at[3 + key_size] = (uint8_t)route_size;
    memcpy(at + 4 + key_size, route, route_size);
    return 4 + key_size + route_size;
}

/* A unary call that is answered at once. */
static inline struct client_answer *client_call(struct client *client, const char *path,
                                                const void *message, size_t size)
{
    struct buf body;
    buf_init(&body, 0);
    struct client_request request = {.path = path, .body = client_message(&body, message, size)};
    int32_t stream = client_submit(client, &request);
    client_run(client);
    buf_deinit(&body);
    return client_answer(client, stream);
}

#endif
