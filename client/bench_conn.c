#include "bench_conn.h"

#include "bench_answer.h"
#include "bench_resp.h"
#include "sluice.h"
#include "sluice_decode.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES (64u * 1024)

static int64_t now_ns(void)
{
    return (int64_t)uv_hrtime();
}

bool bench_conn_init(struct bench_conn *conn, struct bench_worker *worker, int fd, bool is_unix)
{
    uint32_t count = worker->config.in_flight;
    int error;
    conn->worker = worker;
    if (is_unix) {
        (void)uv_pipe_init(&worker->loop, &conn->socket.pipe, 0);
        error = uv_pipe_open(&conn->socket.pipe, fd);
    } else {
        (void)uv_tcp_init(&worker->loop, &conn->socket.tcp);
        error = uv_tcp_open(&conn->socket.tcp, fd);
    }
    conn->socket.handle.data = conn;
    conn->slots = calloc(count, sizeof *conn->slots);
    conn->free_slots = calloc(count, sizeof *conn->free_slots);
    if (error != 0) {
        close(fd);
    }
    if (error != 0 || conn->slots == NULL || conn->free_slots == NULL ||
        (worker->config.is_resp && !bench_resp_init(conn))) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        conn->free_slots[i] = count - 1 - i;
    }
    conn->free_count = count;
    return true;
}

void bench_conn_deinit(struct bench_conn *conn)
{
    sluice_buffer_deinit(&conn->in);
    sluice_buffer_deinit(&conn->out);
    sluice_buffer_deinit(&conn->leaving);
    bench_resp_deinit(conn);
    free(conn->slots);
    free(conn->free_slots);
}

/* An id says which slot it is, and which use of it: a late or doubled answer meets nothing. */
static uint32_t make_id(const struct bench_worker *worker, uint32_t slot, uint32_t generation)
{
    return BENCH_LOAD_ID_MIN + (generation << worker->slot_bits | slot);
}

bool bench_conn_push(struct bench_conn *conn, const struct bench_worker_turn *turn)
{
    struct bench_worker *worker = conn->worker;
    uint32_t index = conn->free_slots[conn->free_count - 1];
    struct bench_slot *slot = &conn->slots[index];
    uint32_t id = make_id(worker, index, slot->generation);
    if (worker->config.is_resp ? !bench_resp_push(conn, id)
                               : !bench_load_frame(&worker->cursor, id, turn->questions,
                                                   worker->config.is_batch, &conn->out)) {
        return false;
    }
    conn->free_count--;
    worker->free_total--;
    worker->outstanding++;
    slot->id = id;
    slot->generation = (slot->generation + 1) % (BENCH_LOAD_ID_COUNT >> worker->slot_bits);
    slot->questions = turn->questions;
    slot->measured = turn->measured;
    slot->since_ns = turn->since_ns;
    return true;
}

static void on_written(uv_write_t *write, int status)
{
    struct bench_conn *conn = write->data;
    conn->writing = false;
    sluice_buffer_clear(&conn->leaving);
    if (status < 0 && !conn->closed) {
        bench_result_trouble(&conn->worker->result, "a connection broke: %s",
                             uv_strerror(status));
        bench_conn_close(conn);
        bench_worker_check_over(conn->worker);
        return;
    }
    if (!conn->closed) {
        bench_conn_flush(conn);
    }
}

static void write_rest(struct bench_conn *conn)
{
    struct sluice_buffer swap = conn->leaving;
    conn->leaving = conn->out;
    conn->out = swap;
    conn->write.data = conn;
    uv_buf_t rest = uv_buf_init((char *)conn->leaving.data + conn->leaving.start,
                                (unsigned)sluice_buffer_size(&conn->leaving));
    int error = uv_write(&conn->write, &conn->socket.stream, &rest, 1, on_written);
    conn->writing = error == 0;
    if (error != 0) {
        sluice_buffer_clear(&conn->leaving);
        bench_result_trouble(&conn->worker->result, "a connection broke: %s",
                             uv_strerror(error));
        bench_conn_close(conn);
    }
}

void bench_conn_flush(struct bench_conn *conn)
{
    size_t size = sluice_buffer_size(&conn->out);
    if (conn->closed || conn->writing || size == 0) {
        return;
    }
    uv_buf_t all = uv_buf_init((char *)conn->out.data + conn->out.start, (unsigned)size);
    int written = uv_try_write(&conn->socket.stream, &all, 1);
    if (written > 0) {
        sluice_buffer_consume(&conn->out, (size_t)written);
    }
    if (sluice_buffer_size(&conn->out) > 0) {
        write_rest(conn);
    }
}

static void on_closed(uv_handle_t *handle)
{
    (void)handle;
}

void bench_conn_close(struct bench_conn *conn)
{
    struct bench_worker *worker = conn->worker;
    if (conn->closed) {
        return;
    }
    conn->closed = true;
    for (uint32_t i = 0; i < worker->config.in_flight; i++) {
        if (conn->slots[i].id != 0) {
            worker->result.missing += conn->slots[i].questions;
            worker->outstanding--;
        }
    }
    worker->free_total -= conn->free_count;
    conn->free_count = 0;
    worker->conns_open--;
    uv_close(&conn->socket.handle, on_closed);
}

