/* links: sluice_engine
 *
 * Any bytes as a limits file: refused with at least one line, or a set that answers requests. */
#include "engine/explain.h"
#include "engine/limits_file.h"
#include "engine/policy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_require(bool good)
{
    if (!good) {
        abort();
    }
}

/* A request made of the file's own bytes meets its patterns now and then. */
static void fuzz_ask(const struct policy_set *set, const uint8_t *data, size_t size)
{
    size_t third = size / 3 < LIMITS_KEY_BYTES_MAX ? size / 3 : LIMITS_KEY_BYTES_MAX;
    struct request request = {
        .key = slice_make(data, third),
        .route = slice_make(data + third, third),
        .attribute_count = 2,
        .attributes = {{slice_text("plan"), slice_make(data + 2 * third, third)},
                       {slice_text("ip"), slice_text("::ffff:10.1.2.3")}}};
    uint8_t scratch[LIMITS_KEY_BYTES_MAX];
    struct slice route = policy_normalise_route(set, request.route, scratch);
    const struct policy_route *found = policy_match_route(set, route);
    for (uint32_t i = 0; i < set->route_count; i++) {
        bool matches = policy_match_pattern(set->routes[i].pattern, route);
        fuzz_require(!matches || found != NULL);
    }
    fuzz_require(found == NULL || policy_match_pattern(found->pattern, route));
    for (uint32_t i = 0; i < set->limit_count; i++) {
        const struct policy_variant *variant =
            policy_match_variant(&set->limits[i], &request, route, 0);
        fuzz_require(variant->policy < set->policies.count);
    }
    struct buf out;
    buf_init(&out, 0);
    explain_request(set, &request, 0, &out);
    buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hash_key key = {.bytes = {1}};
    struct limits_file_options options = {.key = &key};
    struct limits_file_report report;
    struct policy_set *set = NULL;
    limits_file_report_init(&report);
    enum status status =
        limits_file_parse("fuzz.yaml", slice_make(data, size), &options, &set, &report);
    fuzz_require((status == STATUS_OK) == (set != NULL));
    fuzz_require((status == STATUS_OK) == (report.errors == 0));
    fuzz_require(status == STATUS_OK || report.text.size > 0);
    if (set != NULL) {
        fuzz_ask(set, data, size);
    }
    policy_set_destroy(&set);
    limits_file_report_deinit(&report);
    return 0;
}
