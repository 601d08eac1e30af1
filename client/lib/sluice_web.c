#include "sluice_web.h"

#include "sluice_json.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NS_PER_MS INT64_C(1000000)
#define PREFIX_BYTES 5 /* of a gRPC message */
#define STATUS_NONE (-1)

struct sluice_web {
    CURL *curl;
    struct curl_slist *headers;
    bool grpc;
    bool clear; /* gRPC without TLS: HTTP/2 from the first byte on */
    bool warm;  /* there is a connection */
    char base[SLUICE_URL_HOST_BYTES + 32]; /* "https://host:port" */
    struct sluice_buffer out;
    struct sluice_buffer in;   /* the body of the response */
    struct sluice_buffer body; /* the answer, as a native frame has it */
    char *text;                /* the request's JSON */
    int grpc_status;
    char grpc_message[1024];
    char why[CURL_ERROR_SIZE];
};

__attribute__((format(printf, 4, 5))) static enum sluice_status
fail(char *message, size_t size, enum sluice_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, size, format, args);
    va_end(args);
    return status;
}

static size_t on_body(char *data, size_t one, size_t size, void *context)
{
    struct sluice_web *web = context;
    size_t most = SLUICE_DECODE_FRAME_BYTES_MAX + PREFIX_BYTES;
    (void)one;
    if (sluice_buffer_size(&web->in) + size > most || !sluice_buffer_reserve(&web->in, size + 1)) {
        return 0;
    }
    memcpy(web->in.data + web->in.end, data, size);
    web->in.end += size;
    return size;
}

static int hex(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                          : -1;
}

/* grpc-message is percent-encoded. */
static void keep_message(struct sluice_web *web, const char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < size && used + 1 < sizeof web->grpc_message; i++) {
        char byte = text[i];
        if (byte == '%' && i + 2 < size && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            byte = (char)(hex(text[i + 1]) << 4 | hex(text[i + 2]));
            i += 2;
        }
        web->grpc_message[used++] = byte;
    }
    web->grpc_message[used] = '\0';
}

/* Header fields and trailers, one a call. */
static size_t on_header(char *data, size_t one, size_t size, void *context)
{
    static const char status[] = "grpc-status:";
    static const char message[] = "grpc-message:";
    struct sluice_web *web = context;
    size_t left = size;
    (void)one;
    while (left > 0 && (data[left - 1] == '\r' || data[left - 1] == '\n')) {
        left--;
    }
    if (left >= sizeof status && strncasecmp(data, status, sizeof status - 1) == 0) {
        web->grpc_status = atoi(data + sizeof status - 1);
    } else if (left >= sizeof message && strncasecmp(data, message, sizeof message - 1) == 0) {
        size_t skip = sizeof message - 1 + (data[sizeof message - 1] == ' ');
        keep_message(web, data + skip, left - skip);
    }
    return size;
}

static bool add_header(struct sluice_web *web, const char *line)
{
    struct curl_slist *more = curl_slist_append(web->headers, line);
    web->headers = more != NULL ? more : web->headers;
    return more != NULL;
}

static bool add_token(struct sluice_web *web, const char *token)
{
    static const char name[] = "Authorization: Bearer ";
    if (token == NULL) {
        return true;
    }
    size_t size = sizeof name + strlen(token);
    char *line = malloc(size);
    if (line == NULL) {
        return false;
    }
    (void)snprintf(line, size, "%s%s", name, token);
    bool added = add_header(web, line);
    free(line);
    return added;
}

