#include "net/conn.h"

#include "base/clock.h"
#include "net/conn_deadline.h"
#include "net/conn_state.h"
#include "net/conn_tls.h"

#include <stdlib.h>
#include <unistd.h>

/* What an idle connection may keep of its own buffers. */
#define CONN_KEEP_BYTES (4u * 1024)
#define CONN_OUTPUT_KEEP_BYTES (1024u * 1024)
static void conn_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *unused);

static void conn_free(struct conn *conn)
{
    buf_deinit(&conn->input);
    buf_deinit(&conn->output);
    tls_session_destroy(&conn->tls);
    free(conn);
}

/* Tells the metrics how much the connection holds: it grows with an unfinished request and with
 * answers that are not taken. */
static void conn_account(struct conn *conn, uint64_t bytes)
{
    if (bytes != conn->told_bytes) {
        metrics_connection_bytes(conn->home->wire->metrics,
                                 (int64_t)bytes - (int64_t)conn->told_bytes);
        conn->told_bytes = bytes;
    }
}

static uint64_t conn_bytes(const struct conn *conn)
{
    return sizeof(*conn) + conn->input.capacity + conn->output.capacity;
}

static void conn_unlink(struct conn *conn)
{
    struct conn_home *home = conn->home;
    if (conn->previous == NULL) {
        home->first = conn->next;
    } else {
        conn->previous->next = conn->next;
    }
    if (conn->next != NULL) {
        conn->next->previous = conn->previous;
    }
    home->count--;
}

static void conn_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    struct conn_home *home = conn->home;
    conn_account(conn, 0);
    conn_unlink(conn);
    metrics_connection_closed(home->wire->metrics, conn->protocol->metrics);
    conn_free(conn);
    home->on_closed(home->data);
}

void conn_close(struct conn *conn)
{
    if (conn->state == CONN_CLOSED) {
        return;
    }
    conn->state = CONN_CLOSED;
    if (conn->tls != NULL) {
        buf_clear(&conn->home->records);
    }
    if (conn->session != NULL) {
        conn->protocol->close(&conn->session);
    }
    uv_close(&conn->io.handle, conn_closed);
}

static void conn_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
    struct conn *conn = handle->data;
    struct conn_home *home = conn->home;
    size_t left = conn->state == CONN_LINGER || conn->tls != NULL ? 0 : conn->input.size;
    (void)suggested;
    if (conn->had_turn) {
        /* libuv would read on; without a buffer it goes on to the others and comes back. */
        *out = uv_buf_init(NULL, 0);
        return;
    }
    conn->own_input = left > CONN_JOIN_BYTES;
    if (conn->own_input) {
        uint8_t *room = buf_reserve(&conn->input, CONN_READ_BYTES);
        *out = uv_buf_init((char *)room, room == NULL ? 0 : CONN_READ_BYTES);
        return;
    }
    if (left > 0) {
        memcpy(home->input, conn->input.data + conn->input.start, left);
    }
    *out = uv_buf_init((char *)home->input + left, CONN_READ_BYTES);
}

static void conn_shut(uv_shutdown_t *request, int status)
{
    (void)request;
    (void)status;
}

/* False: it cannot be read any more. */
static bool conn_start_reading(struct conn *conn)
{
    int result = uv_read_start(&conn->io.stream, conn_alloc, conn_read);
    return result == 0 || result == UV_EALREADY;
}

/* Everything is written: shuts our side and swallows what still comes. */
static void conn_linger(struct conn *conn)
{
    conn->state = CONN_LINGER;
    conn->waiting_ns = 0;
    conn->lingering_ns = clock_now_ns();
    buf_clear(&conn->input);
    buf_trim(&conn->input, 0);
    if (uv_shutdown(&conn->shutdown, &conn->io.stream, conn_shut) != 0 ||
        !conn_start_reading(conn)) {
        conn_close(conn);
        return;
    }
    conn_deadline_watch(conn->home);
}

