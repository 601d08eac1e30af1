#include "base/shared.h"

#include <criterion/criterion.h>

#include <pthread.h>

Test(shared, what_is_set_is_got)
{
    struct shared_pointer pointer = {0};
    struct shared_number number = {0};
    cr_expect_null(shared_pointer_get(&pointer));
    shared_pointer_set(&pointer, &number);
    cr_expect_eq(shared_pointer_get(&pointer), &number);
    shared_number_set(&number, UINT64_MAX);
    cr_expect_eq(shared_number_get(&number), UINT64_MAX);
    cr_expect(!shared_number_claim(&number, 0, 1));
    cr_expect_eq(shared_number_get(&number), UINT64_MAX);
    cr_expect(shared_number_claim(&number, UINT64_MAX, 7));
    cr_expect_eq(shared_number_get(&number), 7u);
}

enum { CLAIMS = 20000, CLAIMERS = 3 };

struct claimer {
    struct shared_number *number;
    uint64_t won;
};

/* Whoever claims i takes it to i + 1. */
static void *claim_all(void *argument)
{
    struct claimer *claimer = argument;
    for (uint64_t i = 0; i < CLAIMS; i++) {
        while (shared_number_get(claimer->number) < i) {
            shared_pause();
        }
        claimer->won += shared_number_claim(claimer->number, i, i + 1);
    }
    return NULL;
}

Test(shared, of_several_that_claim_one_succeeds)
{
    struct shared_number number = {0};
    struct claimer claimers[CLAIMERS];
    pthread_t threads[CLAIMERS];
    uint64_t won = 0;
    for (int i = 0; i < CLAIMERS; i++) {
        claimers[i] = (struct claimer){&number, 0};
        cr_assert_eq(pthread_create(&threads[i], NULL, claim_all, &claimers[i]), 0);
    }
    for (int i = 0; i < CLAIMERS; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
        won += claimers[i].won;
    }
    cr_expect_eq(won, CLAIMS);
    cr_expect_eq(shared_number_get(&number), CLAIMS);
}