/* Whatever proxies the environment names: a daemon is asked directly. */
static bool set_up(struct sluice_web *web, const struct sluice_url *url,
                   const struct sluice_options *options)
{
    CURL *curl = web->curl;
    long version = !web->grpc ? (url->tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
                   : url->tls ? CURL_HTTP_VERSION_2TLS
                              : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
    bool ok = curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_NOPROXY, "*") == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, version) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, web->why) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_WRITEDATA, web) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_HEADERDATA, web) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) ==
                  CURLE_OK;
    if (options->ca_cert != NULL) {
        ok = ok && curl_easy_setopt(curl, CURLOPT_CAINFO, options->ca_cert) == CURLE_OK;
    }
    if (options->cert != NULL) {
        ok = ok && curl_easy_setopt(curl, CURLOPT_SSLCERT, options->cert) == CURLE_OK &&
             curl_easy_setopt(curl, CURLOPT_SSLKEY, options->key) == CURLE_OK;
    }
    return ok && add_header(web, web->grpc ? "Content-Type: application/grpc"
                                           : "Content-Type: application/json") &&
           (!web->grpc || add_header(web, "TE: trailers")) && add_header(web, "Expect:") &&
           add_token(web, options->token) &&
           curl_easy_setopt(curl, CURLOPT_HTTPHEADER, web->headers) == CURLE_OK;
}

struct sluice_web *sluice_web_create(const struct sluice_url *url,
                                     const struct sluice_options *options)
{
    struct sluice_web *web = calloc(1, sizeof *web);
    if (web == NULL) {
        return NULL;
    }
    bool bracket = strchr(url->host, ':') != NULL;
    web->grpc = url->scheme == SLUICE_URL_GRPC;
    web->clear = web->grpc && !url->tls;
    (void)snprintf(web->base, sizeof web->base, "%s://%s%s%s:%s", url->tls ? "https" : "http",
                   bracket ? "[" : "", url->host, bracket ? "]" : "", url->port);
    web->curl = curl_easy_init();
    if (web->curl == NULL || !set_up(web, url, options)) {
        sluice_web_destroy(&web);
    }
    return web;
}

void sluice_web_destroy(struct sluice_web **web_at)
{
    struct sluice_web *web = *web_at;
    if (web == NULL) {
        return;
    }
    curl_easy_cleanup(web->curl);
    curl_slist_free_all(web->headers);
    free(web->text);
    sluice_buffer_deinit(&web->out);
    sluice_buffer_deinit(&web->in);
    sluice_buffer_deinit(&web->body);
    free(web);
    *web_at = NULL;
}

