/* What is written is what is there: random traffic, reloads and images, and after each write a load
 * of the directory beside the store that is still in use. */
#include "state_fixture.h"

#include <criterion/criterion.h>

static void expect_same(struct state_fixture *state, const char *when, int step)
{
    struct buf why;
    uint64_t loaded = 0;
    buf_init(&why, 0);
    bool good = state_digest_of(state, state->path, &loaded, &why);
    cr_assert(good, "%s, step %d: %.*s", when, step, (int)why.size,
              why.data == NULL ? "" : (const char *)why.data + why.start);
    cr_assert_eq(loaded, state_digest_now(state), "%s, step %d", when, step);
    buf_deinit(&why);
}

static void begin(struct state_fixture *state)
{
    struct buf why;
    buf_init(&why, 0);
    state_begin(state);
    cr_assert(state_open(state, &why), "%.*s", (int)why.size, (const char *)why.data);
    buf_deinit(&why);
}

static void ask(struct state_fixture *state, int requests)
{
    for (int i = 0; i < requests; i++) {
        state_request(state);
    }
}

Test(state, every_write_holds_what_the_store_holds)
{
    struct state_fixture state;
    begin(&state);
    for (int step = 0; step < 60; step++) {
        ask(&state, 300);
        cr_assert(persist_write_now(state.persist));
        expect_same(&state, "journal", step);
    }
    state_end(&state);
}

Test(state, nothing_is_written_twice_for_nothing)
{
    struct state_fixture state;
    struct persist_stats before;
    struct persist_stats after;
    begin(&state);
    ask(&state, 300);
    cr_assert(persist_write_now(state.persist));
    persist_stats(state.persist, &before);
    cr_assert(persist_write_now(state.persist));
    persist_stats(state.persist, &after);
    cr_assert_eq(after.bytes, before.bytes);
    cr_assert_eq(after.written, before.written + 1);
    cr_assert_eq(after.failed, 0);
    state_end(&state);
}

static void wait_for_image(struct state_fixture *state)
{
    (void)persist_request(state->persist, true);
    for (int i = 0; i < 2000; i++) {
        struct state_dir_list list;
        cr_assert_eq(state_dir_list(&state->dir, &list), STATUS_OK);
        uint64_t base = list.base;
        uint32_t journals = list.journal_count;
        uint64_t journal = journals > 0 ? list.journals[0] : 0;
        state_dir_list_deinit(&list);
        if (base == journal && journals == 1 && base > 1) {
            return;
        }
        (void)persist_write_now(state->persist);
        (void)usleep(1000);
    }
    cr_assert(false, "no new base");
}

Test(state, a_new_base_takes_the_place_of_base_and_journals)
{
    struct state_fixture state;
    begin(&state);
    ask(&state, 2000);
    wait_for_image(&state);
    cr_assert(persist_write_now(state.persist));
    expect_same(&state, "image", 0);
    ask(&state, 2000);
    cr_assert(persist_write_now(state.persist));
    expect_same(&state, "journal behind it", 1);
    state_end(&state);
}

Test(state, images_while_counters_change)
{
    struct state_fixture state;
    begin(&state);
    for (int step = 0; step < 30; step++) {
        (void)persist_request(state.persist, true);
        ask(&state, 500);
        cr_assert(persist_write_now(state.persist));
        expect_same(&state, "image", step);
    }
    state_end(&state);
}

Test(state, reloads_are_followed_one_by_one)
{
    struct state_fixture state;
    begin(&state);
    for (int step = 0; step < 40; step++) {
        ask(&state, 150);
        if (step % 3 == 0) {
            state_reload(&state, state_random(&state) % 9);
        }
        ask(&state, step % 2 == 0 ? 0 : 100);
        if (step % 7 == 0) {
            (void)persist_request(state.persist, true);
        }
        cr_assert(persist_write_now(state.persist));
        expect_same(&state, "reload", step);
    }
    state_end(&state);
}

