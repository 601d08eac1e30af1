#include "wire/native.h"

#include "wire/native_fixture.h"
#include "wire/native_script.h"

#include <criterion/criterion.h>

static struct fixture world;
static struct buf script;
static struct buf answers;

static void setup(void)
{
    fixture_init(&world);
    buf_init(&script, 0);
    buf_init(&answers, 0);
}

static void teardown(void)
{
    fixture_deinit(&world);
    buf_deinit(&script);
    buf_deinit(&answers);
}

TestSuite(native, .init = setup, .fini = teardown);

static enum wire_result play(void)
{
    enum wire_result result = fixture_feed(&world, buf_slice(&script), &answers);
    buf_clear(&script);
    return result;
}

/* After an error that keeps the connection, it still answers. */
static void expect_usable(void)
{
    cr_expect_eq(answers.size, 0, "one answer a frame");
    put_ask(&script, 1000, "usable", "tb");
    cr_expect_eq(play(), WIRE_MORE);
    expect_answer(&answers, 1000, true, 4);
}

/* After one that ends it, nothing more is answered. */
static void expect_ended(uint64_t id, int code)
{
    cr_expect_eq(play(), WIRE_CLOSE);
    expect_error(&answers, id, code, "");
    cr_expect_eq(answers.size, 0);
}

Test(native, golden_bytes)
{
    static const uint8_t ask[] = "\x0f\x08\x07\x12\x0b\x0a\x05"
                                 "alice\x12\x02tb";
    /* id 7: allowed, limit 5, remaining 4, reset_after 2 s, limit_name tb, UNDER_LIMIT */
    static const uint8_t allowed[] = "\x14\x08\x07\x12\x10\x08\x01\x10\x05\x18\x04\x2a\x02\x08"
                                     "\x02\x3a\x02tb\x40\x01";
    /* after four more: refused, limit 5, retry_after 2 s, reset_after 10 s, tb, OVER_LIMIT */
    static const uint8_t refused[] = "\x14\x08\x07\x12\x10\x10\x05\x22\x02\x08\x02\x2a\x02\x08"
                                     "\x0a\x3a\x02tb\x40\x05";
    for (int i = 0; i < 6; i++) {
        buf_clear(&answers);
        cr_expect_eq(fixture_feed(&world, slice_make(ask, sizeof(ask) - 1), &answers), WIRE_MORE);
        if (i == 0) {
            cr_expect(slice_equal(buf_slice(&answers), slice_make(allowed, sizeof(allowed) - 1)));
        }
    }
    cr_expect(slice_equal(buf_slice(&answers), slice_make(refused, sizeof(refused) - 1)));
}

/* Questions of every kind, errors that keep the connection among them. */
static void write_long_script(struct buf *out)
{
    struct buf body;
    for (uint64_t id = 1; id <= 100; id++) {
        put_ask(out, id, id % 3 == 0 ? "" : "alice", id % 2 == 0 ? "tb" : "all");
    }
    put_empty(out, 200, 6);
    put_empty(out, 201, 0);
    put_empty(out, 202, 19);
    for (unsigned field = 3; field <= 10; field++) {
        put_empty(out, 210 + field, field);
    }
    buf_init(&body, 0);
    for (int i = 0; i < 40; i++) {
        struct buf member;
        buf_init(&member, 0);
        put_text(&member, 1, i == 5 ? "" : "bob");
        put_text(&member, 2, "fw");
        put_number(&member, 5, 1);
        put_bytes(&body, 1, buf_slice(&member));
        buf_deinit(&member);
    }
    put_frame(out, 300, 3, &body);
    buf_init(&body, 0);
    put_text(&body, 1, "alice");
    put_text(&body, 2, "tb");
    put_text(&body, 99, "a field of a later version");
    put_frame(out, 301, 2, &body);
}

