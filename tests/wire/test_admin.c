#include "wire/admin.h"

#include "wire/native_decode.h"
#include "wire/native_fixture.h"
#include "wire/native_script.h"

#include <criterion/criterion.h>

static struct fixture world;
static struct buf script;
static struct buf answers;
static unsigned asked; /* calls of the hooks */

static void say_stats(void *data, struct buf *out)
{
    asked++;
    buf_append_slice(out, slice_text(data));
}

static bool say_reload(void *data, struct buf *errors)
{
    asked++;
    buf_append_slice(errors, slice_text(data));
    return ((const char *)data)[0] == '\0';
}

static enum request_code say_snapshot(void *data, struct buf *why)
{
    asked++;
    buf_append_slice(why, slice_text(data));
    return ((const char *)data)[0] == '\0' ? REQUEST_OK : REQUEST_INTERNAL;
}

static bool say_ready(void *data)
{
    return data != NULL;
}

static struct wire_admin hooks = {.data = (void *)(uintptr_t)"",
                                  .stats = say_stats,
                                  .reload = say_reload,
                                  .snapshot = say_snapshot,
                                  .ready = say_ready};

static void setup(void)
{
    fixture_init_as(&world, &admin_protocol);
    world.config.admin = &hooks;
    buf_init(&script, 0);
    buf_init(&answers, 0);
}

static void teardown(void)
{
    fixture_deinit(&world);
    buf_deinit(&script);
    buf_deinit(&answers);
}

TestSuite(admin, .init = setup, .fini = teardown);

static void hooks_say(const char *text)
{
    hooks.data = (void *)(uintptr_t)text;
}

/* An empty Stats-, Reload- or SnapshotRequest. */
static void put_request(uint64_t id, unsigned field)
{
    put_empty(&script, id, field);
}

static Sluice__V1__ServerFrame *next_frame(void)
{
    struct slice payload;
    size_t used;
    cr_assert_eq(native_decode_length(buf_slice(&answers), &payload, &used),
                 NATIVE_DECODE_COMPLETE);
    Sluice__V1__ServerFrame *frame =
        sluice__v1__server_frame__unpack(NULL, payload.size, payload.data);
    cr_assert_not_null(frame);
    buf_consume(&answers, used);
    return frame;
}

static enum wire_result play(void)
{
    enum wire_result result = fixture_feed(&world, buf_slice(&script), &answers);
    buf_clear(&script);
    return result;
}

Test(admin, stats_reload_snapshot)
{
    hooks_say("");
    put_request(7, 7);
    put_request(8, 8);
    put_request(9, 9);
    cr_expect_eq(play(), WIRE_MORE);
    Sluice__V1__ServerFrame *frame = next_frame();
    cr_expect_eq(frame->id, 7);
    cr_expect_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_STATS);
    cr_expect_eq(frame->stats->text.len, 0);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    frame = next_frame();
    cr_expect_eq(frame->id, 8);
    cr_expect_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_RELOAD);
    cr_expect(frame->reload->reloaded && frame->reload->n_errors == 0);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    frame = next_frame();
    cr_expect_eq(frame->id, 9);
    cr_expect_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_SNAPSHOT);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    cr_expect_eq(answers.size, 0);
    cr_expect_eq(asked, 3);
}

Test(admin, reasons)
{
    hooks_say("one\ntwo\n");
    put_request(1, 8);
    put_request(2, 9);
    put_request(3, 7);
    cr_expect_eq(play(), WIRE_MORE);
    Sluice__V1__ServerFrame *frame = next_frame();
    cr_assert(!frame->reload->reloaded && frame->reload->n_errors == 2);
    cr_expect(slice_equal_text(slice_make(frame->reload->errors[0].data,
                                          frame->reload->errors[0].len), "one"));
    cr_expect(slice_equal_text(slice_make(frame->reload->errors[1].data,
                                          frame->reload->errors[1].len), "two"));
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    frame = next_frame();
    cr_assert_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_ERROR);
    cr_expect_eq((int)frame->error->code, (int)REQUEST_INTERNAL);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    frame = next_frame();
    cr_expect(slice_equal_text(slice_make(frame->stats->text.data, frame->stats->text.len),
                               "one\ntwo\n"));
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    cr_expect_eq(metrics_read_requests(world.metrics, METRICS_ADMIN, METRICS_STATS), 1);
    cr_expect_eq(metrics_read_requests(world.metrics, METRICS_ADMIN, METRICS_RELOAD), 1);
    cr_expect_eq(metrics_read_requests(world.metrics, METRICS_ADMIN, METRICS_SNAPSHOT), 1);
    cr_expect_eq(metrics_read_request_errors(world.metrics, METRICS_ADMIN, REQUEST_INTERNAL), 1);
}