Test(state, logs_of_any_length)
{
    static const uint32_t lengths[] = {1, 4095, 4096, 4097, 9000, 30000};
    struct state_fixture state;
    begin(&state);
    for (int step = 0; step < 6; step++) {
        state_fill_log(&state, lengths[step]);
        if (step % 2 == 1) {
            wait_for_image(&state);
        }
        cr_assert(persist_write_now(state.persist));
        expect_same(&state, "log", step);
        struct store_item item = {.id = state_id(state.store, STATE_POLICIES - 1, 0),
                                  .policy = &state_in_force(&state)->policies[6],
                                  .cost = 37};
        cr_assert_eq(store_refund(state.store, state_in_force(&state), &item, 1, state.now_ns),
                     STATUS_OK);
        cr_assert(persist_write_now(state.persist));
        expect_same(&state, "log less a refund", step);
    }
    state_end(&state);
}

Test(state, only_what_is_new_of_a_log_is_written)
{
    struct state_fixture state;
    struct persist_stats before;
    struct persist_stats after;
    begin(&state);
    state_fill_log(&state, 20000);
    cr_assert(persist_write_now(state.persist));
    persist_stats(state.persist, &before);
    state_fill_log(&state, 3);
    cr_assert(persist_write_now(state.persist));
    persist_stats(state.persist, &after);
    cr_assert_lt(after.bytes - before.bytes, 400);
    expect_same(&state, "log", 0);
    state_end(&state);
}

Test(state, stops_and_starts)
{
    struct state_fixture state;
    struct buf why;
    buf_init(&why, 0);
    begin(&state);
    for (int step = 0; step < 12; step++) {
        ask(&state, 400);
        uint64_t before = state_digest_now(&state);
        cr_assert(state_close(&state));
        cr_assert(state_open(&state, &why), "step %d", step);
        cr_assert_eq(state_digest_now(&state), before, "step %d", step);
    }
    state_end(&state);
    buf_deinit(&why);
}

/* The same without the last words: what stands in the folder at that moment is what is started
 * from. */
Test(state, crashes_and_starts)
{
    struct state_fixture state;
    struct buf why;
    buf_init(&why, 0);
    begin(&state);
    for (int step = 0; step < 12; step++) {
        char copy[64];
        ask(&state, 400);
        cr_assert(persist_write_now(state.persist));
        uint64_t before = state_digest_now(&state);
        int64_t now_ns = state.now_ns;
        ask(&state, 50); /* lost */
        state_copy_folder(state.path, copy);
        state_end(&state);
        (void)strcpy(state.path, copy);
        state.now_ns = now_ns;
        cr_assert(state_open(&state, &why), "step %d", step);
        cr_assert_eq(state_digest_now(&state), before, "step %d", step);
    }
    state_end(&state);
    buf_deinit(&why);
}

Test(state, other_numbers_at_the_start_are_a_reload)
{
    struct state_fixture state;
    struct buf why;
    uint64_t loaded;
    buf_init(&why, 0);
    begin(&state);
    ask(&state, 1000);
    char copy[64];
    cr_assert(persist_write_now(state.persist));
    state_copy_folder(state.path, copy);
    state_reload(&state, 5);
    uint64_t reloaded = state_digest_now(&state);
    cr_assert(state_digest_of(&state, copy, &loaded, &why));
    cr_assert_eq(loaded, reloaded);
    state_remove_folder(copy);
    state_end(&state);
    buf_deinit(&why);
}

Test(state, times_ahead_of_now_become_now)
{
    struct state_fixture state;
    struct buf why;
    uint64_t digest;
    buf_init(&why, 0);
    begin(&state);
    ask(&state, 1000);
    cr_assert(state_close(&state));
    state.now_ns -= 24 * 60 * STATE_MINUTE;
    cr_assert(state_digest_of(&state, state.path, &digest, &why));
    cr_assert(state_open(&state, &why));
    for (uint32_t key = 0; key < STATE_KEYS; key++) {
        for (uint32_t policy = 0; policy < STATE_POLICIES; policy++) {
            bool allowed;
            const struct limiter_policy *of = &state_in_force(&state)->policies[policy];
            struct store_item item = {.id = state_id(state.store, policy, key), .policy = of};
            cr_assert_eq(store_decide(state.store, state_in_force(&state), &item, 1, state.now_ns,
                                      &allowed),
                         STATUS_OK);
            int64_t longest = policy == 4 ? 2 * of->window_ns : of->window_ns;
            longest = policy == 2 ? of->window_ns * 3 : longest;
            cr_assert_leq(item.report.reset_after_ns, longest, "policy %u", policy);
        }
    }
    state_end(&state);
    buf_deinit(&why);
}