static void take_goodbye(struct bench_worker *worker, const struct sluice_decode_frame *frame)
{
    struct sluice_error error;
    if (frame->kind == SLUICE_DECODE_ERROR && sluice_decode_error(frame->body, &error)) {
        bench_result_trouble(&worker->result, "the daemon said %s: %.*s",
                             sluice_code_text(error.code), (int)error.message.size,
                             error.message.data);
        return;
    }
    worker->result.wrong++;
    bench_result_trouble(&worker->result, "an answer came without an id");
}

static struct bench_slot *find_slot(struct bench_conn *conn, uint64_t id)
{
    uint64_t index = id - BENCH_LOAD_ID_MIN;
    index &= (UINT64_C(1) << conn->worker->slot_bits) - 1;
    if (index >= conn->worker->config.in_flight || conn->slots[index].id != id) {
        return NULL;
    }
    return &conn->slots[index];
}

static void take_frame(struct bench_conn *conn, const struct sluice_decode_frame *frame,
                       int64_t now)
{
    struct bench_worker *worker = conn->worker;
    struct bench_result *result = &worker->result;
    struct bench_slot *slot = frame->id == 0 ? NULL : find_slot(conn, frame->id);
    if (frame->id == 0) {
        take_goodbye(worker, frame);
        return;
    }
    if (slot == NULL) {
        result->wrong++;
        bench_result_trouble(result, "an answer came to a question that was not asked (id %llu)",
                             (unsigned long long)frame->id);
        return;
    }
    if (!bench_answer_take(worker, slot, frame)) {
        result->wrong += slot->questions;
        bench_result_trouble(result, "an answer was not one to its question (field %u)",
                             frame->kind);
    } else if (slot->measured) {
        int64_t latency = now - slot->since_ns;
        histogram_record(&result->latency_ns, latency < 0 ? 0 : (uint64_t)latency);
        bench_result_bin(result, now, slot->questions);
        result->last_ns = now;
    }
    slot->id = 0;
    conn->free_slots[conn->free_count++] = (uint32_t)(slot - conn->slots);
    worker->free_total++;
    worker->outstanding--;
}

static enum sluice_decode_result next_frame(struct bench_conn *conn,
                                            struct sluice_decode_frame *frame, size_t *consumed)
{
    struct sluice_decode_view bytes;
    if (conn->worker->config.is_resp) {
        return bench_resp_next(conn, frame, consumed);
    }
    enum sluice_decode_result found = sluice_decode_next(
        conn->in.data + conn->in.start, sluice_buffer_size(&conn->in), &bytes, consumed);
    return found == SLUICE_DECODE_OK && !sluice_decode_frame(bytes, frame) ? SLUICE_DECODE_BROKEN
                                                                           : found;
}

/* Takes all whole frames. False: what came is no protocol of ours. */
static bool take_frames(struct bench_conn *conn, int64_t now)
{
    struct sluice_decode_frame frame;
    size_t consumed;
    for (;;) {
        enum sluice_decode_result found = next_frame(conn, &frame, &consumed);
        if (found == SLUICE_DECODE_MORE) {
            return true;
        }
        if (found != SLUICE_DECODE_OK) {
            conn->worker->result.wrong++;
            bench_result_trouble(&conn->worker->result,
                                 "the server does not speak Sluice's protocol");
            return false;
        }
        take_frame(conn, &frame, now);
        sluice_buffer_consume(&conn->in, consumed);
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *room)
{
    struct bench_conn *conn = handle->data;
    (void)suggested;
    *room = uv_buf_init(NULL, 0);
    if (sluice_buffer_reserve(&conn->in, READ_BYTES)) {
        *room = uv_buf_init((char *)conn->in.data + conn->in.end,
                            (unsigned)(conn->in.capacity - conn->in.end));
    }
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *room)
{
    struct bench_conn *conn = stream->data;
    struct bench_worker *worker = conn->worker;
    (void)room;
    if (size == 0) {
        return;
    }
    if (size < 0) {
        if (worker->sending || conn->free_count < worker->config.in_flight) {
            bench_result_trouble(&worker->result, "a connection ended: %s",
                                 uv_strerror((int)size));
        }
        bench_conn_close(conn);
        bench_worker_check_over(worker);
        return;
    }
    int64_t now = now_ns();
    uint64_t outstanding = worker->outstanding;
    conn->in.end += (size_t)size;
    worker->last_heard_ns = now;
    bool ok = take_frames(conn, now);
    atomic_fetch_add_explicit(&worker->progress, outstanding - worker->outstanding,
                              memory_order_relaxed);
    if (!ok) {
        bench_conn_close(conn);
    } else {
        bench_worker_pump(worker, conn, now);
    }
    bench_worker_check_over(worker);
}

void bench_conn_start(struct bench_conn *conn)
{
    (void)uv_read_start(&conn->socket.stream, on_room, on_read);
}
