/* The few words that threads share without a lock: a published pointer and numbers that one side
 * writes and others watch. Each get sees all that was written before the set whose value it
 * returns, and all threads see all sets in one order. */
#ifndef BASE_SHARED_H
#define BASE_SHARED_H

#include <stdbool.h>
#include <stdint.h>

struct shared_pointer {
    void *value; /* only through the functions below */
};

struct shared_number {
    uint64_t value; /* only through the functions below */
};

void *shared_pointer_get(const struct shared_pointer *pointer);
void shared_pointer_set(struct shared_pointer *pointer, void *value);

uint64_t shared_number_get(const struct shared_number *number);
void shared_number_set(struct shared_number *number, uint64_t value);
/* Sets `to` if it is `from`; of several threads that try, one succeeds. */
bool shared_number_claim(struct shared_number *number, uint64_t from, uint64_t to);

/* Lets others run while waiting for a set that is only moments away. */
void shared_pause(void);

#endif
