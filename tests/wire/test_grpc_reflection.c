/* Reflection: what a client without a .proto file learns. */
#include "http2_client.h"

#include "wire/grpc.h"
#include "wire/pb_fields.h"

#include <criterion/criterion.h>

static const char *const paths[] = {
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
};

static struct client client;

static void setup(void)
{
    client_init(&client);
}

static void teardown(void)
{
    client_deinit(&client);
}

TestSuite(grpc_reflection, .init = setup, .fini = teardown);

/* The answer to one question on a stream that ends with it. */
static struct slice question(const char *path, uint32_t field, const char *text)
{
    struct buf message;
    struct slice answer = slice_make(NULL, 0);
    size_t used;
    buf_init(&message, 0);
    pb_fields_put_bytes(&message, field, slice_text(text));
    const struct client_answer *got = client_call(&client, path, message.data, message.size);
    cr_assert_eq(got->code, 0);
    cr_assert(got->closed);
    cr_assert_eq(grpc_frame(buf_slice(&got->body), &answer, &used), GRPC_FRAME_WHOLE);
    struct slice original;
    cr_assert(pb_fields_bytes(answer, 2, &original));
    cr_expect(slice_equal(original, buf_slice(&message)), "the question comes back");
    buf_deinit(&message);
    return answer;
}

static struct slice bytes(struct slice message, uint32_t number)
{
    struct slice out;
    cr_assert(pb_fields_bytes(message, number, &out));
    return out;
}

/* Is `text` the first field of one of the messages in field 1 of `list`? */
static bool lists(struct slice list, const char *text)
{
    struct pb_field field;
    while (pb_fields_next(&list, &field) == PB_FIELDS_ONE) {
        if (slice_equal_text(bytes(field.bytes, 1), text)) {
            return true;
        }
    }
    return false;
}

Test(grpc_reflection, lists_every_service)
{
    for (size_t i = 0; i < 2; i++) {
        struct slice list = bytes(question(paths[i], 7, ""), 6);
        cr_expect(lists(list, "sluice.v1.RateLimiter"));
        cr_expect(lists(list, "grpc.health.v1.Health"));
        cr_expect(lists(list, "grpc.reflection.v1.ServerReflection"));
        cr_expect(lists(list, "grpc.reflection.v1alpha.ServerReflection"));
    }
}

Test(grpc_reflection, finds_what_a_symbol_names)
{
    static const struct {
        const char *symbol;
        const char *file; /* NULL: none */
    } cases[] = {
        {"sluice.v1.RateLimiter", "sluice/v1/sluice.proto"},
        {"sluice.v1.RateLimiter.ShouldAllow", "sluice/v1/sluice.proto"},
        {"sluice.v1.ShouldAllowRequest", "sluice/v1/sluice.proto"},
        {"sluice.v1.ShouldAllowRequest.key", "sluice/v1/sluice.proto"},
        {"sluice.v1.ShouldAllowRequest.AttributesEntry", "sluice/v1/sluice.proto"},
        {"sluice.v1.ClientFrame.body", "sluice/v1/sluice.proto"},
        {"sluice.v1.Reason", "sluice/v1/sluice.proto"},
        {"sluice.v1.REASON_BLOCKED", "sluice/v1/sluice.proto"},
        {"google.protobuf.Duration", "google/protobuf/duration.proto"},
        {"grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc/health/v1/health.proto"},
        {"grpc.health.v1.HealthCheckResponse.SERVING", "grpc/health/v1/health.proto"},
        {"sluice.v1", NULL},
        {"sluice.v1.", NULL},
        {"sluice.v1.RateLimiter.Fly", NULL},
        {"sluice.v1.RateLimite", NULL},
        {"RateLimiter", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct slice answer = question(paths[i % 2], 4, cases[i].symbol);
        if (cases[i].file == NULL) {
            struct slice error = bytes(answer, 7);
            cr_expect_eq(error.size > 2 ? error.data[1] : 0, 5, "%s: NOT_FOUND", cases[i].symbol);
            continue;
        }
        struct slice file = bytes(answer, 4);
        cr_expect(lists(file, cases[i].file), "%s", cases[i].symbol);
    }
}

Test(grpc_reflection, files_come_with_what_they_import)
{
    struct slice files = bytes(question(paths[0], 3, "sluice/v1/sluice.proto"), 4);
    cr_expect(lists(files, "sluice/v1/sluice.proto"));
    cr_expect(lists(files, "google/protobuf/duration.proto"));
    cr_expect(!lists(files, "grpc/health/v1/health.proto"));
    cr_expect_gt(bytes(question(paths[0], 3, "no/such.proto"), 7).size, 0);
}

Test(grpc_reflection, no_extensions)
{
    struct slice none = bytes(question(paths[0], 6, "sluice.v1.Error"), 5);
    cr_expect(slice_equal_text(bytes(none, 1), "sluice.v1.Error"));
    cr_expect_gt(bytes(question(paths[0], 6, "no.Such"), 7).size, 0);
    cr_expect_gt(bytes(question(paths[0], 5, "\x0a\x01x"), 7).size, 0);
}

Test(grpc_reflection, each_question_of_an_open_stream_is_answered_as_it_comes)
{
    struct client_request request = {
        .path = paths[0], .body = slice_make("\0\0\0\0\x02\x3a\x00\0\0\0", 10), .open = true};
    int32_t stream = client_submit(&client, &request);
    struct client_answer *answer = client_answer(&client, stream);
    client_run(&client);
    size_t first = answer->body.size;
    cr_expect_gt(first, 0);
    cr_expect_eq(answer->code, -1);
    client_more(&client, stream, slice_make("\0\x02\x3a\x00\0\0\0\0\x02\x3a\x00", 11), true);
    cr_expect_eq(answer->body.size, 3 * first);
    client_more(&client, stream, slice_make(NULL, 0), false);
    cr_expect_eq(answer->code, 0);
    cr_expect(answer->closed);
}

Test(grpc_reflection, a_message_that_is_none_ends_the_call)
{
    cr_expect_eq(client_call(&client, paths[0], "", 0)->code, REQUEST_INVALID_ARGUMENT);
    cr_expect_eq(client_call(&client, paths[1], "\x0a\xff", 2)->code, REQUEST_INVALID_ARGUMENT);
}
