/* The inside of a connection, for conn.c, conn_tls.c and conn_deadline.c alone. */
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
    void *session;           /* NULL: the handshake is not over */
    struct tls_session *tls; /* NULL: plain */
    struct wire_peer peer;
    enum conn_state state;
    bool writing;        /* the socket was full: `output` is on its way, nothing is read */
    bool had_turn;       /* there is more to read, and others come first */
    bool unfinished;     /* the adapter had more to say than its output may hold */
    bool own_input;      /* this read goes into `input`, not into the shared buffer */
    struct buf input;    /* read and not consumed */
    struct buf output;   /* written and not taken by the socket */
    uint64_t told_bytes; /* of the connection's memory, as the metrics know it */
    int64_t last_ns;     /* the latest byte either way */
    int64_t waiting_ns;  /* since when the peer has been waited for: to finish a request, or to take
                          * the last answers of a connection that ends; 0: it is not */
    int64_t lingering_ns;
    int64_t leaving_ns; /* since when the session has been finishing by itself; 0: it is not */
    uv_write_t write;
    uv_shutdown_t shutdown;
};

/* Bytes a connection is read in one turn of the loop: a few hundred requests, so that no peer keeps
 * the others waiting for longer than those take. */
#define CONN_READ_BYTES (8u * 1024)
/* Left-overs up to this size are copied in front of the next read; longer ones (a large frame in
 * many pieces) are kept and read behind. */
#define CONN_JOIN_BYTES (4u * 1024)

void conn_close(struct conn *conn);
/* Hands the shared output to the socket. */
void conn_send(struct conn *conn);
/* Feeds the adapter and sends its answers; with a socket that takes them, until the input is used
 * up. */
void conn_feed(struct conn *conn, struct slice in, int64_t now_ns);
/* The adapter begins. False: the connection is closed. */
bool conn_begin(struct conn *conn);
/* The server goes: the session says goodbye and ends, now or by itself. */
void conn_say_goodbye(struct conn *conn);
/* Sends what the adapter appended to the shared output and ends the connection. */
void conn_end(struct conn *conn);

#endif
