/* A slow and obvious limiter, written from the words of the contract and sharing no code with the
 * fast one. It keeps plain lists of admissions, has instants that cannot overflow, and answers one
 * question: would this cost fit at that instant? Waits, `remaining` and resets are then not
 * computed but checked: a wait of w is right when the cost fits at now + w and not at
 * now + w - 1. */
#ifndef MODEL_REFERENCE_H
#define MODEL_REFERENCE_H

#include "limiter/limiter.h"

__extension__ typedef __int128 wide;

#define REFERENCE_EVENTS 4096

struct reference_numbers {
    wide limit;
    wide burst;
    wide window;
};

struct reference {
    enum limiter_algorithm algorithm;
    bool exists;
    wide time;    /* of the latest change */
    wide charged; /* of the latest admission */
    wide used; /* buckets: in parts of 1/window of a unit */
    struct reference_numbers held;
    int events;
    wide at[REFERENCE_EVENTS];
    wide units[REFERENCE_EVENTS];
};

void reference_forget(struct reference *r, enum limiter_algorithm algorithm);

/* Would `cost` be granted at `now`, for a request with these numbers? */
bool reference_fits(const struct reference *r, struct reference_numbers asked, wide cost,
                    wide now);

/* Is the counter at `now` as if never used? */
bool reference_is_fresh(const struct reference *r, wide now);

/* The end of the fixed window that counts at `now`. */
wide reference_window_end(const struct reference *r, struct reference_numbers asked, wide now);

/* What a bucket holds at `now`, in parts. */
wide reference_queued(const struct reference *r, wide now);

void reference_charge(struct reference *r, struct reference_numbers asked, wide cost, wide now);
/* Units given back, of a log (else 0). */
wide reference_refund(struct reference *r, wide units, wide now);
void reference_convert(struct reference *r, struct reference_numbers to, wide at);

#endif
