/* One thread of a bench: a loop, its connections, what is sent when.
 *
 *   closed loop:  an answer frees its slot, and the slot is used again at once
 *   open loop:    questions are due at fixed instants; one that finds no free slot waits, and its
 *                 latency counts from when it was due
 *
 * bench_worker.c decides what may be sent and when it is over; bench_conn.c moves bytes. */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include "bench_load.h"
#include "bench_result.h"
#include "sluice_buffer.h"

#include <stdatomic.h>
#include <uv.h>

#define BENCH_WORKER_IN_FLIGHT_MAX 65536u

struct bench_worker;
struct bench_web;

/* A question, or a batch of them, on its way. */
struct bench_slot {
    uint32_t id; /* 0: free */
    uint32_t generation;
    uint32_t questions;
    bool measured;
    int64_t since_ns; /* when it was sent, or due */
};

struct bench_conn {
    union {
        uv_tcp_t tcp;
        uv_pipe_t pipe;
        uv_stream_t stream;
        uv_handle_t handle;
    } socket;
    struct bench_worker *worker;
    struct sluice_buffer in;
    struct sluice_buffer out;     /* frames to send */
    struct sluice_buffer leaving; /* frames that uv_write holds */
    uv_write_t write;
    bool writing;
    bool closed;
    bool dirty; /* in the worker's list of connections to flush */
    struct bench_slot *slots;
    uint32_t *free_slots;
    uint32_t free_count;
    /* RESP alone */
    uint32_t *order; /* ids of the questions on their way: a ring */
    uint32_t order_first;
    uint32_t order_count;
    struct sluice_buffer frame; /* the question being worded */
    struct sluice_buffer body;  /* the answer being read */
};

struct bench_worker_config {
    uint32_t in_flight;   /* frames a connection */
    uint32_t batch;       /* questions a frame */
    bool is_batch;        /* as batches, even of one */
    bool is_resp;         /* in the Redis protocol, else native */
    uint64_t requests;    /* measured questions of this thread; UINT64_MAX: by time */
    int64_t warmup_ns;
    int64_t duration_ns;  /* of the measured part; INT64_MAX: by number */
    uint64_t rate;        /* questions a second of all threads; 0: closed loop */
    uint32_t thread;      /* which of */
    uint32_t threads;
};

struct bench_worker {
    struct bench_worker_config config;
    struct bench_load_cursor cursor;
    uv_loop_t loop;
    uv_timer_t tick;
    uv_poll_t due; /* open loop: a timer with a finer clock than the loop's */
    int due_fd;    /* -1: closed loop */
    struct bench_conn *conns;
    uint32_t conn_count;
    uint32_t conns_open;
    struct bench_conn **dirty;
    uint32_t dirty_count;
    uint32_t next_conn; /* open loop: whose turn it is */
    uint32_t slot_bits; /* of an id: which slot */
    int64_t start_ns;
    int64_t measure_ns;
    int64_t end_ns; /* INT64_MAX: by number */
    uint64_t left;  /* questions still to send in the measured part */
    uint64_t due_index;
    uint64_t outstanding; /* frames */
    uint64_t free_total;  /* slots free on open connections */
    int64_t last_heard_ns;
    int64_t cpu_start_ns;
    bool sending;
    bool over;
    struct bench_web *web; /* by HTTP or gRPC: then there are no conns */
    struct bench_result result;
    atomic_uint_fast64_t progress; /* answers so far, for the other thread that shows them */
};

/* `fds` are connected sockets, taken over. False without memory; *worker is to be deinited then
 * too. */
bool bench_worker_init(struct bench_worker *worker, const struct bench_worker_config *config,
                       const struct bench_load_cursor *cursor, const int *fds, uint32_t count,
                       bool is_unix);
void bench_worker_deinit(struct bench_worker *worker);

/* Runs until everything is sent and answered, or nothing comes any more. */
void bench_worker_run(struct bench_worker *worker, int64_t start_ns);

/* Called by bench_conn.c. May a frame be sent now, and what is it? */
struct bench_worker_turn {
    uint32_t questions;
    bool measured;
    int64_t since_ns;
};
bool bench_worker_turn(struct bench_worker *worker, int64_t now_ns,
                       struct bench_worker_turn *turn);
/* Sends what may be sent, on `conn` (closed loop) or on all (open loop). */
void bench_worker_pump(struct bench_worker *worker, struct bench_conn *conn, int64_t now_ns);
/* What bench_worker_run begins and ends with, for a bench that moves its bytes by itself. */
void bench_worker_begin(struct bench_worker *worker, int64_t start_ns);
void bench_worker_finish(struct bench_worker *worker);
/* Open loop: when the next frame is due; else INT64_MAX. */
int64_t bench_worker_due_ns(const struct bench_worker *worker);
/* Ends the loop when nothing is left to wait for. */
void bench_worker_check_over(struct bench_worker *worker);

#endif