Test(native, whole_by_bytes_and_glued_are_the_same)
{
    struct buf whole;
    struct buf bytewise;
    struct fixture other;
    buf_init(&whole, 0);
    buf_init(&bytewise, 0);
    write_long_script(&script);
    cr_expect_eq(fixture_feed(&world, buf_slice(&script), &whole), WIRE_MORE);
    fixture_init(&other);
    for (size_t i = 0; i < script.size; i++) {
        struct slice one = slice_make(script.data + script.start + i, 1);
        cr_assert_eq(fixture_feed(&other, one, &bytewise), WIRE_MORE);
    }
    cr_expect(slice_equal(buf_slice(&whole), buf_slice(&bytewise)));
    fixture_deinit(&other);
    for (size_t cut = 1; cut < 1200; cut += 97) {
        struct buf pieces;
        buf_init(&pieces, 0);
        fixture_init(&other);
        for (size_t at = 0; at < script.size; at += cut) {
            size_t size = script.size - at < cut ? script.size - at : cut;
            cr_assert_eq(fixture_feed(&other,
                                      slice_make(script.data + script.start + at, size), &pieces),
                         WIRE_MORE);
        }
        cr_expect(slice_equal(buf_slice(&whole), buf_slice(&pieces)), "pieces of %zu", cut);
        fixture_deinit(&other);
        buf_deinit(&pieces);
    }
    buf_deinit(&whole);
    buf_deinit(&bytewise);
}

Test(native, pipelined_questions_are_answered_in_order_and_each_once)
{
    for (uint64_t id = 1; id <= 1100; id++) {
        put_ask(&script, id, "k", "big");
    }
    cr_expect_eq(play(), WIRE_MORE);
    for (uint64_t id = 1; id <= 1100; id++) {
        expect_answer(&answers, id, id <= 1000, id <= 1000 ? 1000 - id : 0);
    }
    cr_expect_eq(answers.size, 0);
    cr_expect_eq(world.answered, 1100);
    cr_expect_eq(metrics_read_requests(world.metrics, METRICS_NATIVE, METRICS_SHOULD_ALLOW), 1100);
}

Test(native, output_is_bounded)
{
    for (uint64_t id = 1; id <= 20000; id++) {
        put_ask(&script, id, "k", "big");
    }
    struct slice rest = buf_slice(&script);
    int rounds = 0;
    enum wire_result result;
    do {
        size_t consumed = 0;
        result = native_protocol.feed(world.session, &world.worker, rest, &consumed, world.now_ns,
                                      &world.out, &world.answered);
        cr_assert_lt(world.out.size, WIRE_OUT_HIGH_BYTES + 200 * 1024);
        rest = slice_make(rest.data + consumed, rest.size - consumed);
        buf_clear(&world.out);
        rounds++;
    } while (result == WIRE_FULL);
    cr_expect_eq(result, WIRE_MORE);
    cr_expect_gt(rounds, 1);
    cr_expect_eq(world.answered, 20000);
}

Test(native, field_errors_keep_the_connection)
{
    struct buf body;
    put_ask(&script, 1, "", "tb");
    put_ask(&script, 2, "k", "");
    put_ask(&script, 3, "\xff\xfe", "tb");
    buf_init(&body, 0);
    put_text(&body, 1, "k");
    put_text(&body, 2, "tb");
    put_number(&body, 3, UINT64_C(1) << 63);
    put_frame(&script, 4, 2, &body);
    buf_init(&body, 0);
    put_text(&body, 1, "k");
    put_text(&body, 2, "tb");
    put_number(&body, 3, UINT64_MAX);
    put_frame(&script, 5, 2, &body);
    put_ask(&script, 6, "k", "ip");
    put_ask(&script, 7, "k", "tb");
    cr_expect_eq(play(), WIRE_MORE);
    expect_error(&answers, 1, REQUEST_INVALID_ARGUMENT, "key");
    expect_error(&answers, 2, REQUEST_INVALID_ARGUMENT, "route");
    expect_error(&answers, 3, REQUEST_INVALID_ARGUMENT, "key");
    expect_error(&answers, 4, REQUEST_INVALID_ARGUMENT, "cost");
    expect_error(&answers, 5, REQUEST_INVALID_ARGUMENT, "cost");
    expect_error(&answers, 6, REQUEST_INVALID_ARGUMENT, "attributes.ip");
    expect_answer(&answers, 7, true, 4);
    cr_expect_eq(metrics_read_request_errors(world.metrics, METRICS_NATIVE,
                                             REQUEST_INVALID_ARGUMENT), 6);
    expect_usable();
}