/* Nothing is being written: goes on with what the state asks for. */
static void conn_proceed(struct conn *conn)
{
    if (conn->state == CONN_ENDING) {
        conn_linger(conn);
    } else if (conn->state == CONN_OPEN && !conn_start_reading(conn)) {
        conn_close(conn);
    }
}

static void conn_written(uv_write_t *request, int status)
{
    struct conn *conn = request->data;
    conn->writing = false;
    if (conn->state == CONN_CLOSED) {
        return;
    }
    if (status < 0) {
        conn_close(conn);
        return;
    }
    buf_clear(&conn->output);
    buf_trim(&conn->output, 0);
    conn_account(conn, conn_bytes(conn));
    conn->last_ns = clock_now_ns();
    if (conn->state == CONN_OPEN && (conn->input.size > 0 || conn->unfinished)) {
        conn_feed(conn, buf_slice(&conn->input), conn->last_ns);
    }
    if (conn->tls != NULL) {
        conn_tls_pull(conn);
    }
    if (conn->writing || conn->state == CONN_CLOSED || conn->state == CONN_LINGER) {
        return;
    }
    if (conn->home->stopping && conn->state == CONN_OPEN && conn->leaving_ns == 0) {
        conn_say_goodbye(conn);
        return;
    }
    conn_proceed(conn);
}

/* The socket did not take all of it: the rest follows when it can, and nothing is read until
 * then. */
static void conn_queue(struct conn *conn, struct slice rest)
{
    buf_append_slice(&conn->output, rest);
    if (conn->output.failed) {
        conn_close(conn);
        return;
    }
    uv_buf_t bytes = uv_buf_init((char *)conn->output.data + conn->output.start,
                                 (unsigned)conn->output.size);
    conn->write.data = conn;
    if (uv_write(&conn->write, &conn->io.stream, &bytes, 1, conn_written) != 0) {
        conn_close(conn);
        return;
    }
    conn->writing = true;
    conn_account(conn, conn_bytes(conn));
    (void)uv_read_stop(&conn->io.stream);
}

void conn_send(struct conn *conn)
{
    struct buf *out = conn->tls == NULL ? &conn->home->output : conn_tls_seal(conn);
    struct slice bytes = buf_slice(out);
    if (bytes.size == 0) {
        return;
    }
    uv_buf_t whole = uv_buf_init((char *)out->data + out->start, (unsigned)bytes.size);
    int done = uv_try_write(&conn->io.stream, &whole, 1);
    size_t taken = done > 0 ? (size_t)done : 0;
    if (done < 0 && done != UV_EAGAIN) {
        conn_close(conn);
    } else if (taken < bytes.size) {
        conn_queue(conn, slice_make(bytes.data + taken, bytes.size - taken));
    }
    buf_clear(out);
    buf_trim(out, CONN_OUTPUT_KEEP_BYTES);
}

/* Keeps what was not consumed. */
static void conn_keep(struct conn *conn, struct slice in, size_t used)
{
    bool kept = conn->input.size > 0;
    if (kept && in.data == conn->input.data + conn->input.start) {
        buf_consume(&conn->input, used);
    } else if (kept || used < in.size) {
        buf_clear(&conn->input);
        buf_append(&conn->input, in.data + used, in.size - used);
    } else {
        return;
    }
    if (conn->input.failed) {
        conn_close(conn);
        return;
    }
    buf_trim(&conn->input, CONN_KEEP_BYTES);
    conn_account(conn, conn_bytes(conn));
}

/* When the request that is unfinished after this feed began. */
static void conn_note_waiting(struct conn *conn, size_t used, size_t left, int64_t now_ns)
{
    const struct wire_protocol *protocol = conn->protocol;
    int64_t since_ns = conn->writing || protocol->waiting_since == NULL
                           ? 0
                           : protocol->waiting_since(conn->session);
    if (since_ns != 0) {
        conn->waiting_ns = since_ns;
    } else if (left == 0 || conn->writing || !protocol->is_waiting(conn->session, left)) {
        conn->waiting_ns = 0;
        return;
    } else if (used > 0 || conn->waiting_ns == 0) {
        conn->waiting_ns = now_ns;
    }
    if (conn->home->timeouts.request_ns > 0) {
        conn_deadline_watch(conn->home);
    }
}

