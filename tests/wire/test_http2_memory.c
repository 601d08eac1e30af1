/* What nghttp2 may hold for one connection, and what connections leave for each other. */
#include "wire/http2_memory.h"

#include "base/limits.h"
#include "wire/http2_stream.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

static struct http2_pool *pool;
static struct http2_memory memory;

static void setup(void)
{
    pool = http2_pool_create();
    cr_assert_not_null(pool);
    http2_memory_init(&memory, pool);
}

static void teardown(void)
{
    cr_expect_eq(memory.bytes, 0, "all was given back");
    http2_pool_destroy(&pool);
    cr_expect_null(pool);
}

TestSuite(http2_memory, .init = setup, .fini = teardown);

static void *take(size_t size)
{
    return memory.functions.malloc(size, memory.functions.mem_user_data);
}

static void give_back(void *at)
{
    memory.functions.free(at, memory.functions.mem_user_data);
}

Test(http2_memory, is_capped)
{
    void *blocks[64];
    unsigned count = 0;
    while (count < 64 && (blocks[count] = take(256 * 1024)) != NULL) {
        count++;
    }
    cr_expect_eq(count, 31, "the heads of the blocks count, too");
    cr_expect_leq(memory.bytes, LIMITS_HTTP2_CODEC_BYTES_MAX);
    cr_expect_null(take(SIZE_MAX - 8));
    cr_expect_null(memory.functions.calloc(SIZE_MAX / 2, 4, &memory));
    cr_expect_null(memory.functions.realloc(blocks[0], 512 * 1024, &memory));
    memset(blocks[0], 1, 256 * 1024);
    void *small = take(100);
    cr_expect_not_null(small);
    give_back(small);
    while (count > 0) {
        give_back(blocks[--count]);
    }
    give_back(NULL);
}

Test(http2_memory, grows_with_its_content)
{
    uint8_t *at = memory.functions.realloc(NULL, 10, &memory);
    cr_assert_not_null(at);
    for (size_t size = 10; size < 5000; size = size * 3 / 2) {
        memset(at, (int)(size & 0xff), size);
        uint8_t *moved = memory.functions.realloc(at, size * 3 / 2, &memory);
        cr_assert_not_null(moved);
        cr_expect_eq((uintptr_t)moved % 16, 0);
        for (size_t i = 0; i < size; i++) {
            cr_assert_eq(moved[i], size & 0xff);
        }
        at = moved;
    }
    give_back(at);
    uint8_t *zeroed = memory.functions.calloc(10, 10, &memory);
    for (size_t i = 0; i < 100; i++) {
        cr_expect_eq(zeroed[i], 0, "a block that was used before is cleared");
    }
    give_back(zeroed);
}

Test(http2_memory, blocks_go_round)
{
    void *first = take(100);
    give_back(first);
    void *again = take(90);
    cr_expect_eq(again, first, "the same size again");
    void *other = take(90);
    cr_expect_neq(other, first);
    give_back(first);
    give_back(other);
}

Test(http2_memory, streams_go_round)
{
    struct http2_streams one = {.pool = pool};
    struct http2_streams other = {.pool = pool};
    struct http2_stream *stream = http2_stream_take(&one, 1, 100);
    cr_assert_not_null(stream);
    http2_stream_body(&one, stream, slice_text("some"));
    cr_expect_eq(one.body_bytes, 4);
    http2_stream_give_back(&one, stream);
    cr_expect_eq(one.body_bytes, 0);
    cr_expect_null(one.lists[HTTP2_ARRIVING].first);
    struct http2_stream *again = http2_stream_take(&other, 3, 200);
    cr_expect_eq(again, stream);
    cr_expect_eq(again->id, 3);
    cr_expect_eq(again->begun_ns, 200);
    cr_expect_eq(again->body.size, 0);
    http2_stream_move(&other, again, HTTP2_READY);
    cr_expect_eq(other.lists[HTTP2_READY].last, again);
    http2_stream_deinit(&other);
    cr_expect_null(other.lists[HTTP2_READY].first);
}
