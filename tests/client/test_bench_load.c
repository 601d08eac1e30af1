/* What a bench sends, frame by frame, read back by the generated code. */
#include "bench_load.h"
#include "bench_result.h"
#include "sluice/v1/sluice.pb-c.h"
#include "sluice_decode.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Sluice__V1__ClientFrame *next_frame(struct bench_load_cursor *cursor, uint32_t id,
                                           uint32_t batch, bool is_batch)
{
    struct sluice_buffer out = {0};
    struct sluice_decode_view bytes;
    size_t consumed;
    cr_assert(bench_load_frame(cursor, id, batch, is_batch, &out));
    cr_assert_eq(sluice_decode_next(out.data, out.end, &bytes, &consumed), SLUICE_DECODE_OK);
    cr_assert_eq(consumed, out.end);
    Sluice__V1__ClientFrame *frame = sluice__v1__client_frame__unpack(
        NULL, (size_t)(bytes.end - bytes.at), bytes.at);
    cr_assert_not_null(frame);
    cr_assert_eq(frame->id, id);
    sluice_buffer_deinit(&out);
    return frame;
}

static void init(struct bench_load *load, const struct bench_load_options *options)
{
    struct buf message;
    buf_init(&message, 0);
    cr_assert(bench_load_init(load, options, &message));
    cr_assert_eq(message.size, 0);
    buf_deinit(&message);
}

Test(bench_load, single_questions)
{
    static const uint32_t ids[] = {BENCH_LOAD_ID_MIN, BENCH_LOAD_ID_MIN + 1,
                                   BENCH_LOAD_ID_MIN + BENCH_LOAD_ID_COUNT - 1, 0x0aaaaaaa};
    char route[1025];
    struct bench_load load;
    struct bench_load_cursor cursor;
    memset(route, 'r', sizeof route - 1);
    route[sizeof route - 1] = '\0';
    const struct bench_load_options options = {.keys = 50, .route = route, .cost = 300,
                                               .has_cost = true};
    init(&load, &options);
    bench_load_start(&cursor, &load, 0, 1);
    for (size_t i = 0; i < 400; i++) {
        Sluice__V1__ClientFrame *frame = next_frame(&cursor, ids[i % 4], 1, false);
        cr_assert_eq(frame->body_case, SLUICE__V1__CLIENT_FRAME__BODY_SHOULD_ALLOW);
        cr_assert_eq(frame->should_allow->cost, 300);
        cr_assert_eq(frame->should_allow->route.len, 1024);
        cr_assert_eq(memcmp(frame->should_allow->key.data, "key-", 4), 0);
        sluice__v1__client_frame__free_unpacked(frame, NULL);
    }
    bench_load_deinit(&load);
}

/* Three threads, single and in batches: no key comes twice. */
Test(bench_load, unique_keys)
{
    enum { ROUNDS = 200, BATCH = 7 };
    const struct bench_load_options options = {.choice = BENCH_LOAD_UNIQUE, .route = "r"};
    struct bench_load load;
    struct bench_load_cursor cursors[3];
    static bool seen[3 * ROUNDS * BATCH + 3 * ROUNDS];
    init(&load, &options);
    for (uint32_t i = 0; i < 3; i++) {
        bench_load_start(&cursors[i], &load, i, 3);
    }
    for (int round = 0; round < ROUNDS * 3; round++) {
        bool is_batch = round % 2 == 0;
        Sluice__V1__ClientFrame *frame = next_frame(&cursors[round % 3], BENCH_LOAD_ID_MIN,
                                                    is_batch ? BATCH : 1, is_batch);
        size_t count = is_batch ? frame->should_allow_batch->n_requests : 1;
        cr_assert_eq(count, is_batch ? BATCH : 1);
        for (size_t i = 0; i < count; i++) {
            const Sluice__V1__ShouldAllowRequest *request =
                is_batch ? frame->should_allow_batch->requests[i] : frame->should_allow;
            char key[18] = {0};
            cr_assert_eq(request->key.len, 17);
            memcpy(key, request->key.data, 17);
            cr_assert_eq(key[0], 'u');
            unsigned long number = strtoul(key + 1, NULL, 16);
            cr_assert_lt(number, sizeof seen);
            cr_assert_not(seen[number], "%s came twice", key);
            seen[number] = true;
            cr_assert_eq(request->route.len, 1);
        }
        sluice__v1__client_frame__free_unpacked(frame, NULL);
    }
    bench_load_deinit(&load);
}

