/* The one kind of lock of the request path: a word, held for tens of nanoseconds. A waiter spins a
 * little, then lets others run, since the holder may have been put aside on a busy machine. */
#ifndef STORE_STORE_LOCK_H
#define STORE_STORE_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define STORE_LOCK_SPINS 64

struct store_lock {
    atomic_uint taken;
};

static inline void store_lock_init(struct store_lock *lock)
{
    atomic_init(&lock->taken, 0);
}

static inline bool store_lock_try(struct store_lock *lock)
{
    return atomic_exchange_explicit(&lock->taken, 1, memory_order_acquire) == 0;
}

static inline void store_lock_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/* Reads while it waits, so that waiters do not take the line from the holder. Seldom needed, so
 * it is kept out of the way. */
static __attribute__((noinline, unused)) void store_lock_wait(struct store_lock *lock)
{
    do {
        for (int spins = 0; atomic_load_explicit(&lock->taken, memory_order_relaxed) != 0;
             spins++) {
            if (spins < STORE_LOCK_SPINS) {
                store_lock_relax();
            } else {
                (void)sched_yield();
            }
        }
    } while (!store_lock_try(lock));
}

static inline void store_lock_take(struct store_lock *lock)
{
    if (!store_lock_try(lock)) {
        store_lock_wait(lock);
    }
}

static inline void store_lock_drop(struct store_lock *lock)
{
    atomic_store_explicit(&lock->taken, 0, memory_order_release);
}

/* Sums that all shards share. */
struct store_sum {
    _Atomic uint64_t value;
};

static inline void store_sum_init(struct store_sum *sum)
{
    atomic_init(&sum->value, 0);
}

static inline uint64_t store_sum_get(const struct store_sum *sum)
{
    return atomic_load_explicit(&sum->value, memory_order_relaxed);
}

static inline void store_sum_less(struct store_sum *sum, uint64_t amount)
{
    (void)atomic_fetch_sub_explicit(&sum->value, amount, memory_order_relaxed);
}

/* Raises the sum by up to `amount`, never beyond `bound` (0: none); returns by how much. All or
 * nothing where `whole`. */
static inline uint64_t store_sum_more(struct store_sum *sum, uint64_t amount, uint64_t bound,
                                      bool whole)
{
    uint64_t now = atomic_load_explicit(&sum->value, memory_order_relaxed);
    uint64_t got;
    do {
        uint64_t left = bound > now ? bound - now : 0;
        got = bound == 0 || amount <= left ? amount : whole ? 0 : left;
    } while (!atomic_compare_exchange_weak_explicit(&sum->value, &now, now + got,
                                                    memory_order_relaxed, memory_order_relaxed));
    return got;
}

#endif
