#include "wire/native_admin.h"

#include "wire/admin.h"

/* Room in a ServerFrame for everything but the text of the metrics. */
#define NATIVE_ADMIN_FRAME_BYTES 64u

static bool native_admin_fail(struct native_turn *turn, uint64_t id, enum request_code code,
                              struct slice message)
{
    struct request_error error;
    request_error_set(&error, code, "", "%.*s", (int)message.size, (const char *)message.data);
    return native_turn_error(turn, id, &error);
}

static bool native_admin_stats(struct native_turn *turn, uint64_t id, struct buf *text)
{
    Sluice__V1__StatsResponse stats = SLUICE__V1__STATS_RESPONSE__INIT;
    Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
    const struct wire_admin *admin = turn->worker->config->admin;
    metrics_request(turn->worker->metrics, turn->metrics, METRICS_STATS, 1);
    admin->stats(admin->data, text);
    if (text->failed ||
        text->size > LIMITS_SERVER_FRAME_BYTES_MAX - NATIVE_ADMIN_FRAME_BYTES) {
        return native_admin_fail(turn, id, REQUEST_RESOURCE_EXHAUSTED,
                                 slice_text("the metrics do not fit into a frame; GET /metrics "
                                            "on the same address has room"));
    }
    stats.text.data = text->data + text->start;
    stats.text.len = text->size;
    frame.id = id;
    frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_STATS;
    frame.stats = &stats;
    return pb_append_frame(&frame.base, turn->out);
}

/* One string a line, in the arena; `lines` has room for `count`. */
static size_t native_admin_split(struct slice text, ProtobufCBinaryData *lines, size_t count)
{
    size_t filled = 0;
    while (text.size > 0 && filled < count) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t size = end == NULL ? text.size : (size_t)(end - text.data);
        lines[filled].data = (uint8_t *)(uintptr_t)text.data;
        lines[filled++].len = size;
        size += end != NULL;
        text = slice_make(text.data + size, text.size - size);
    }
    return filled;
}

static bool native_admin_reload(struct native_turn *turn, uint64_t id, struct buf *errors)
{
    ProtobufCBinaryData lines[LIMITS_FILE_ERRORS_MAX + 1]; /* the last says how many more */
    Sluice__V1__ReloadResponse reload = SLUICE__V1__RELOAD_RESPONSE__INIT;
    Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
    const struct wire_admin *admin = turn->worker->config->admin;
    metrics_request(turn->worker->metrics, turn->metrics, METRICS_RELOAD, 1);
    reload.reloaded = admin->reload(admin->data, errors);
    if (!reload.reloaded) {
        reload.errors = lines;
        reload.n_errors =
            native_admin_split(buf_slice(errors), lines, LIMITS_FILE_ERRORS_MAX + 1);
    }
    frame.id = id;
    frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_RELOAD;
    frame.reload = &reload;
    return pb_append_frame(&frame.base, turn->out);
}

static bool native_admin_snapshot(struct native_turn *turn, uint64_t id, struct buf *why)
{
    Sluice__V1__SnapshotResponse snapshot = SLUICE__V1__SNAPSHOT_RESPONSE__INIT;
    Sluice__V1__ServerFrame frame = SLUICE__V1__SERVER_FRAME__INIT;
    const struct wire_admin *admin = turn->worker->config->admin;
    metrics_request(turn->worker->metrics, turn->metrics, METRICS_SNAPSHOT, 1);
    enum request_code code = admin->snapshot(admin->data, why);
    if (code != REQUEST_OK) {
        return native_admin_fail(turn, id, code, buf_slice(why));
    }
    frame.id = id;
    frame.body_case = SLUICE__V1__SERVER_FRAME__BODY_SNAPSHOT;
    frame.snapshot = &snapshot;
    return pb_append_frame(&frame.base, turn->out);
}

bool native_admin_answer(struct native_turn *turn, const Sluice__V1__ClientFrame *message)
{
    struct buf text;
    bool good;
    if (!turn->peer->admin) {
        return native_admin_fail(turn, message->id, REQUEST_PERMISSION_DENIED,
                                 slice_text("answered on an admin listener only"));
    }
    if (turn->worker->config->admin == NULL) {
        return native_admin_fail(turn, message->id, REQUEST_UNIMPLEMENTED,
                                 slice_text("this server has nothing to administer"));
    }
    buf_init(&text, 0);
    engine_leave(turn->worker->engine); /* an answer may be long in coming; no set is held for it */
    if (message->body_case == SLUICE__V1__CLIENT_FRAME__BODY_STATS) {
        good = native_admin_stats(turn, message->id, &text);
    } else if (message->body_case == SLUICE__V1__CLIENT_FRAME__BODY_RELOAD) {
        good = native_admin_reload(turn, message->id, &text);
    } else {
        good = native_admin_snapshot(turn, message->id, &text);
    }
    engine_enter(turn->worker->engine);
    buf_deinit(&text);
    return good;
}