Test(bench_load, recorded_traffic_in_turn)
{
    char path[] = "/tmp/bench_load_XXXXXX";
    static const char text[] =
        "{\"t_ns\":1,\"key\":\"a\",\"route\":\"x\"}\n"
        "{\"t_ns\":2,\"key\":\"b\",\"route\":\"y\",\"cost\":9,"
        "\"attributes\":{\"ip\":\"1.2.3.4\"}}\n"
        "{\"t_ns\":3,\"op\":\"reset\",\"key\":\"b\",\"route\":\"y\"}\n";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, sizeof text - 1), (ssize_t)sizeof text - 1);
    close(fd);
    const struct bench_load_options options = {.traffic = path, .route = "unused"};
    struct bench_load load;
    struct bench_load_cursor cursor;
    init(&load, &options);
    unlink(path);
    cr_expect_eq(load.skipped, 1);
    bench_load_start(&cursor, &load, 0, 1);
    for (int i = 0; i < 6; i++) {
        Sluice__V1__ClientFrame *frame = next_frame(&cursor, BENCH_LOAD_ID_MIN, 1, false);
        const Sluice__V1__ShouldAllowRequest *request = frame->should_allow;
        bool second = i % 2 == 1;
        cr_expect_eq(request->key.data[0], second ? 'b' : 'a');
        cr_expect_eq(request->n_attributes, second ? 1 : 0);
        bool has_cost = request->_cost_case == SLUICE__V1__SHOULD_ALLOW_REQUEST___COST_COST;
        cr_expect_eq(has_cost, second);
        cr_expect(!second || (request->cost == 9 &&
                              memcmp(request->attributes[0]->value.data, "1.2.3.4", 7) == 0));
        sluice__v1__client_frame__free_unpacked(frame, NULL);
    }
    bench_load_deinit(&load);
}

Test(bench_load, a_batch_larger_than_a_frame)
{
    struct sluice_buffer out = {0};
    char route[1025] = {0};
    struct bench_load load;
    struct bench_load_cursor cursor;
    memset(route, 'r', 1024);
    const struct bench_load_options options = {.choice = BENCH_LOAD_ONE, .route = route};
    init(&load, &options);
    bench_load_start(&cursor, &load, 0, 1);
    cr_expect(bench_load_frame(&cursor, BENCH_LOAD_ID_MIN, 250, true, &out));
    sluice_buffer_clear(&out);
    cr_expect_not(bench_load_frame(&cursor, BENCH_LOAD_ID_MIN, 256, true, &out));
    cr_expect_eq(out.end, 0);
    sluice_buffer_deinit(&out);
    bench_load_deinit(&load);
}

Test(bench_result, threads_add_up)
{
    struct bench_result *all = malloc(sizeof *all);
    struct bench_result *one = malloc(sizeof *one);
    bench_result_init(all);
    for (int i = 0; i < 3; i++) {
        bench_result_init(one);
        one->started = i > 0;
        one->start_ns = 1000000000 + i;
        one->last_ns = 3000000000 + i;
        one->cpu_ns = 1000000000 * i / 2;
        one->allowed = 10;
        one->refused = 5;
        one->missing = 1;
        bench_result_trouble(one, "trouble %d", i);
        bench_result_bin(one, one->start_ns + BENCH_RESULT_BIN_NS * 20 * i, 4);
        bench_result_add(all, one);
        bench_result_deinit(one);
    }
    cr_expect_eq(bench_result_answered(all), 45);
    cr_expect_eq(all->missing, 3);
    cr_expect_str_eq(all->trouble, "trouble 0");
    cr_expect_eq(all->start_ns, 1000000001);
    cr_expect_eq(all->last_ns, 3000000002);
    cr_expect_eq(all->cpu_ns, 1500000000);
    cr_expect_float_eq(all->cpu_share_max, 0.5, 1e-9);
    cr_expect_eq(all->bin_count, 41);
    cr_expect_eq(all->bins[20], 4);
    cr_expect_eq(all->bins[40], 4);
    cr_expect_eq(all->bins[0], 0, "a thread that never began has no times");
    bench_result_deinit(all);
    free(all);
    free(one);
}
