/* The inside of a connection, for conn.c and conn_deadline.c alone. */
#ifndef NET_CONN_STATE_H
#define NET_CONN_STATE_H

#include "net/conn.h"

enum conn_state {
    CONN_OPEN,   /* requests are read and answered */
    CONN_ENDING, /* what is written goes out, then no more */
    CONN_LINGER, /* our side is shut; the peer's last bytes are swallowed */
    CONN_CLOSED
};

struct conn {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } io;
    struct conn_home *home;
    struct conn *next;
    struct conn *previous;
    const struct wire_protocol *protocol;
    void *session;
    enum conn_state state;
    bool writing;        /* the socket was full: `output` is on its way, nothing is read */
    bool had_turn;       /* there is more to read, and others come first */
    bool unfinished;     /* the adapter had more to say than its output may hold */
    bool own_input;      /* this read goes into `input`, not into the shared buffer */
    struct buf input;    /* read and not consumed */
    struct buf output;   /* written and not taken by the socket */
    int64_t last_ns;     /* the latest byte either way */
    int64_t waiting_ns;  /* since when the peer has been waited for: to finish a request, or to take
                          * the last answers of a connection that ends; 0: it is not */
    int64_t lingering_ns;
    uv_write_t write;
    uv_shutdown_t shutdown;
};

void conn_close(struct conn *conn);
/* Sends what the adapter appended to the shared output and ends the connection. */
void conn_end(struct conn *conn);

#endif