void conn_feed(struct conn *conn, struct slice in, int64_t now_ns)
{
    struct conn_home *home = conn->home;
    const struct wire_protocol *protocol = conn->protocol;
    enum wire_result result;
    size_t used = 0;
    uint64_t answered = 0;
    do {
        size_t consumed = 0;
        struct slice rest = slice_make(in.data + used, in.size - used);
        result = protocol->feed(conn->session, home->wire, rest, &consumed, now_ns,
                                &home->output, &answered);
        used += consumed;
        conn_send(conn);
    } while (result == WIRE_FULL && !conn->writing && conn->state == CONN_OPEN);
    conn->unfinished = result == WIRE_FULL;
    if (answered > 0) {
        metrics_duration(home->wire->metrics, protocol->metrics, clock_now_ns() - now_ns,
                         answered);
    }
    if (conn->state != CONN_OPEN) {
        return;
    }
    if (result == WIRE_CLOSE) {
        conn_end(conn);
        return;
    }
    conn_keep(conn, in, used);
    if (conn->state == CONN_OPEN) {
        conn_note_waiting(conn, used, in.size - used, now_ns);
    }
}

static void conn_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *unused)
{
    struct conn *conn = stream->data;
    (void)unused;
    if (size == UV_ENOBUFS && conn->had_turn) {
        conn->had_turn = false;
        return;
    }
    if (size < 0) {
        conn_close(conn);
        return;
    }
    conn->had_turn = size == CONN_READ_BYTES;
    if (size == 0 || conn->state != CONN_OPEN) {
        return;
    }
    int64_t now_ns = clock_now_ns();
    conn->last_ns = now_ns;
    if (conn->tls != NULL) {
        conn_tls_take(conn, slice_make(conn->home->input, (size_t)size));
    } else if (conn->own_input) {
        buf_commit(&conn->input, (size_t)size);
        conn_feed(conn, buf_slice(&conn->input), now_ns);
    } else {
        conn_feed(conn, slice_make(conn->home->input, conn->input.size + (size_t)size), now_ns);
    }
}

void conn_end(struct conn *conn)
{
    if (conn->tls != NULL) {
        conn_tls_finish(conn);
    }
    conn_send(conn);
    if (conn->state != CONN_OPEN) {
        return;
    }
    conn->state = CONN_ENDING;
    conn->waiting_ns = clock_now_ns();
    if (!conn->writing) {
        conn_linger(conn);
    } else {
        conn_deadline_watch(conn->home);
    }
}

void conn_say_goodbye(struct conn *conn)
{
    if (conn->session == NULL ||
        conn->protocol->shutdown(conn->session, &conn->home->output)) {
        conn_end(conn);
        return;
    }
    if (conn->leaving_ns == 0) {
        conn->leaving_ns = clock_now_ns();
        conn_deadline_watch(conn->home);
    }
    conn_send(conn);
    if (conn->state == CONN_OPEN && !conn->writing) {
        conn_proceed(conn);
    }
}

enum status conn_home_init(struct conn_home *home)
{
    home->first = NULL;
    home->count = 0;
    home->stopping = false;
    home->input = malloc(CONN_JOIN_BYTES + CONN_READ_BYTES);
    if (home->input == NULL) {
        return STATUS_NO_MEMORY;
    }
    buf_init(&home->output, WIRE_OUT_HIGH_BYTES + LIMITS_SERVER_FRAME_BYTES_MAX);
    home->plain = NULL;
    buf_init(&home->records, CONN_TLS_RECORDS_BYTES(home->output.max_bytes));
    conn_deadline_init(home);
    return STATUS_OK;
}