/* As many error lines as a report may have, and none beyond the room for them. */
Test(admin, many_reasons)
{
    hooks_say("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\nmore\nno\n");
    put_request(1, 8);
    cr_expect_eq(play(), WIRE_MORE);
    Sluice__V1__ServerFrame *frame = next_frame();
    cr_expect_eq(frame->reload->n_errors, LIMITS_FILE_ERRORS_MAX + 1);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
}

Test(admin, metrics_too_long_for_a_frame)
{
    size_t size = LIMITS_SERVER_FRAME_BYTES_MAX;
    char *text = malloc(size + 1);
    memset(text, 'x', size);
    text[size] = '\0';
    hooks_say(text);
    put_request(4, 7);
    cr_expect_eq(play(), WIRE_MORE);
    expect_error(&answers, 4, REQUEST_RESOURCE_EXHAUSTED, "");
    free(text);
}

Test(admin, questions_are_answered_too)
{
    put_ask(&script, 5, "k", "tb");
    cr_expect_eq(play(), WIRE_MORE);
    expect_answer(&answers, 5, true, 4);
    cr_expect_eq(metrics_read_requests(world.metrics, METRICS_ADMIN, METRICS_SHOULD_ALLOW), 1);
    cr_expect_eq(metrics_read_requests(world.metrics, METRICS_NATIVE, METRICS_SHOULD_ALLOW), 0);
}

Test(admin, byte_by_byte)
{
    hooks_say("");
    put_request(7, 7);
    put_ask(&script, 8, "k", "tb");
    struct slice whole = buf_slice(&script);
    for (size_t i = 0; i < whole.size; i++) {
        cr_expect_eq(fixture_feed(&world, slice_make(whole.data + i, 1), &answers), WIRE_MORE);
    }
    Sluice__V1__ServerFrame *frame = next_frame();
    cr_expect_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_STATS);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    expect_answer(&answers, 8, true, 4);
}

/* Every way to cut a word or what looks like one. */
static void expect_begins(const char *bytes, size_t size, const char *answer)
{
    for (size_t cut = 0; cut <= size; cut++) {
        fixture_close(&world);
        fixture_open(&world);
        buf_clear(&answers);
        (void)fixture_feed(&world, slice_make(bytes, cut), &answers);
        (void)fixture_feed(&world, slice_make(bytes + cut, size - cut), &answers);
        cr_assert_geq(answers.size, strlen(answer), "cut at %zu", cut);
        cr_expect(memcmp(answers.data + answers.start, answer, strlen(answer)) == 0,
                  "cut at %zu", cut);
    }
}

#define EXPECT_HTTP(text) expect_begins((text), sizeof(text) - 1, "HTTP/1.1 ")

Test(admin, words_are_http)
{
    EXPECT_HTTP("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    EXPECT_HTTP("POST /v1/reload HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n");
    EXPECT_HTTP("PURGE /nowhere HTTP/1.1\r\nhost: x\r\n\r\n");
    EXPECT_HTTP("ABCDEFGHIJKLMNOPQRSTUVWXYZ /too-long HTTP/1.1\r\nhost: x\r\n\r\n");
}

/* An AuthRequest without an id whose lengths are capitals: D, R, B, and a newline. */
Test(admin, a_frame_like_a_word)
{
    char frame[1 + 68] = "DRB\n@";
    memset(frame + 5, 'A', 64);
    expect_begins(frame, sizeof(frame), "\x02\x52");
}

Test(admin, nothing_to_tell_by)
{
    cr_expect_eq(fixture_feed(&world, slice_text("GET"), &answers), WIRE_MORE);
    cr_expect_eq(answers.size, 0);
    cr_expect(admin_protocol.is_waiting(world.session, 3));
    cr_expect_not(admin_protocol.is_waiting(world.session, 0));
    admin_protocol.timed_out(world.session, &world.worker, &answers);
    cr_expect_eq(answers.size, 0, "nobody knows what the peer would understand");
    cr_expect(admin_protocol.shutdown(world.session, &answers));
}

Test(admin, not_everywhere)
{
    fixture_close(&world);
    world.protocol = &native_protocol;
    fixture_open(&world);
    for (unsigned field = 7; field <= 9; field++) {
        put_request(5, field);
        cr_expect_eq(play(), WIRE_MORE);
        expect_error(&answers, 5, REQUEST_PERMISSION_DENIED, "");
    }
    cr_expect_eq(asked, 0);
}
