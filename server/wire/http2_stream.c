#include "wire/http2_stream.h"

#include <stdlib.h>

/* What a stream that is done with may keep of each of its buffers. */
#define HTTP2_STREAM_KEEP_BYTES 512u
/* A header's size in a list: RFC 9113, 6.5.2. */
#define HTTP2_STREAM_FIELD_BYTES 32u

static void http2_stream_unlink(struct http2_streams *streams, struct http2_stream *stream)
{
    struct http2_stream_list *list = &streams->lists[stream->phase];
    if (stream->previous == NULL) {
        list->first = stream->next;
    } else {
        stream->previous->next = stream->next;
    }
    if (stream->next == NULL) {
        list->last = stream->previous;
    } else {
        stream->next->previous = stream->previous;
    }
}

static void http2_stream_link(struct http2_streams *streams, struct http2_stream *stream)
{
    struct http2_stream_list *list = &streams->lists[stream->phase];
    stream->next = NULL;
    stream->previous = list->last;
    if (list->last == NULL) {
        list->first = stream;
    } else {
        list->last->next = stream;
    }
    list->last = stream;
}

static struct http2_stream *http2_stream_create(void)
{
    struct http2_stream *stream = calloc(1, sizeof(*stream));
    if (stream != NULL) {
        buf_init(&stream->head, LIMITS_HTTP2_HEAD_BYTES_MAX);
        buf_init(&stream->body, LIMITS_HTTP2_BODY_BYTES_MAX);
        buf_init(&stream->answer, 2 * LIMITS_SERVER_FRAME_BYTES_MAX);
        buf_init(&stream->sentence, 4 * (LIMITS_MESSAGE_BYTES_MAX + LIMITS_FIELD_BYTES_MAX));
    }
    return stream;
}

void http2_stream_destroy(struct http2_stream **stream_at)
{
    struct http2_stream *stream = *stream_at;
    buf_deinit(&stream->head);
    buf_deinit(&stream->body);
    buf_deinit(&stream->answer);
    buf_deinit(&stream->sentence);
    free(stream);
    *stream_at = NULL;
}

/* Everything but the buffers, which are empty. */
static void http2_stream_clear(struct http2_stream *stream, int32_t id, int64_t now_ns)
{
    memset(stream, 0, offsetof(struct http2_stream, head));
    stream->id = id;
    stream->phase = HTTP2_ARRIVING;
    stream->begun_ns = now_ns;
    stream->timeout_ns = -1;
}

struct http2_stream *http2_stream_take(struct http2_streams *streams, int32_t id, int64_t now_ns)
{
    struct http2_stream *stream = http2_pool_take_stream(streams->pool);
    if (stream == NULL) {
        stream = http2_stream_create();
    }
    if (stream != NULL) {
        http2_stream_clear(stream, id, now_ns);
        http2_stream_link(streams, stream);
    }
    return stream;
}

void http2_stream_move(struct http2_streams *streams, struct http2_stream *stream,
                       enum http2_phase phase)
{
    http2_stream_unlink(streams, stream);
    stream->phase = phase;
    http2_stream_link(streams, stream);
}

void http2_stream_drop_body(struct http2_streams *streams, struct http2_stream *stream)
{
    streams->body_bytes -= stream->body.size;
    buf_clear(&stream->body);
    buf_trim(&stream->body, HTTP2_STREAM_KEEP_BYTES);
}

void http2_stream_consume_body(struct http2_streams *streams, struct http2_stream *stream,
                               size_t size)
{
    streams->body_bytes -= size;
    buf_consume(&stream->body, size);
}

void http2_stream_give_back(struct http2_streams *streams, struct http2_stream *stream)
{
    http2_stream_unlink(streams, stream);
    http2_stream_drop_body(streams, stream);
    streams->answer_bytes -= stream->answer.size;
    buf_clear(&stream->head);
    buf_clear(&stream->answer);
    buf_clear(&stream->sentence);
    buf_trim(&stream->head, HTTP2_STREAM_KEEP_BYTES);
    buf_trim(&stream->answer, HTTP2_STREAM_KEEP_BYTES);
    buf_trim(&stream->sentence, HTTP2_STREAM_KEEP_BYTES);
    if (!http2_pool_keep_stream(streams->pool, stream)) {
        http2_stream_destroy(&stream);
    }
}

void http2_stream_deinit(struct http2_streams *streams)
{
    struct http2_stream *stream;
    for (int phase = 0; phase < HTTP2_PHASES; phase++) {
        while ((stream = streams->lists[phase].first) != NULL) {
            http2_stream_give_back(streams, stream);
        }
    }
}

