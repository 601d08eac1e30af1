/* links: sluice_wire
 *
 * Any bytes as a RateLimitRequest, in protobuf and in JSON: an error with words, or an answer with
 * a status for each descriptor. */
#include "../wire/native_fixture.h"

#include "wire/envoy_json.h"
#include "wire/envoy_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fixture fixture;

static void require(bool good)
{
    if (!good) {
        abort();
    }
}

static void decide(const struct envoy_request *request)
{
    struct envoy_answer answer;
    struct request_error error = {0};
    struct buf out;
    engine_rewind(fixture.worker.engine);
    if (!envoy_decide(fixture.worker.engine, request, fixture.now_ns, &answer, &error)) {
        require(error.code != REQUEST_OK && error.message[0] != '\0');
        return;
    }
    require(answer.count == request->descriptor_count);
    bool over = false;
    for (uint32_t i = 0; i < answer.count; i++) {
        over = over || answer.statuses[i].code == ENVOY_CODE_OVER_LIMIT;
        require(!answer.statuses[i].has_reset || answer.statuses[i].reset_s >= 0);
    }
    require(over || answer.overall == ENVOY_CODE_OK);
    buf_init(&out, 0);
    envoy_wire_write(&answer, true, &out);
    uint8_t *text = malloc(envoy_json_bytes(&answer));
    require(text != NULL && !out.failed && out.size > 0);
    require((size_t)(envoy_json_write(text, &answer, true) - text) <= envoy_json_bytes(&answer));
    free(text);
    buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct envoy_request request;
    struct request_error error = {0};
    if (fixture.store == NULL) {
        fixture_init(&fixture);
    }
    fixture.now_ns += 1000000;
    engine_enter(fixture.worker.engine);
    arena_reset(&fixture.arena);
    if (envoy_wire_read(slice_make(data, size), &fixture.arena, &request) == ENVOY_WIRE_OK) {
        decide(&request);
    }
    arena_reset(&fixture.arena);
    if (envoy_json_read(slice_make(data, size), &fixture.arena, &request, &error)) {
        decide(&request);
    } else {
        require(error.code != REQUEST_OK && error.message[0] != '\0');
    }
    engine_leave(fixture.worker.engine);
    return 0;
}