Test(native, cost_absent_and_cost_zero_differ)
{
    struct buf body;
    put_ask(&script, 1, "k", "tb");
    buf_init(&body, 0);
    put_text(&body, 1, "k");
    put_text(&body, 2, "tb");
    put_number(&body, 3, 0);
    put_frame(&script, 2, 2, &body);
    put_ask(&script, 3, "k", "tb");
    cr_expect_eq(play(), WIRE_MORE);
    expect_answer(&answers, 1, true, 4);
    expect_answer(&answers, 2, true, 4);
    expect_answer(&answers, 3, true, 3);
}

Test(native, no_body_and_unknown_bodies)
{
    buf_append_byte(&script, 0);
    put_empty(&script, 5, 0);
    put_empty(&script, 6, 11);
    put_empty(&script, 7, 19);
    put_empty(&script, 8, 20);
    put_empty(&script, 9, 29);
    cr_expect_eq(play(), WIRE_MORE);
    expect_error(&answers, 0, REQUEST_UNIMPLEMENTED, "");
    for (uint64_t id = 5; id <= 9; id++) {
        expect_error(&answers, id, REQUEST_UNIMPLEMENTED, "");
    }
    expect_usable();
}

Test(native, the_operators_frames_are_denied)
{
    for (unsigned field = 7; field <= 9; field++) {
        put_empty(&script, field, field);
    }
    cr_expect_eq(play(), WIRE_MORE);
    for (uint64_t id = 7; id <= 9; id++) {
        expect_error(&answers, id, REQUEST_PERMISSION_DENIED, "");
    }
    expect_usable();
}

Test(native, ping_and_auth)
{
    put_empty(&script, 1, 6);
    put_empty(&script, 2, 10);
    cr_expect_eq(play(), WIRE_MORE);
    Sluice__V1__ServerFrame *frame = take(&answers);
    cr_expect_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_PONG);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    frame = take(&answers);
    cr_expect_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_AUTH);
    cr_expect_eq(frame->id, 2);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    expect_usable();
}

Test(native, not_a_client_frame)
{
    static const char broken[] = "\x05\x0f\xff\xff\xff\xff";
    put_ask(&script, 1, "k", "tb");
    buf_append(&script, broken, sizeof(broken) - 1);
    put_ask(&script, 2, "k", "tb");
    cr_expect_eq(play(), WIRE_CLOSE);
    expect_answer(&answers, 1, true, 4);
    expect_error(&answers, 0, REQUEST_INVALID_ARGUMENT, "");
    cr_expect_eq(answers.size, 0, "nothing after it is answered");
}

Test(native, not_a_client_frame_with_an_id)
{
    static const char broken[] = "\x05\x08\x2a\x12\x7f\x0a";
    buf_append(&script, broken, sizeof(broken) - 1);
    expect_ended(42, REQUEST_INVALID_ARGUMENT);
}

Test(native, wrong_wire_type_of_a_known_field)
{
    static const char broken[] = "\x04\x08\x2a\x10\x01";
    buf_append(&script, broken, sizeof(broken) - 1);
    expect_ended(42, REQUEST_INVALID_ARGUMENT);
}

Test(native, length_too_large)
{
    buf_append(&script, "\x81\x80\x10", 3);
    expect_ended(0, REQUEST_INVALID_ARGUMENT);
}

