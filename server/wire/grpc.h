/* gRPC over HTTP/2: which methods there are, and how a call's message becomes its answer. Framing
 * of streams is http2.c's; what a method means is its handler's, in a file a service (grpc_native,
 * grpc_health, grpc_reflection, envoy_wire).
 *
 *   stream ends -> grpc_find -> the 5-byte prefix is checked and taken off -> handle -> prefix,
 *   answer, trailers; or trailers alone, with the error's code and sentence */
#ifndef WIRE_GRPC_H
#define WIRE_GRPC_H

#include "wire/wire.h"

/* One message of a call, and where its answer goes. */
struct grpc_call {
    struct wire_worker *worker; /* its arena and scratch are the handler's until it returns; its
                                 * engine was entered and rewound */
    const struct wire_peer *peer;
    int64_t now_ns;
    struct slice message;        /* without the prefix; may be empty */
    bool draining;               /* the server is going */
    struct buf *out;             /* the answer's bytes are appended, without a prefix; whatever was
                                  * appended is dropped when the call fails */
    uint64_t *answered;          /* raised by the decisions made */
    struct request_error *error; /* filled where the code is not REQUEST_OK; `code` need not be */
};

enum grpc_kind {
    GRPC_UNARY,  /* one message, one answer */
    GRPC_STREAM, /* an answer to each message as it comes; the caller ends the stream */
    GRPC_WATCH   /* one message; the answer holds until the server goes, then another ends it */
};

struct grpc_method {
    const char *path; /* "/sluice.v1.RateLimiter/ShouldAllow" */
    enum grpc_kind kind;
    unsigned right; /* enum access_right that a token has to have; 0: none is asked for */
    /* REQUEST_OK: *call->out has the answer. Counts its requests (metrics_request); errors are
     * counted by the caller. */
    enum request_code (*handle)(struct grpc_call *call);
};

/* The method a call names, or NULL. */
const struct grpc_method *grpc_find(struct slice path);
/* Is it the full name of a service that has a method here? */
bool grpc_serves(struct slice service);

/* Codes that only gRPC has. */
#define GRPC_DEADLINE_EXCEEDED 4

/* "20m", "1S", "19998417u": at most 8 digits and a unit. False: it is none. */
bool grpc_timeout(struct slice text, int64_t *timeout_ns);

enum grpc_frame {
    GRPC_FRAME_WHOLE,
    GRPC_FRAME_MORE,      /* not all of it is here */
    GRPC_FRAME_BAD,       /* neither plain nor compressed */
    GRPC_FRAME_COMPRESSED,
    GRPC_FRAME_TOO_LONG   /* above LIMITS_GRPC_MESSAGE_BYTES_MAX */
};

/* The message at the front of `in`; *used is its size with the prefix. */
enum grpc_frame grpc_frame(struct slice in, struct slice *message, size_t *used);
/* Why a frame that is neither whole nor to be continued is refused. */
void grpc_frame_error(enum grpc_frame frame, struct request_error *error);

/* Appends the answer to one message, with its prefix, or says with which code the call ends;
 * *error then says why. */
enum request_code grpc_answer(const struct grpc_method *method, struct grpc_call *call);

/* What grpc-message says of an error: its field and sentence, percent-encoded. */
void grpc_sentence(const struct request_error *error, struct buf *out);

#endif