void conn_home_deinit(struct conn_home *home)
{
    conn_deadline_deinit(home);
    buf_deinit(&home->output);
    buf_deinit(&home->records);
    free(home->input);
    free(home->plain);
    home->input = NULL;
    home->plain = NULL;
}

/* Makes the handle. False: the socket is closed, and the connection is freed or will be. */
static bool conn_attach(struct conn *conn, const struct conn_socket *socket)
{
    uv_loop_t *loop = conn->home->loop;
    int failed = socket->is_unix ? uv_pipe_init(loop, &conn->io.pipe, 0)
                                 : uv_tcp_init(loop, &conn->io.tcp);
    if (failed != 0) {
        close(socket->fd);
        conn_free(conn);
        return false;
    }
    return true;
}

static void conn_link(struct conn *conn)
{
    struct conn_home *home = conn->home;
    conn->next = home->first;
    conn->previous = NULL;
    if (home->first != NULL) {
        home->first->previous = conn;
    }
    home->first = conn;
    home->count++;
    metrics_connection_opened(home->wire->metrics, conn->protocol->metrics);
    conn_account(conn, conn_bytes(conn));
}

bool conn_begin(struct conn *conn)
{
    struct conn_home *home = conn->home;
    conn->session = conn->protocol->open(home->wire, &conn->peer, &home->output);
    if (conn->session == NULL) {
        conn_close(conn);
        return false;
    }
    if (home->timeouts.idle_ns > 0) {
        conn_deadline_watch(home);
    }
    conn_send(conn);
    return conn->state == CONN_OPEN;
}

/* NULL: no memory. */
static struct conn *conn_make(struct conn_home *home, const struct conn_socket *socket)
{
    struct conn *conn = calloc(1, sizeof(*conn));
    if (conn == NULL) {
        tls_release(socket->tls);
        return NULL;
    }
    conn->home = home;
    conn->protocol = socket->protocol;
    conn->peer = socket->peer;
    conn->last_ns = clock_now_ns();
    buf_init(&conn->input, socket->protocol->input_bytes_max + 2 * CONN_READ_BYTES);
    buf_init(&conn->output, home->records.max_bytes);
    if (socket->tls != NULL && !conn_tls_open(conn, socket->tls)) {
        free(conn);
        return NULL;
    }
    return conn;
}

enum status conn_open(struct conn_home *home, const struct conn_socket *socket)
{
    struct conn *conn = conn_make(home, socket);
    if (conn == NULL) {
        close(socket->fd);
        return STATUS_NO_MEMORY;
    }
    if (!conn_attach(conn, socket)) {
        return STATUS_NO_MEMORY;
    }
    conn->io.handle.data = conn;
    conn_link(conn);
    int failed = socket->is_unix ? uv_pipe_open(&conn->io.pipe, socket->fd)
                                 : uv_tcp_open(&conn->io.tcp, socket->fd);
    if (failed != 0) {
        close(socket->fd);
        conn_close(conn);
        return STATUS_OK;
    }
    if (!socket->is_unix) {
        (void)uv_tcp_nodelay(&conn->io.tcp, 1);
    }
    if (conn->tls != NULL) {
        conn_tls_await(conn);
    } else if (!conn_begin(conn)) {
        return STATUS_OK;
    }
    if (!conn->writing) {
        conn_proceed(conn);
    }
    return STATUS_OK;
}

void conn_home_stop(struct conn_home *home)
{
    home->stopping = true;
    for (struct conn *conn = home->first, *next; conn != NULL; conn = next) {
        next = conn->next;
        if (conn->state == CONN_OPEN && !conn->writing) {
            conn_say_goodbye(conn);
        }
    }
}

void conn_home_close_all(struct conn_home *home)
{
    for (struct conn *conn = home->first, *next; conn != NULL; conn = next) {
        next = conn->next;
        conn_close(conn);
    }
}
