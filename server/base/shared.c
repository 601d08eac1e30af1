#include "base/shared.h"

#include <sched.h>

void *shared_pointer_get(const struct shared_pointer *pointer)
{
    return __atomic_load_n(&pointer->value, __ATOMIC_SEQ_CST);
}

void shared_pointer_set(struct shared_pointer *pointer, void *value)
{
    __atomic_store_n(&pointer->value, value, __ATOMIC_SEQ_CST);
}

uint64_t shared_number_get(const struct shared_number *number)
{
    return __atomic_load_n(&number->value, __ATOMIC_SEQ_CST);
}

void shared_number_set(struct shared_number *number, uint64_t value)
{
    __atomic_store_n(&number->value, value, __ATOMIC_SEQ_CST);
}

bool shared_number_claim(struct shared_number *number, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(&number->value, &from, to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

void shared_pause(void)
{
    (void)sched_yield();
}