/* One POST to come; `data` holds until it is finished. */
static void set_post(struct sluice_web *web, const char *path, const void *data, size_t size)
{
    char url[sizeof web->base + 64];
    (void)snprintf(url, sizeof url, "%s%s", web->base, path);
    sluice_buffer_clear(&web->in);
    if (web->clear) {
        /* Told so again on a connection that it has, libcurl 7.88 begins HTTP/2 inside HTTP/2; not
         * told, it goes on as it is. */
        long version = web->warm ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
        (void)curl_easy_setopt(web->curl, CURLOPT_HTTP_VERSION, version);
    }
    web->grpc_status = STATUS_NONE;
    web->grpc_message[0] = '\0';
    web->why[0] = '\0';
    (void)curl_easy_setopt(web->curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(web->curl, CURLOPT_POSTFIELDS, data);
    (void)curl_easy_setopt(web->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
}

static enum sluice_status fail_answer(const struct sluice_web *web, char *message, size_t size)
{
    long status = 0;
    (void)curl_easy_getinfo(web->curl, CURLINFO_RESPONSE_CODE, &status);
    return fail(message, size, SLUICE_PROTOCOL,
                "%s answered with HTTP status %ld and no answer of Sluice's", web->base, status);
}

/* ---- gRPC ---- */

static const char *grpc_path(enum sluice_encode_kind kind)
{
    switch (kind) {
    case SLUICE_ENCODE_ASK:
        return "/sluice.v1.RateLimiter/ShouldAllow";
    case SLUICE_ENCODE_BATCH:
        return "/sluice.v1.RateLimiter/ShouldAllowBatch";
    case SLUICE_ENCODE_REFUND:
        return "/sluice.v1.RateLimiter/Refund";
    case SLUICE_ENCODE_RESET:
        return "/sluice.v1.RateLimiter/Reset";
    case SLUICE_ENCODE_STATS:
        break;
    }
    return NULL;
}

/* The message is the body of a native frame, with gRPC's prefix in front. */
static enum sluice_status encode_call(struct sluice_web *web, enum sluice_encode_kind kind,
                                      const struct sluice_question *questions, size_t count)
{
    struct sluice_decode_view bytes;
    struct sluice_decode_frame frame;
    size_t consumed;
    sluice_buffer_clear(&web->out);
    sluice_buffer_clear(&web->body);
    enum sluice_status status = sluice_encode(&web->body, 0, kind, questions, count);
    if (status != SLUICE_OK) {
        return status;
    }
    if (sluice_decode_next(web->body.data + web->body.start, sluice_buffer_size(&web->body),
                           &bytes, &consumed) != SLUICE_DECODE_OK ||
        !sluice_decode_frame(bytes, &frame)) {
        return SLUICE_INVALID;
    }
    size_t size = (size_t)(frame.body.end - frame.body.at);
    if (!sluice_buffer_reserve(&web->out, PREFIX_BYTES + size)) {
        return SLUICE_NO_MEMORY;
    }
    uint8_t *at = web->out.data + web->out.end;
    *at++ = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        *at++ = (uint8_t)(size >> shift);
    }
    memcpy(at, frame.body.at, size);
    web->out.end += PREFIX_BYTES + size;
    return SLUICE_OK;
}

static bool decode_call(struct sluice_web *web, enum sluice_encode_kind kind,
                        struct sluice_decode_frame *frame)
{
    const uint8_t *data = web->in.data + web->in.start;
    size_t size = sluice_buffer_size(&web->in);
    if (web->grpc_status > 0) {
        const struct sluice_bytes none = {"", 0};
        const struct sluice_bytes said = {web->grpc_message, strlen(web->grpc_message)};
        return sluice_body_error(&web->body, (enum sluice_code)web->grpc_status, none, said,
                                 frame);
    }
    if (web->grpc_status != 0 || size < PREFIX_BYTES || data[0] != 0) {
        return false;
    }
    size_t told = (size_t)data[1] << 24 | (size_t)data[2] << 16 | (size_t)data[3] << 8 | data[4];
    return told == size - PREFIX_BYTES &&
           sluice_body_copy(&web->body, kind, data + PREFIX_BYTES, told, frame);
}

static enum sluice_status prepare_grpc(struct sluice_web *web, enum sluice_encode_kind kind,
                                       const struct sluice_question *questions, size_t count,
                                       char *message, size_t message_size)
{
    const char *path = grpc_path(kind);
    if (path == NULL) {
        return fail(message, message_size, SLUICE_UNSUPPORTED,
                    "gRPC has no such question; ask over native");
    }
    enum sluice_status status = encode_call(web, kind, questions, count);
    if (status != SLUICE_OK) {
        return fail(message, message_size, status,
                    status == SLUICE_INVALID ? "the question is too large"
                                             : "there is no memory for the question");
    }
    set_post(web, path, web->out.data + web->out.start, sluice_buffer_size(&web->out));
    return SLUICE_OK;
}

/* ---- JSON ---- */

static enum sluice_status prepare_json(struct sluice_web *web, enum sluice_encode_kind kind,
                                       const struct sluice_question *question, char *message,
                                       size_t message_size)
{
    const char *path = sluice_json_path(kind);
    if (path == NULL) {
        return fail(message, message_size, SLUICE_UNSUPPORTED,
                    "this client asks no such question over HTTP; ask over native");
    }
    free(web->text);
    web->text = sluice_json_question(kind, question);
    if (web->text == NULL) {
        return fail(message, message_size, SLUICE_INVALID,
                    "JSON carries UTF-8 only; ask over native");
    }
    set_post(web, path, web->text, strlen(web->text));
    return SLUICE_OK;
}

static bool decode_json(struct sluice_web *web, enum sluice_encode_kind kind,
                        struct sluice_decode_frame *frame)
{
    long status = 0;
    (void)curl_easy_getinfo(web->curl, CURLINFO_RESPONSE_CODE, &status);
    return sluice_json_answer(status, (const char *)web->in.data + web->in.start,
                              sluice_buffer_size(&web->in), kind, &web->body, frame);
}

/* ---- either ---- */

/* A connection that was to be there had gone, and the one in its place was not begun as HTTP/2: a
 * daemon decides nothing on it. */
static bool made_anew(const struct sluice_web *web)
{
    long connects = 0;
    (void)curl_easy_getinfo(web->curl, CURLINFO_NUM_CONNECTS, &connects);
    return web->clear && web->warm && connects > 0;
}

enum sluice_status sluice_web_prepare(struct sluice_web *web, enum sluice_encode_kind kind,
                                      const struct sluice_question *questions, size_t count,
                                      char *message, size_t message_size)
{
    return web->grpc ? prepare_grpc(web, kind, questions, count, message, message_size)
                     : prepare_json(web, kind, questions, message, message_size);
}

void sluice_web_prepare_hello(struct sluice_web *web)
{
    static const uint8_t empty[PREFIX_BYTES] = {0};
    set_post(web, "/grpc.health.v1.Health/Check", empty, sizeof empty);
}

bool sluice_web_finish_hello(struct sluice_web *web, int code, char *message, size_t message_size)
{
    struct sluice_decode_frame frame;
    enum sluice_status status =
        sluice_web_finish(web, SLUICE_ENCODE_ASK, code, &frame, message, message_size);
    return status == SLUICE_OK;
}

bool sluice_web_shares_connections(void)
{
    return curl_version_info(CURLVERSION_NOW)->version_num >= 0x080100;
}

void sluice_web_set_warm(struct sluice_web *web)
{
    web->warm = true;
}

void *sluice_web_handle(struct sluice_web *web)
{
    return web->curl;
}

enum sluice_status sluice_web_finish(struct sluice_web *web, enum sluice_encode_kind kind,
                                     int code, struct sluice_decode_frame *frame, char *message,
                                     size_t message_size)
{
    if (code == CURLE_OPERATION_TIMEDOUT) {
        return fail(message, message_size, SLUICE_TIMEOUT, "no answer in time");
    }
    if (code == CURLE_OK && made_anew(web)) {
        return fail(message, message_size, SLUICE_UNREACHABLE, "%s: a connection ended",
                    web->base);
    }
    if (code != CURLE_OK) {
        return fail(message, message_size, SLUICE_UNREACHABLE, "%s: %s", web->base,
                    web->why[0] != '\0' ? web->why : curl_easy_strerror((CURLcode)code));
    }
    return (web->grpc ? decode_call(web, kind, frame) : decode_json(web, kind, frame))
               ? SLUICE_OK
               : fail_answer(web, message, message_size);
}

enum sluice_status sluice_web_exchange(struct sluice_web *web, enum sluice_encode_kind kind,
                                       const struct sluice_question *questions, size_t count,
                                       int64_t timeout_ns, struct sluice_decode_frame *frame,
                                       char *message, size_t message_size)
{
    long timeout_ms = (long)((timeout_ns + NS_PER_MS - 1) / NS_PER_MS);
    enum sluice_status status =
        sluice_web_prepare(web, kind, questions, count, message, message_size);
    if (status != SLUICE_OK) {
        return status;
    }
    (void)curl_easy_setopt(web->curl, CURLOPT_TIMEOUT_MS, timeout_ms);
    CURLcode code = curl_easy_perform(web->curl);
    if (made_anew(web)) {
        web->warm = false;
        (void)sluice_web_prepare(web, kind, questions, count, message, message_size);
        code = curl_easy_perform(web->curl);
    }
    if (code == CURLE_OPERATION_TIMEDOUT) {
        status = fail(message, message_size, SLUICE_TIMEOUT, "no answer within %ld ms",
                      timeout_ms);
    } else {
        status = sluice_web_finish(web, kind, (int)code, frame, message, message_size);
    }
    web->warm = status == SLUICE_OK;
    return status;
}