static bool http2_stream_starts(struct slice text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

/* "application/grpc", "application/grpc+proto", "application/grpc;..." but not grpc-web. */
static bool http2_stream_is_grpc(struct slice type)
{
    static const char prefix[] = "application/grpc";
    size_t size = sizeof(prefix) - 1;
    return http2_stream_starts(type, prefix) &&
           (type.size == size || type.data[size] == '+' || type.data[size] == ';');
}

static void http2_stream_keep(struct http2_stream *stream, struct slice name, struct slice value)
{
    uint32_t sizes[2] = {(uint32_t)name.size, (uint32_t)value.size};
    if (stream->header_count >= LIMITS_HTTP2_HEADERS_MAX) {
        stream->head_too_large = true;
        return;
    }
    buf_append(&stream->head, sizes, sizeof(sizes));
    buf_append_slice(&stream->head, name);
    buf_append_slice(&stream->head, value);
    stream->header_count++;
}

/* Pseudo headers stand before all others: what is to be kept of those is known in time. */
static void http2_stream_pseudo(struct http2_streams *streams, struct http2_stream *stream,
                                struct slice name, struct slice value)
{
    if (slice_equal_text(name, ":path")) {
        bool again = streams->latest != NULL && slice_equal_text(value, streams->latest->path);
        stream->method = again ? streams->latest : grpc_find(value);
        stream->keeps_headers = stream->method == NULL;
        streams->latest = stream->keeps_headers ? streams->latest : stream->method;
        http2_stream_keep(stream, name, value);
    } else if (slice_equal_text(name, ":method")) {
        http2_stream_keep(stream, name, value);
    }
}

void http2_stream_header(struct http2_streams *streams, struct http2_stream *stream,
                         struct slice name, struct slice value)
{
    stream->head_bytes += name.size + value.size + HTTP2_STREAM_FIELD_BYTES;
    if (stream->head_bytes > LIMITS_HTTP2_HEAD_BYTES_MAX) {
        stream->head_too_large = true;
    }
    if (stream->head_too_large) {
        return;
    }
    if (name.size > 0 && name.data[0] == ':') {
        http2_stream_pseudo(streams, stream, name, value);
        return;
    }
    if (slice_equal_text(name, "content-type")) {
        stream->grpc = http2_stream_is_grpc(value);
    } else if (slice_equal_text(name, "grpc-timeout")) {
        stream->timeout_invalid = !grpc_timeout(value, &stream->timeout_ns);
    }
    if (stream->keeps_headers || slice_equal_text(name, "authorization")) {
        http2_stream_keep(stream, name, value);
    }
}

/* The kept field at *at; moves on to the next. */
static struct http_header http2_stream_field(const uint8_t **at)
{
    uint32_t sizes[2];
    struct http_header field;
    memcpy(sizes, *at, sizeof(sizes));
    field.name = slice_make(*at + sizeof(sizes), sizes[0]);
    field.value = slice_make(field.name.data + sizes[0], sizes[1]);
    *at = field.value.data + sizes[1];
    return field;
}

void http2_stream_head_end(struct http2_stream *stream)
{
    const uint8_t *at = stream->head.data + stream->head.start;
    for (uint32_t i = 0; i < stream->header_count; i++) {
        struct http_header field = http2_stream_field(&at);
        if (slice_equal_text(field.name, ":path")) {
            stream->path = field.value;
        } else if (slice_equal_text(field.name, ":method")) {
            stream->verb = field.value;
        }
    }
}

bool http2_stream_headers(const struct http2_stream *stream, struct arena *arena,
                          struct http_request *request)
{
    const uint8_t *at = stream->head.data + stream->head.start;
    size_t size = (stream->header_count + 1u) * sizeof(struct http_header);
    struct http_header *headers = arena_alloc(arena, size);
    if (headers == NULL) {
        return false;
    }
    request->headers = headers;
    request->header_count = 0;
    for (uint32_t i = 0; i < stream->header_count; i++) {
        struct http_header field = http2_stream_field(&at);
        if (field.name.data[0] != ':') {
            headers[request->header_count++] = field;
        }
    }
    return true;
}

void http2_stream_body(struct http2_streams *streams, struct http2_stream *stream,
                       struct slice bytes)
{
    if (stream->body_too_large || stream->complete) {
        return;
    }
    if (streams->body_bytes + bytes.size > LIMITS_HTTP2_BODIES_BYTES_MAX) {
        stream->body_too_large = true;
        return;
    }
    size_t before = stream->body.size;
    buf_append_slice(&stream->body, bytes);
    stream->body_too_large = stream->body.failed;
    streams->body_bytes += stream->body.size - before;
}
