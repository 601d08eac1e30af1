/* An admin listener: the first bytes tell whether the peer speaks HTTP or frames, then that
 * adapter goes on.
 *
 * HTTP begins with a word in capitals and a blank. A frame whose first bytes look like capitals is
 * 65 to 90 bytes long and, by its second, one of Reload, Snapshot and Auth without an id; the
 * fourth is then the tag of a field inside, which is no capital and no blank. So frames and words
 * are told apart by the time the word ends, and no frame is as short as that. */
#include "wire/admin.h"

#include "wire/native.h"
#include "wire/web.h"

#include <stdlib.h>

/* The shortest and the longest word before the blank; a longer one is HTTP's to refuse. */
#define ADMIN_WORD_BYTES_LEAST 3u
#define ADMIN_WORD_BYTES 16u

static_assert(LIMITS_HTTP_HEAD_BYTES_MAX + WEB_BODY_BYTES >=
                  LIMITS_CLIENT_LENGTH_BYTES_MAX + LIMITS_CLIENT_FRAME_BYTES_MAX,
              "room for an unfinished request of either");

struct admin_session {
    const struct wire_protocol *inner; /* NULL: not yet told */
    void *session;                     /* inner's */
    struct wire_peer peer;
};

static void *admin_open(struct wire_worker *worker, const struct wire_peer *peer,
                        struct buf *out)
{
    struct admin_session *session = calloc(1, sizeof(*session));
    (void)worker;
    (void)out;
    if (session != NULL) {
        session->peer = *peer;
        session->peer.admin = true;
    }
    return session;
}

/* NULL: the bytes do not tell yet. */
static const struct wire_protocol *admin_tell(struct slice in)
{
    size_t size = 0;
    while (size < in.size && size < ADMIN_WORD_BYTES && 'A' <= in.data[size] &&
           in.data[size] <= 'Z') {
        size++;
    }
    if (size == in.size) {
        return NULL;
    }
    bool word = size == ADMIN_WORD_BYTES ||
                (size >= ADMIN_WORD_BYTES_LEAST && in.data[size] == ' ');
    return word ? &web_protocol : &native_protocol;
}

static enum wire_result admin_feed(void *data, struct wire_worker *worker, struct slice in,
                                   size_t *consumed, int64_t now_ns, struct buf *out,
                                   uint64_t *answered)
{
    struct admin_session *session = data;
    if (session->inner == NULL) {
        const struct wire_protocol *inner = admin_tell(in);
        *consumed = 0;
        if (inner == NULL) {
            return WIRE_MORE;
        }
        session->session = inner->open(worker, &session->peer, out);
        if (session->session == NULL) {
            return WIRE_CLOSE;
        }
        session->inner = inner;
    }
    return session->inner->feed(session->session, worker, in, consumed, now_ns, out, answered);
}

static bool admin_is_waiting(const void *data, size_t unconsumed)
{
    const struct admin_session *session = data;
    return session->inner == NULL ? unconsumed > 0
                                  : session->inner->is_waiting(session->session, unconsumed);
}

static int64_t admin_waiting_since(const void *data)
{
    const struct admin_session *session = data;
    return session->inner == NULL || session->inner->waiting_since == NULL
               ? 0
               : session->inner->waiting_since(session->session);
}

static void admin_timed_out(void *data, struct wire_worker *worker, struct buf *out)
{
    struct admin_session *session = data;
    if (session->inner != NULL) {
        session->inner->timed_out(session->session, worker, out);
    }
}

static bool admin_shutdown(void *data, struct buf *out)
{
    struct admin_session *session = data;
    return session->inner == NULL || session->inner->shutdown(session->session, out);
}

static void admin_close(void **data)
{
    struct admin_session *session = *data;
    if (session->inner != NULL) {
        session->inner->close(&session->session);
    }
    free(session);
    *data = NULL;
}

/* A frame can be told from HTTP by nobody who has not asked; the tool speaks frames. */
static void admin_refuse(struct buf *out)
{
    native_protocol.refuse(out);
}

const struct wire_protocol admin_protocol = {
    .name = "admin",
    .metrics = METRICS_ADMIN,
    .input_bytes_max = LIMITS_HTTP_HEAD_BYTES_MAX + WEB_BODY_BYTES,
    .open = admin_open,
    .feed = admin_feed,
    .is_waiting = admin_is_waiting,
    .waiting_since = admin_waiting_since,
    .timed_out = admin_timed_out,
    .shutdown = admin_shutdown,
    .close = admin_close,
    .refuse = admin_refuse,
};