Test(native, length_without_end)
{
    buf_append(&script, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    expect_ended(0, REQUEST_INVALID_ARGUMENT);
}

Test(native, the_last_body_wins)
{
    static const uint8_t frame[] = "\x1a\x08\x09\x12\x09\x0a\x03"
                                   "one\x12\x02tb\x22\x0b\x0a\x03two\x12\x02tb\x18\x01";
    cr_expect_eq(fixture_feed(&world, slice_make(frame, sizeof(frame) - 1), &answers), WIRE_MORE);
    Sluice__V1__ServerFrame *answer = take(&answers);
    cr_expect_eq(answer->body_case, SLUICE__V1__SERVER_FRAME__BODY_REFUND);
    cr_expect_eq(answer->refund->remaining, 5);
    sluice__v1__server_frame__free_unpacked(answer, NULL);
    expect_usable();
}

Test(native, members_of_a_batch_see_those_before_them)
{
    put_batch(&script, 4, 8, 2);
    cr_expect_eq(play(), WIRE_MORE);
    Sluice__V1__ServerFrame *frame = take(&answers);
    cr_assert_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_SHOULD_ALLOW_BATCH);
    cr_expect_eq(frame->id, 4);
    cr_assert_eq(frame->should_allow_batch->n_results, 8);
    uint64_t remaining = 5;
    for (size_t i = 0; i < 8; i++) {
        Sluice__V1__ShouldAllowResult *result = frame->should_allow_batch->results[i];
        if (i == 2) {
            cr_assert_eq(result->result_case, SLUICE__V1__SHOULD_ALLOW_RESULT__RESULT_ERROR);
            cr_expect(slice_equal_text(slice_make(result->error->field.data,
                                                  result->error->field.len), "key"));
            continue;
        }
        cr_assert_eq(result->result_case, SLUICE__V1__SHOULD_ALLOW_RESULT__RESULT_RESPONSE);
        cr_expect_eq(result->response->allowed, remaining > 0);
        remaining -= remaining > 0;
        cr_expect_eq(result->response->remaining, remaining);
    }
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    cr_expect_eq(metrics_read_requests(world.metrics, METRICS_NATIVE, METRICS_BATCH), 1);
    expect_usable();
}

Test(native, batches_of_none_of_1000_and_of_1001)
{
    put_batch(&script, 1, 0, UINT32_MAX);
    put_batch(&script, 2, 1000, UINT32_MAX);
    put_batch(&script, 3, 1001, UINT32_MAX);
    cr_expect_eq(play(), WIRE_MORE);
    for (uint64_t id = 1; id <= 2; id++) {
        Sluice__V1__ServerFrame *frame = take(&answers);
        cr_assert_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_SHOULD_ALLOW_BATCH);
        cr_expect_eq(frame->id, id);
        cr_expect_eq(frame->should_allow_batch->n_results, id == 1 ? 0 : 1000);
        sluice__v1__server_frame__free_unpacked(frame, NULL);
    }
    expect_error(&answers, 3, REQUEST_INVALID_ARGUMENT, "requests");
    expect_usable();
}

Test(native, a_broken_member_breaks_the_frame_and_charges_nothing)
{
    struct buf body;
    buf_init(&body, 0);
    put_text(&body, 1, "\x0a\x05" "batch\x12\x02tb");
    put_text(&body, 1, "\x0a\x7f" "cut");
    put_frame(&script, 8, 3, &body);
    expect_ended(8, REQUEST_INVALID_ARGUMENT);
    fixture_close(&world);
    fixture_open(&world);
    put_ask(&script, 9, "batch", "tb");
    cr_expect_eq(play(), WIRE_MORE);
    expect_answer(&answers, 9, true, 4);
}

