/* The small ones: arith, clock, hash, status. */
#include "base/arith.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"

#include <criterion/criterion.h>
#include <time.h>

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

Test(arith, division_is_exact)
{
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < 2000000; i++) {
        /* Any number of bits, so that small and large meet. */
        uint64_t x = next_random(&state) >> (next_random(&state) & 63);
        uint64_t d = next_random(&state) >> (next_random(&state) & 63);
        d = d == 0 ? 1 : d;
        struct arith_divisor divisor = arith_divisor_make(d);
        if (arith_div_floor(x, divisor) != x / d ||
            arith_div_ceil(x, divisor) != x / d + (x % d != 0)) {
            cr_assert_fail("%lu / %lu", x, d);
        }
    }
}

Test(arith, division_at_the_edges)
{
    static const uint64_t edges[] = {
        1, 2, 3, 10, UINT32_MAX, (uint64_t)UINT32_MAX + 1, INT64_MAX, (uint64_t)INT64_MAX + 1,
        UINT64_MAX / 3, UINT64_MAX - 1, UINT64_MAX};
    size_t count = sizeof(edges) / sizeof(edges[0]);
    for (size_t i = 0; i < count; i++) {
        struct arith_divisor divisor = arith_divisor_make(edges[i]);
        cr_expect_eq(arith_div_floor(0, divisor), 0);
        for (size_t j = 0; j < count; j++) {
            for (int64_t step = -1; step <= 1; step++) {
                uint64_t x = edges[j] + (uint64_t)step;
                cr_expect_eq(arith_div_floor(x, divisor), x / edges[i], "%lu / %lu", x, edges[i]);
                cr_expect_eq(arith_div_ceil(x, divisor), x / edges[i] + (x % edges[i] != 0));
            }
        }
    }
}

Test(arith, times_are_held_at_the_ends)
{
    cr_expect_eq(arith_clamp_ns(5), 5);
    cr_expect_eq(arith_clamp_ns(INT64_MAX), INT64_MAX);
    cr_expect_eq(arith_clamp_ns((arith_u128)INT64_MAX + 1), INT64_MAX);
    cr_expect_eq(arith_clamp_ns((arith_u128)1 << 127), INT64_MAX);
    cr_expect_eq(arith_add_ns(1, 2), 3);
    cr_expect_eq(arith_add_ns(-5, 2), -3);
    cr_expect_eq(arith_add_ns(INT64_MAX, 0), INT64_MAX);
    cr_expect_eq(arith_add_ns(INT64_MAX, 1), INT64_MAX);
    cr_expect_eq(arith_add_ns(INT64_MIN, INT64_MAX), -1);
    cr_expect_eq(arith_since_ns(7, 5), 2);
    cr_expect_eq(arith_since_ns(5, 7), 0);
    cr_expect_eq(arith_since_ns(INT64_MAX, INT64_MIN), INT64_MAX);
    cr_expect_eq(arith_since_ns(INT64_MIN, INT64_MAX), 0);
    cr_expect_eq(arith_since_ns(0, -INT64_MAX), INT64_MAX);
}

Test(clock, is_wall_time_and_never_goes_back)
{
    clock_start();
    struct timespec wall;
    cr_assert_eq(clock_gettime(CLOCK_REALTIME, &wall), 0);
    int64_t difference = clock_now_ns() - ((int64_t)wall.tv_sec * CLOCK_NS_PER_S + wall.tv_nsec);
    cr_expect_lt(difference < 0 ? -difference : difference, CLOCK_NS_PER_S / 2);
    int64_t now = clock_now_ns();
    int64_t ticks = clock_ticks_ns();
    for (int i = 0; i < 100000; i++) {
        int64_t next = clock_now_ns();
        int64_t next_ticks = clock_ticks_ns();
        cr_assert_geq(next, now);
        cr_assert_geq(next_ticks, ticks);
        now = next;
        ticks = next_ticks;
    }
}

Test(clock, both_clocks_run_alike)
{
    clock_start();
    int64_t now = clock_now_ns();
    int64_t ticks = clock_ticks_ns();
    struct timespec pause = {.tv_nsec = 50 * CLOCK_NS_PER_MS};
    cr_assert_eq(nanosleep(&pause, NULL), 0);
    int64_t passed = clock_now_ns() - now;
    int64_t ticked = clock_ticks_ns() - ticks;
    cr_expect_geq(passed, pause.tv_nsec);
    cr_expect_geq(ticked, pause.tv_nsec);
    cr_expect_lt(passed > ticked ? passed - ticked : ticked - passed, CLOCK_NS_PER_S / 2);
}

/* The vectors of SipHash-2-4 with 128 bits: key 00 … 0f, input 00, 01, 02 … of each length (the
 * first three of the authors' reference test). */
Test(hash, is_siphash_2_4_with_128_bits)
{
    static const struct {
        size_t size;
        uint8_t expected[16];
    } vectors[] = {
        {0, {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55,
             0x02, 0x93}},
        {1, {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22,
             0xfc, 0x45}},
        {2, {0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a,
             0xff, 0xe4}},
    };
    struct hash_key key;
    uint8_t input[64];
    for (size_t i = 0; i < sizeof(input); i++) {
        input[i] = (uint8_t)i;
    }
    memcpy(key.bytes, input, sizeof(key.bytes));
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct fingerprint print = hash_bytes(&key, input, vectors[i].size);
        cr_expect_arr_eq(&print, vectors[i].expected, 16, "%zu bytes", vectors[i].size);
    }
}

Test(hash, depends_on_key_and_every_byte)
{
    struct hash_key key, other;
    hash_random_key(&key);
    hash_random_key(&other);
    cr_assert_neq(memcmp(&key, &other, sizeof(key)), 0);
    uint8_t input[100] = {0};
    struct fingerprint first = hash_bytes(&key, input, sizeof(input));
    struct fingerprint keyed = hash_bytes(&other, input, sizeof(input));
    cr_expect(keyed.lo != first.lo && keyed.hi != first.hi);
    for (size_t i = 0; i < sizeof(input); i++) {
        input[i] ^= 1;
        struct fingerprint changed = hash_bytes(&key, input, sizeof(input));
        cr_expect(changed.lo != first.lo && changed.hi != first.hi, "byte %zu", i);
        input[i] ^= 1;
    }
    struct fingerprint same = hash_bytes(&key, input, sizeof(input));
    cr_expect(same.lo == first.lo && same.hi == first.hi);
    struct fingerprint nothing = hash_mix(first, same);
    cr_expect(nothing.lo == 0 && nothing.hi == 0);
}

Test(status, every_status_has_a_text_of_its_own)
{
#define STATUS_VALUE(name, number, text) STATUS_##name,
    static const enum status all[] = {STATUS_OK, STATUS_MAP(STATUS_VALUE)};
#undef STATUS_VALUE
    size_t count = sizeof(all) / sizeof(all[0]);
    for (size_t i = 0; i < count; i++) {
        cr_expect_leq((int)all[i], 0);
        cr_expect_str_neq(status_text(all[i]), status_text((enum status)-1000));
        for (size_t j = 0; j < i; j++) {
            cr_expect_neq(all[i], all[j]);
            cr_expect_str_neq(status_text(all[i]), status_text(all[j]));
        }
    }
    cr_expect_str_eq(status_text(STATUS_NO_MEMORY), "out of memory");
}
