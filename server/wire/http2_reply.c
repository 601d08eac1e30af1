#include "wire/http2_reply.h"

#include <stdio.h>

#define HTTP2_REPLY_STATIC (NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE)

/* A field whose name and value are string literals. */
#define HTTP2_REPLY_FIELD(name, value) \
    {(uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1, \
     sizeof(value) - 1, HTTP2_REPLY_STATIC}

static nghttp2_nv http2_reply_field(const char *name, struct slice value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value.data,
                        .namelen = strlen(name),
                        .valuelen = value.size,
                        .flags = NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

/* grpc-status and, where there is a sentence, grpc-message. Returns how many. */
static size_t http2_reply_status_fields(const struct http2_stream *stream, char text[4],
                                        nghttp2_nv fields[2])
{
    static const nghttp2_nv good = HTTP2_REPLY_FIELD("grpc-status", "0");
    if (stream->code == 0) {
        fields[0] = good;
        return 1;
    }
    int size = snprintf(text, 4, "%d", stream->code);
    fields[0] = http2_reply_field("grpc-status", slice_make(text, (size_t)size));
    fields[1] = http2_reply_field("grpc-message", buf_slice(&stream->sentence));
    return stream->sentence.size > 0 ? 2 : 1;
}

static void http2_reply_trailers(nghttp2_session *codec, const struct http2_stream *stream)
{
    nghttp2_nv fields[2];
    char text[4];
    size_t count = http2_reply_status_fields(stream, text, fields);
    if (nghttp2_submit_trailer(codec, stream->id, fields, count) != 0) {
        (void)nghttp2_submit_rst_stream(codec, NGHTTP2_FLAG_NONE, stream->id,
                                        NGHTTP2_INTERNAL_ERROR);
    }
}

/* nghttp2 has room for `room` bytes of an answer. */
static ssize_t http2_reply_read(nghttp2_session *codec, int32_t id, uint8_t *out, size_t room,
                                uint32_t *flags, nghttp2_data_source *source, void *data)
{
    struct http2_session *session = data;
    struct http2_stream *stream = source->ptr;
    size_t size = stream->answer.size < room ? stream->answer.size : room;
    (void)id;
    if (size > 0) {
        memcpy(out, stream->answer.data + stream->answer.start, size);
        buf_consume(&stream->answer, size);
        session->streams.answer_bytes -= size;
    }
    if (stream->answer.size > 0) {
        return (ssize_t)size;
    }
    if (!stream->complete) {
        stream->deferred = size == 0;
        return stream->deferred ? NGHTTP2_ERR_DEFERRED : (ssize_t)size;
    }
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (stream->grpc) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        http2_reply_trailers(codec, stream);
    }
    return (ssize_t)size;
}

/* Hands the head of an answer to nghttp2, or resets the stream. */
static void http2_reply_submit(struct http2_session *session, struct http2_stream *stream,
                               const nghttp2_nv *fields, size_t count, bool has_body)
{
    nghttp2_data_provider body = {.source = {.ptr = stream}, .read_callback = http2_reply_read};
    stream->submitted = true;
    session->early = session->early || !stream->ended;
    if (nghttp2_submit_response(session->codec, stream->id, fields, count,
                                has_body ? &body : NULL) != 0) {
        (void)nghttp2_submit_rst_stream(session->codec, NGHTTP2_FLAG_NONE, stream->id,
                                        NGHTTP2_INTERNAL_ERROR);
    }
}

/* There is more for nghttp2 to ask for. */
static void http2_reply_resume(struct http2_session *session, struct http2_stream *stream)
{
    if (stream->deferred) {
        stream->deferred = false;
        (void)nghttp2_session_resume_data(session->codec, stream->id);
    }
}

void http2_reply_messages(struct http2_session *session, struct http2_stream *stream,
                          size_t before, bool complete)
{
    static const nghttp2_nv fields[] = {HTTP2_REPLY_FIELD(":status", "200"),
                                        HTTP2_REPLY_FIELD("content-type", "application/grpc")};
    session->streams.answer_bytes += stream->answer.size - before;
    stream->complete = complete;
    if (!stream->submitted) {
        http2_reply_submit(session, stream, fields, 2, true);
    } else {
        http2_reply_resume(session, stream);
    }
}

void http2_reply_status(struct http2_session *session, struct http2_stream *stream, int code,
                        const struct request_error *error)
{
    static const nghttp2_nv head[] = {HTTP2_REPLY_FIELD(":status", "200"),
                                      HTTP2_REPLY_FIELD("content-type", "application/grpc")};
    nghttp2_nv fields[4] = {head[0], head[1]};
    char text[4];
    stream->code = code;
    stream->complete = true;
    if (code != 0) {
        grpc_sentence(error, &stream->sentence);
        metrics_request_error(session->worker->metrics, METRICS_GRPC, code);
    }
    if (stream->submitted) {
        http2_reply_resume(session, stream);
        return;
    }
    size_t count = 2 + http2_reply_status_fields(stream, text, fields + 2);
    http2_reply_submit(session, stream, fields, count, false);
}

void http2_reply_http(struct http2_session *session, struct http2_stream *stream,
                      const struct http_response *response)
{
    nghttp2_nv fields[2 + HTTP_RESPONSE_HEADERS];
    char status[12];
    char length[24];
    size_t count = 2;
    int size = snprintf(status, sizeof(status), "%d", response->status);
    fields[0] = http2_reply_field(":status", slice_make(status, (size_t)size));
    size = snprintf(length, sizeof(length), "%zu", response->body.size);
    fields[1] = http2_reply_field("content-length", slice_make(length, (size_t)size));
    for (uint32_t i = 0; i < response->header_count; i++) {
        const struct http_header *header = &response->headers[i];
        fields[count++] = (nghttp2_nv){.name = (uint8_t *)(uintptr_t)header->name.data,
                                       .value = (uint8_t *)(uintptr_t)header->value.data,
                                       .namelen = header->name.size,
                                       .valuelen = header->value.size};
    }
    stream->complete = true;
    bool has_body = response->body.size > 0 && !slice_equal_text(stream->verb, "HEAD");
    if (has_body) {
        buf_append_slice(&stream->answer, response->body);
        session->streams.answer_bytes += stream->answer.size;
    }
    stream->grpc = false;
    http2_reply_submit(session, stream, fields, count, has_body);
}
