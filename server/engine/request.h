/* What every protocol asks and is told. Adapters fill a request from their bytes and turn a
 * decision into their bytes; nothing of it belongs to one protocol. */
#ifndef ENGINE_REQUEST_H
#define ENGINE_REQUEST_H

#include "base/limits.h"
#include "base/slice.h"
#include "limiter/limiter.h"

struct request_attribute {
    struct slice name;
    struct slice value;
};

/* Bytes belong to the adapter and stay put until the decision is encoded. */
struct request {
    struct slice key;
    struct slice route;
    uint64_t cost;            /* as sent; counts when has_cost */
    bool has_cost;            /* absent: the route's own cost */
    bool cost_invalid;        /* the adapter met a cost that is no whole number 0 … 2^64 - 1 */
    bool details;             /* fill decision.rows */
    bool utf8;                /* key, route and attributes must be UTF-8 (not in RESP) */
    uint32_t attribute_count; /* as sent; above LIMITS_ATTRIBUTES_MAX is an error and only the
                               * first LIMITS_ATTRIBUTES_MAX are stored */
    struct request_attribute attributes[LIMITS_ATTRIBUTES_MAX];
};

/* Numbers of google.rpc.Code. */
enum request_code {
    REQUEST_OK = 0,
    REQUEST_INVALID_ARGUMENT = 3,
    REQUEST_NOT_FOUND = 5,
    REQUEST_PERMISSION_DENIED = 7,
    REQUEST_RESOURCE_EXHAUSTED = 8,
    REQUEST_UNIMPLEMENTED = 12,
    REQUEST_INTERNAL = 13,
    REQUEST_UNAVAILABLE = 14,
    REQUEST_UNAUTHENTICATED = 16
};

struct request_error {
    enum request_code code;
    char field[LIMITS_FIELD_BYTES_MAX];     /* valid UTF-8; "" where no field is at fault */
    char message[LIMITS_MESSAGE_BYTES_MAX]; /* one sentence; peers' bytes only escaped */
};

/* Sets code, field and a formatted message. */
void request_error_set(struct request_error *error, enum request_code code, const char *field,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The field of one attribute, "attributes.<name>", written into `field`; plain "attributes" where
 * the name cannot stand in one (empty, too long, not UTF-8, with a NUL). */
const char *request_attribute_field(struct slice name, char field[LIMITS_FIELD_BYTES_MAX]);

/* Checks what needs no limits file: lengths, UTF-8, cost, attribute names. Of several faults the
 * first in the order key, route, cost, attributes.<name>, attributes. False: *error is filled. */
bool request_check(const struct request *request, struct request_error *error);

/* "INVALID_ARGUMENT" … */
const char *request_code_name(enum request_code code);

/* The numbers of sluice.v1.Reason. */
enum reason {
    REASON_UNDER_LIMIT = 1,
    REASON_UNLIMITED = 2,
    REASON_NO_LIMIT = 3,
    REASON_SHADOWED = 4,
    REASON_OVER_LIMIT = 5,
    REASON_COST_EXCEEDS_LIMIT = 6,
    REASON_BLOCKED = 7,
    REASON_STORE_FULL = 8
};

/* "UNDER_LIMIT" … */
const char *request_reason_name(enum reason reason);

#define DECISION_UNLIMITED LIMITS_QUOTA_MAX /* `limit` and `remaining` when nothing limits */
#define DECISION_ABSENT INT64_C(-1)         /* a duration that is not shown */
#define DECISION_NEVER INT64_C(-2)          /* retry_after of what can never pass */

/* The numbers of an answer or of one of its rows. limit_name points into the policy set and holds
 * until the worker's next engine_enter. */
struct decision_row {
    struct slice limit_name; /* empty: none shown */
    bool allowed;
    bool shadow;
    enum limiter_algorithm algorithm; /* rows only */
    enum reason reason;               /* rows too: UNDER_LIMIT, UNLIMITED, OVER_LIMIT, … */
    uint64_t limit;
    uint64_t remaining;
    int64_t retry_after_ns; /* >= 0, DECISION_ABSENT or DECISION_NEVER */
    int64_t reset_after_ns; /* >= 0 or DECISION_ABSENT */
    int64_t delay_ns;       /* 0: not shown */
    int64_t window_ns;      /* rows only: W, or the calendar window's current length */
    bool calendar;          /* rows only: HTTP's policy header leaves out w */
    uint64_t quota;         /* rows only: L and B of the numbers in force, for q and w */
    uint64_t burst;
};

struct decision {
    struct decision_row shown;
    uint32_t row_count; /* 0 unless details were asked for; a shadow limit that was skipped because
                         * it cannot tell who is counted has no row */
    struct decision_row rows[LIMITS_ROUTE_LIMITS_MAX];
};

#endif