Test(native, refund_and_reset)
{
    for (uint64_t id = 1; id <= 5; id++) {
        put_ask(&script, id, "k", "tb");
    }
    put_change(&script, 6, 4);
    put_change(&script, 7, 5);
    put_change(&script, 8, 5);
    put_ask(&script, 9, "k", "tb");
    cr_expect_eq(play(), WIRE_MORE);
    for (uint64_t id = 1; id <= 5; id++) {
        expect_answer(&answers, id, true, 5 - id);
    }
    Sluice__V1__ServerFrame *frame = take(&answers);
    cr_assert_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_REFUND);
    cr_expect_eq(frame->refund->remaining, 2);
    cr_expect(frame->refund->allowed);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        frame = take(&answers);
        cr_assert_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_RESET);
        cr_expect_eq(frame->reset->counters, i == 0 ? 1 : 0, "the second finds nothing");
        sluice__v1__server_frame__free_unpacked(frame, NULL);
    }
    expect_answer(&answers, 9, true, 4);
}

static void expect_changes(enum wire_changes allow, bool local, bool allowed)
{
    world.config.allow_changes = allow;
    world.peer.local = local;
    fixture_close(&world);
    fixture_open(&world);
    put_change(&script, 6, 4);
    put_change(&script, 7, 5);
    cr_expect_eq(play(), WIRE_MORE);
    for (uint64_t id = 6; id <= 7; id++) {
        if (allowed) {
            Sluice__V1__ServerFrame *frame = take(&answers);
            cr_expect_neq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_ERROR);
            sluice__v1__server_frame__free_unpacked(frame, NULL);
        } else {
            expect_error(&answers, id, REQUEST_PERMISSION_DENIED, "");
        }
    }
}

Test(native, who_may_change)
{
    expect_changes(WIRE_CHANGES_LOCAL, true, true);
    expect_changes(WIRE_CHANGES_LOCAL, false, false);
    expect_changes(WIRE_CHANGES_ALL, false, true);
    expect_changes(WIRE_CHANGES_NONE, true, false);
    expect_usable();
}

Test(native, a_flood_of_unknown_fields_is_read_in_bounded_memory)
{
    struct buf body;
    buf_init(&body, 0);
    put_text(&body, 1, "k");
    put_text(&body, 2, "tb");
    for (int i = 0; i < 131000; i++) {
        buf_append(&body, "\x78\x01", 2); /* 15: 1 */
    }
    put_frame(&script, 1, 2, &body);
    cr_expect_eq(play(), WIRE_MORE);
    expect_answer(&answers, 1, true, 4);
    cr_expect_leq(world.arena.total_bytes, 256 * 1024, "given back: %zu", world.arena.total_bytes);
    expect_usable();
}

Test(native, too_many_odd_members_are_refused_not_unpacked)
{
    struct buf body;
    buf_init(&body, 0);
    for (int i = 0; i < 65000; i++) {
        buf_append(&body, "\x0a\x02\x78\x01", 4);
    }
    put_frame(&script, 1, 3, &body);
    cr_expect_eq(play(), WIRE_MORE);
    Sluice__V1__ServerFrame *frame = take(&answers);
    cr_expect_eq(frame->body_case, SLUICE__V1__SERVER_FRAME__BODY_ERROR);
    sluice__v1__server_frame__free_unpacked(frame, NULL);
    cr_expect_leq(world.arena.total_bytes, 256 * 1024, "given back: %zu", world.arena.total_bytes);
    expect_usable();
}

Test(native, timed_out_shut_down_and_refused)
{
    native_protocol.timed_out(world.session, &world.worker, &answers);
    expect_error(&answers, 0, REQUEST_UNAVAILABLE, "");
    cr_expect(native_protocol.shutdown(world.session, &answers));
    expect_error(&answers, 0, REQUEST_UNAVAILABLE, "");
    native_protocol.refuse(&answers);
    expect_error(&answers, 0, REQUEST_UNAVAILABLE, "");
    cr_expect(native_protocol.is_waiting(world.session, 1));
    cr_expect_not(native_protocol.is_waiting(world.session, 0));
}
