#include "bench_resp.h"

#include "bench_question.h"
#include "sluice_resp.h"

#include <stdlib.h>

bool bench_resp_init(struct bench_conn *conn)
{
    conn->order = calloc(conn->worker->config.in_flight, sizeof *conn->order);
    return conn->order != NULL;
}

void bench_resp_deinit(struct bench_conn *conn)
{
    sluice_buffer_deinit(&conn->frame);
    sluice_buffer_deinit(&conn->body);
    free(conn->order);
    conn->order = NULL;
}

bool bench_resp_push(struct bench_conn *conn, uint32_t id)
{
    struct bench_worker *worker = conn->worker;
    uint32_t room = worker->config.in_flight;
    struct bench_question question;
    sluice_buffer_clear(&conn->frame);
    if (!bench_load_frame(&worker->cursor, id, 1, false, &conn->frame)) {
        return false;
    }
    bool good = bench_question_read(&conn->frame, &question) &&
                sluice_resp_encode(&conn->out, SLUICE_ENCODE_ASK, question.questions) == SLUICE_OK;
    bench_question_deinit(&question);
    if (good) {
        conn->order[(conn->order_first + conn->order_count++) % room] = id;
    }
    return good;
}

enum sluice_decode_result bench_resp_next(struct bench_conn *conn,
                                          struct sluice_decode_frame *frame, size_t *consumed)
{
    enum sluice_decode_result result = sluice_resp_decode(
        conn->in.data + conn->in.start, sluice_buffer_size(&conn->in), SLUICE_ENCODE_ASK,
        &conn->body, frame, consumed);
    if (result != SLUICE_DECODE_OK) {
        return result;
    }
    frame->id = 0;
    if (conn->order_count > 0) {
        frame->id = conn->order[conn->order_first];
        conn->order_first = (conn->order_first + 1) % conn->worker->config.in_flight;
        conn->order_count--;
    }
    return result;
}
