#include "engine/name_index.h"

#include <criterion/criterion.h>

#include <stdio.h>

Test(name_index, finds_what_was_added_and_nothing_else)
{
    static char names[5000][8];
    struct arena arena;
    struct name_index index;
    uint32_t existing;
    arena_init(&arena, 4096, 0);
    cr_assert_eq(name_index_init(&index, &arena, 0), STATUS_OK);
    cr_expect_eq(name_index_find(&index, 0, slice_text("0")), NAME_INDEX_NONE);
    for (uint32_t i = 0; i < 5000; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "%u", i);
        cr_assert_eq(name_index_add(&index, 0, slice_text(names[i]), i, &existing), STATUS_OK);
        cr_assert_eq(existing, NAME_INDEX_NONE);
    }
    for (uint32_t i = 0; i < 10000; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "%u", i);
        uint32_t found = name_index_find(&index, 0, slice_text(name));
        cr_assert_eq(found, i < 5000 ? i : NAME_INDEX_NONE, "%s", name);
        cr_assert_eq(name_index_find(&index, 1, slice_text(name)), NAME_INDEX_NONE, "%s", name);
    }
    arena_deinit(&arena);
}

Test(name_index, a_name_may_be_any_bytes_of_any_length)
{
    static uint8_t bytes[64];
    struct arena arena;
    struct name_index index;
    uint32_t existing;
    arena_init(&arena, 4096, 0);
    cr_assert_eq(name_index_init(&index, &arena, 64), STATUS_OK);
    for (uint32_t size = 0; size <= sizeof(bytes); size++) {
        cr_assert_eq(name_index_add(&index, 7, slice_make(bytes, size), size, &existing),
                     STATUS_OK);
        cr_assert_eq(existing, NAME_INDEX_NONE, "zeros of %u bytes are a name of their own", size);
    }
    for (uint32_t size = 0; size <= sizeof(bytes); size++) {
        cr_assert_eq(name_index_find(&index, 7, slice_make(bytes, size)), size);
    }
    arena_deinit(&arena);
}

Test(name_index, add_keeps_and_replace_replaces)
{
    struct arena arena;
    struct name_index index;
    uint32_t before;
    arena_init(&arena, 4096, 0);
    cr_assert_eq(name_index_init(&index, &arena, 1), STATUS_OK);
    cr_assert_eq(name_index_add(&index, 0, slice_text("a"), 1, &before), STATUS_OK);
    cr_assert_eq(name_index_add(&index, 0, slice_text("a"), 2, &before), STATUS_OK);
    cr_expect_eq(before, 1);
    cr_expect_eq(name_index_find(&index, 0, slice_text("a")), 1);
    cr_assert_eq(name_index_replace(&index, 0, slice_text("a"), 3, &before), STATUS_OK);
    cr_expect_eq(before, 1);
    cr_expect_eq(name_index_find(&index, 0, slice_text("a")), 3);
    cr_assert_eq(name_index_replace(&index, 0, slice_text("b"), 4, &before), STATUS_OK);
    cr_expect_eq(before, NAME_INDEX_NONE);
    cr_expect_eq(index.count, 2);
    arena_deinit(&arena);
}

Test(name_index, without_memory_it_says_so_and_stays_whole)
{
    struct arena arena;
    struct name_index index;
    uint32_t existing = 0;
    uint32_t added = 0;
    static char names[1000][8];
    arena_init(&arena, 1024, 8192);
    cr_assert_eq(name_index_init(&index, &arena, 0), STATUS_OK);
    for (uint32_t i = 0; i < 1000; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "%u", i);
        if (name_index_add(&index, 0, slice_text(names[i]), i, &existing) != STATUS_OK) {
            break;
        }
        added++;
    }
    cr_assert(added > 4 && added < 1000, "%u", added);
    for (uint32_t i = 0; i < added; i++) {
        cr_assert_eq(name_index_find(&index, 0, slice_text(names[i])), i);
    }
    arena_deinit(&arena);
}
