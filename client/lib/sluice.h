/* libsluice: asks a Sluice daemon whether a call may go ahead. Plain C11, this header alone.
 *
 *     struct sluice *gate;
 *     struct sluice_options options = {.on_error = SLUICE_ON_ERROR_ALLOW};
 *     if (sluice_open("native://127.0.0.1:7070", &options, &gate) != SLUICE_OK) ...
 *     if (!sluice_allow(gate, "alice", "POST /login")) ... answer "429 Too Many Requests"
 *     sluice_close(&gate);
 *
 * A client holds one connection and belongs to one thread at a time. Every call returns within
 * the time-out, whatever the daemon or the network does; connecting, also by name, is part of it.
 * When there is no decision (no daemon, no answer in time, an answer that cannot be read, an
 * Error), `allowed` is what the caller chose in `on_error`, and `decided` is false. The client
 * connects again by itself: it is back to normal within a second of the daemon's return.
 *
 * A question that got no answer may have been counted: the daemon may have been reached and its
 * answer lost. The client asks again by itself only where that is ruled out.
 *
 * For many questions in flight on a libuv loop: sluice_async.h. */
#ifndef SLUICE_H
#define SLUICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sluice_status {
    SLUICE_OK = 0,
    SLUICE_INVALID = -1,     /* the URL, the options or the question cannot be right */
    SLUICE_UNSUPPORTED = -2, /* a protocol that is not in this build */
    SLUICE_NO_MEMORY = -3,
    SLUICE_TIMEOUT = -4,     /* no answer in time */
    SLUICE_UNREACHABLE = -5, /* no connection, or it ended before the answer */
    SLUICE_PROTOCOL = -6,    /* what came back is not an answer to this question */
    SLUICE_ERROR = -7,       /* the daemon answered with an Error: see answer.error */
    SLUICE_BUSY = -8         /* more in flight than a client takes (sluice_async.h) */
};

/* A static English phrase; never NULL. */
const char *sluice_status_text(enum sluice_status status);

/* Bytes with their length. In answers one NUL follows them, so that data is a C string too. */
struct sluice_bytes {
    const char *data; /* may be NULL when size is 0 in a question; never NULL in an answer */
    size_t size;
};

/* What an answer says when nobody could decide; the caller has to choose. */
enum sluice_on_error {
    SLUICE_ON_ERROR_UNSET = 0, /* refused by sluice_open */
    SLUICE_ON_ERROR_ALLOW = 1, /* fail open */
    SLUICE_ON_ERROR_DENY = 2   /* fail closed */
};

#define SLUICE_TIMEOUT_MS_DEFAULT 50

struct sluice_options {
    uint32_t timeout_ms;           /* of a whole call; 0: SLUICE_TIMEOUT_MS_DEFAULT */
    enum sluice_on_error on_error; /* required */
    char *why;                     /* gets a sentence when opening fails; may be NULL */
    size_t why_size;               /* bytes of why */
    const char *token;             /* of a daemon with --tokens; NULL: none. It is kept as long as
                                    * the client */
    const char *ca_cert;           /* https, grpcs: who signs the daemon's certificate (PEM); NULL:
                                    * those that the system trusts */
    const char *cert;              /* the client's own certificate, key (PEM), for a daemon with */
    const char *key;               /* --tls-client-ca; NULL: none */
};

struct sluice_attribute {
    struct sluice_bytes name;
    struct sluice_bytes value;
};

/* The bounds are the daemon's: key, route and values 1024 bytes, 16 attributes, whole numbers up
 * to 2^63 - 1. What is outside comes back as its Error INVALID_ARGUMENT. */
struct sluice_question {
    struct sluice_bytes key;
    struct sluice_bytes route;
    uint64_t cost; /* 0 is a look; counts only when has_cost */
    bool has_cost; /* false: the route's own cost */
    bool details;  /* asks for one row per limit of the route */
    const struct sluice_attribute *attributes;
    size_t attribute_count;
};

enum sluice_reason {
    SLUICE_REASON_UNSPECIFIED = 0, /* of an answer that was not decided */
    SLUICE_REASON_UNDER_LIMIT = 1,
    SLUICE_REASON_UNLIMITED = 2,
    SLUICE_REASON_NO_LIMIT = 3,
    SLUICE_REASON_SHADOWED = 4,
    SLUICE_REASON_OVER_LIMIT = 5,
    SLUICE_REASON_COST_EXCEEDS_LIMIT = 6,
    SLUICE_REASON_BLOCKED = 7,
    SLUICE_REASON_STORE_FULL = 8
};

/* "OVER_LIMIT"; "UNKNOWN" for a number that this build does not know. */
const char *sluice_reason_text(enum sluice_reason reason);

