#include "simulate_distinct.h"

#include <math.h>
#include <stdlib.h>

#define EXACT_SLOTS ((size_t)1 << 17) /* half of them used at most */
#define FIRST_SLOTS ((size_t)64)
#define REGISTER_BITS 14u
#define REGISTERS ((size_t)1 << REGISTER_BITS)

void simulate_distinct_init(struct simulate_distinct *distinct)
{
    *distinct = (struct simulate_distinct){.hashes = NULL};
}

void simulate_distinct_deinit(struct simulate_distinct *distinct)
{
    free(distinct->hashes);
    free(distinct->registers);
    *distinct = (struct simulate_distinct){.hashes = NULL};
}

static void estimate(struct simulate_distinct *distinct, uint64_t hash)
{
    size_t index = (size_t)(hash >> (64 - REGISTER_BITS));
    uint64_t rest = hash << REGISTER_BITS;
    uint8_t rank = rest == 0 ? 64 - REGISTER_BITS + 1 : (uint8_t)(__builtin_clzll(rest) + 1);
    if (rank > distinct->registers[index]) {
        distinct->registers[index] = rank;
    }
}

/* False: it was there already. */
static bool insert(uint64_t *hashes, size_t capacity, uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);
    while (hashes[at] != 0) {
        if (hashes[at] == hash) {
            return false;
        }
        at = (at + 1) & (capacity - 1);
    }
    hashes[at] = hash;
    return true;
}

static bool grow(struct simulate_distinct *distinct)
{
    size_t capacity = distinct->capacity == 0 ? FIRST_SLOTS : distinct->capacity * 2;
    uint64_t *hashes = calloc(capacity, sizeof(*hashes));
    if (hashes == NULL) {
        return false;
    }
    for (size_t i = 0; i < distinct->capacity; i++) {
        if (distinct->hashes[i] != 0) {
            (void)insert(hashes, capacity, distinct->hashes[i]);
        }
    }
    free(distinct->hashes);
    distinct->hashes = hashes;
    distinct->capacity = capacity;
    return true;
}

static bool start_estimating(struct simulate_distinct *distinct)
{
    distinct->registers = calloc(REGISTERS, 1);
    if (distinct->registers == NULL) {
        return false;
    }
    for (size_t i = 0; i < distinct->capacity; i++) {
        if (distinct->hashes[i] != 0) {
            estimate(distinct, distinct->hashes[i]);
        }
    }
    free(distinct->hashes);
    distinct->hashes = NULL;
    return true;
}

static bool make_room(struct simulate_distinct *distinct)
{
    if (distinct->count * 2 < distinct->capacity) {
        return true;
    }
    return distinct->capacity < EXACT_SLOTS ? grow(distinct) : start_estimating(distinct);
}

void simulate_distinct_add(struct simulate_distinct *distinct, uint64_t hash)
{
    hash = hash == 0 ? 1 : hash;
    if (distinct->registers == NULL && !make_room(distinct)) {
        distinct->failed = true;
        return;
    }
    if (distinct->registers != NULL) {
        estimate(distinct, hash);
    } else if (insert(distinct->hashes, distinct->capacity, hash)) {
        distinct->count++;
    }
}

uint64_t simulate_distinct_count(const struct simulate_distinct *distinct, bool *exact)
{
    *exact = distinct->registers == NULL && !distinct->failed;
    if (distinct->registers == NULL) {
        return distinct->count;
    }
    double sum = 0;
    size_t zeros = 0;
    for (size_t i = 0; i < REGISTERS; i++) {
        sum += ldexp(1.0, -distinct->registers[i]);
        zeros += distinct->registers[i] == 0;
    }
    double m = (double)REGISTERS;
    double raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (raw <= 2.5 * m && zeros > 0) {
        raw = m * log(m / (double)zeros);
    }
    return (uint64_t)(raw + 0.5);
}
