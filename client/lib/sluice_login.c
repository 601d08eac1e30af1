#include "sluice_login.h"

#include "sluice_resp.h"
#include "sluice_socket.h"

#include <stdio.h>
#include <string.h>

#define AUTH 10 /* field of ClientFrame and of ServerFrame */

/* length | 08 01 | 52 length | 0a length token */
static bool encode_auth(struct sluice_buffer *out, const char *token)
{
    size_t size = strlen(token);
    size_t body = 1 + sluice_encode_varint_size(size) + size;
    size_t frame = 2 + 1 + sluice_encode_varint_size(body) + body;
    if (!sluice_buffer_reserve(out, sluice_encode_varint_size(frame) + frame)) {
        return false;
    }
    uint8_t *at = sluice_encode_varint(out->data + out->end, frame);
    *at++ = 1 << 3;
    *at++ = 1;
    *at++ = AUTH << 3 | 2;
    at = sluice_encode_varint(at, body);
    *at++ = 1 << 3 | 2;
    at = sluice_encode_varint(at, size);
    memcpy(at, token, size);
    out->end = (size_t)(at - out->data) + size;
    return true;
}

static enum sluice_decode_result decode(const struct sluice_login *login,
                                        const struct sluice_buffer *in,
                                        struct sluice_buffer *body,
                                        struct sluice_decode_frame *frame)
{
    struct sluice_decode_view bytes;
    const uint8_t *data = in->data + in->start;
    size_t size = sluice_buffer_size(in);
    size_t consumed = 0;
    enum sluice_decode_result found;
    if (login->is_resp) {
        found = sluice_resp_decode_auth(data, size, body, frame, &consumed);
        frame->kind = frame->kind == SLUICE_DECODE_NOTHING ? AUTH : frame->kind;
    } else {
        found = sluice_decode_next(data, size, &bytes, &consumed);
        if (found == SLUICE_DECODE_OK && !sluice_decode_frame(bytes, frame)) {
            found = SLUICE_DECODE_BROKEN;
        }
    }
    /* Nothing else was asked for. */
    return found == SLUICE_DECODE_OK && consumed != size ? SLUICE_DECODE_BROKEN : found;
}

static enum sluice_status judge(const struct sluice_decode_frame *frame, char *message,
                                size_t size)
{
    struct sluice_error error;
    if (frame->kind == AUTH) {
        return SLUICE_OK;
    }
    if (frame->kind != SLUICE_DECODE_ERROR || !sluice_decode_error(frame->body, &error)) {
        (void)snprintf(message, size, "the server does not speak Sluice's protocol");
        return SLUICE_PROTOCOL;
    }
    (void)snprintf(message, size, "the daemon did not take the token: %s: %.*s",
                   sluice_code_text(error.code), (int)error.message.size, error.message.data);
    return SLUICE_UNREACHABLE;
}

static enum sluice_status talk(const struct sluice_login *login, struct sluice_buffer *out,
                               struct sluice_buffer *in, struct sluice_buffer *body,
                               struct sluice_decode_frame *frame)
{
    size_t sent;
    enum sluice_decode_result found = SLUICE_DECODE_MORE;
    enum sluice_status status = sluice_socket_send(login->fd, out->data + out->start,
                                                   sluice_buffer_size(out), login->deadline_ns,
                                                   &sent);
    while (status == SLUICE_OK && found == SLUICE_DECODE_MORE) {
        status = sluice_socket_receive(login->fd, in, login->deadline_ns);
        found = status == SLUICE_OK ? decode(login, in, body, frame) : found;
    }
    return status == SLUICE_OK && found != SLUICE_DECODE_OK ? SLUICE_PROTOCOL : status;
}

enum sluice_status sluice_login(const struct sluice_login *login, char *message, size_t size)
{
    struct sluice_buffer out = {0};
    struct sluice_buffer in = {0};
    struct sluice_buffer body = {0};
    struct sluice_decode_frame frame = {0};
    bool good = login->is_resp ? sluice_resp_encode_auth(&out, login->token)
                               : encode_auth(&out, login->token);
    enum sluice_status status =
        good ? talk(login, &out, &in, &body, &frame) : SLUICE_NO_MEMORY;
    if (status == SLUICE_OK) {
        status = judge(&frame, message, size);
    } else {
        (void)snprintf(message, size, "the token could not be shown: %s",
                       sluice_status_text(status));
    }
    sluice_buffer_deinit(&out);
    sluice_buffer_deinit(&in);
    sluice_buffer_deinit(&body);
    return status;
}