/* The numbers of google.rpc.Code. */
enum sluice_code {
    SLUICE_CODE_NONE = 0, /* no Error from the daemon */
    SLUICE_CODE_INVALID_ARGUMENT = 3,
    SLUICE_CODE_NOT_FOUND = 5,
    SLUICE_CODE_PERMISSION_DENIED = 7,
    SLUICE_CODE_RESOURCE_EXHAUSTED = 8,
    SLUICE_CODE_UNIMPLEMENTED = 12,
    SLUICE_CODE_INTERNAL = 13,
    SLUICE_CODE_UNAVAILABLE = 14,
    SLUICE_CODE_UNAUTHENTICATED = 16
};

/* "INVALID_ARGUMENT"; "UNKNOWN" for a number that this build does not know. */
const char *sluice_code_text(enum sluice_code code);

/* Why there is no decision. */
struct sluice_error {
    enum sluice_status status;   /* SLUICE_OK: there is one */
    enum sluice_code code;       /* the daemon's, where status is SLUICE_ERROR */
    struct sluice_bytes field;   /* the field at fault; empty where there is none */
    struct sluice_bytes message; /* one sentence */
};

#define SLUICE_ABSENT INT64_C(-1) /* a duration that the answer does not show */

/* One limit of the route, with its own verdict and numbers. */
struct sluice_row {
    struct sluice_bytes limit_name;
    struct sluice_bytes algorithm;
    uint64_t limit;
    uint64_t remaining;
    int64_t retry_after_ns; /* refused and SLUICE_ABSENT: never */
    int64_t reset_after_ns;
    int64_t delay_ns;
    int64_t window_ns;
    bool allowed;
    bool shadow;
};

struct sluice_answer {
    bool allowed;
    bool decided; /* false: not decided by the daemon; `allowed` is on_error, `error` says why */
    enum sluice_reason reason;
    uint64_t limit; /* 999999999999999: nothing limits */
    uint64_t remaining;
    int64_t retry_after_ns; /* of a refusal; SLUICE_ABSENT there: it can never pass */
    int64_t reset_after_ns;
    int64_t delay_ns;       /* hold the call this long; SLUICE_ABSENT: do not */
    struct sluice_bytes limit_name; /* empty: none */
    struct sluice_bytes lease_id;
    const struct sluice_row *rows; /* when details were asked for */
    size_t row_count;
    struct sluice_error error;
};

struct sluice;

/* Takes native://HOST:PORT, unix:PATH or unix://PATH, which is the quickest; and http:// and
 * https: (its JSON API), grpc:// and grpcs://, resp:// (the Redis protocol). What a protocol has
 * no words for is SLUICE_UNSUPPORTED: batches and metrics over JSON and RESP, details over RESP;
 * JSON carries times in whole milliseconds, as RESP does, and keys in UTF-8. Touches no network:
 * a daemon that is away is no reason for a program not to start. On anything but SLUICE_OK
 * *client is NULL. */
enum sluice_status sluice_open(const char *url, const struct sluice_options *options,
                               struct sluice **client);
void sluice_close(struct sluice **client);

/* May this key call this route now (at the route's own cost)? */
bool sluice_allow(struct sluice *client, const char *key, const char *route);

/* The same with everything that can be asked and answered. SLUICE_OK when the daemon decided,
 * else answer->error.status. What an answer points to holds until the client's next call. */
enum sluice_status sluice_ask(struct sluice *client, const struct sluice_question *question,
                              struct sluice_answer *answer);

/* At most 1000 questions, decided in order at one instant, each seeing the effect of those before
 * it. answers has room for count. SLUICE_OK when the batch was answered: single questions in it may
 * still have an error of their own. */
enum sluice_status sluice_ask_batch(struct sluice *client, const struct sluice_question *questions,
                                    size_t count, struct sluice_answer *answers);

/* Gives units back; the answer is that of a look right after. `details` is not sent. */
enum sluice_status sluice_refund(struct sluice *client, const struct sluice_question *question,
                                 struct sluice_answer *answer);

struct sluice_reset_answer {
    bool decided;
    uint32_t counters; /* forgotten: those that were not as if never used */
    struct sluice_error error;
};

/* Forgets the counters of a request. Cost and details are not sent. */
enum sluice_status sluice_reset(struct sluice *client, const struct sluice_question *question,
                                struct sluice_reset_answer *answer);

struct sluice_stats_answer {
    struct sluice_bytes text; /* metrics, in Prometheus' text format */
    struct sluice_error error;
};

/* The metrics of a daemon. Answered where the URL is that of its admin listener. */
enum sluice_status sluice_stats(struct sluice *client, struct sluice_stats_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
