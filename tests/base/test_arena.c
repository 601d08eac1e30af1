#include "base/arena.h"

#include <criterion/criterion.h>

Test(arena, pieces_are_aligned_and_apart)
{
    struct arena arena;
    arena_init(&arena, 256, 0);
    uint8_t *pieces[200];
    for (size_t i = 0; i < 200; i++) {
        pieces[i] = arena_alloc(&arena, i);
        cr_assert_not_null(pieces[i]);
        cr_assert_eq((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)i, i);
    }
    for (size_t i = 0; i < 200; i++) {
        for (size_t j = 0; j < i; j++) {
            cr_assert_eq(pieces[i][j], (uint8_t)i);
        }
    }
    arena_deinit(&arena);
    cr_expect_eq(arena.total_bytes, 0);
}

Test(arena, reset_keeps_one_chunk_and_hands_it_out_again)
{
    struct arena arena;
    arena_init(&arena, 256, 0);
    void *first = arena_alloc(&arena, 100);
    for (int i = 0; i < 50; i++) {
        cr_assert_not_null(arena_alloc(&arena, 100));
    }
    cr_expect_gt(arena.total_bytes, 256);
    arena_reset(&arena);
    cr_expect_eq(arena.total_bytes, 256);
    cr_expect_eq(arena_alloc(&arena, 100), first);
    arena_deinit(&arena);
}

Test(arena, the_ceiling_holds)
{
    struct arena arena;
    arena_init(&arena, 128, 1024);
    size_t pieces = 0;
    while (arena_alloc(&arena, 64) != NULL) {
        pieces++;
    }
    cr_expect_eq(pieces, 16);
    cr_expect_leq(arena.total_bytes, 1024);
    cr_expect_null(arena_alloc(&arena, SIZE_MAX));
    cr_expect_null(arena_alloc(&arena, SIZE_MAX - 8));
    arena_reset(&arena);
    cr_expect_null(arena_alloc(&arena, 2000), "larger than the ceiling leaves");
    cr_expect_not_null(arena_alloc(&arena, 896), "larger than a chunk");
    arena_deinit(&arena);
}

Test(arena, copies_end_in_nul_and_zalloc_is_zero)
{
    struct arena arena;
    arena_init(&arena, 64, 0);
    memset(arena_alloc(&arena, 64), 0xFF, 64);
    arena_reset(&arena);
    const uint8_t *zeroes = arena_zalloc(&arena, 64);
    for (int i = 0; i < 64; i++) {
        cr_assert_eq(zeroes[i], 0);
    }
    char *copy = arena_copy(&arena, slice_make("a\0b", 3));
    cr_expect_eq(memcmp(copy, "a\0b", 4), 0);
    cr_expect_str_eq(arena_copy(&arena, slice_make(NULL, 0)), "");
    arena_deinit(&arena);
    arena_reset(&arena);
    arena_deinit(&arena);
}
