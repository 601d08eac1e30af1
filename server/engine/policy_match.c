#include "engine/policy_match.h"

#include "engine/network.h"
#include "engine/pattern.h"
#include "engine/policy_index.h"
#include "engine/policy_route_index.h"

const struct policy_route *policy_match_route(const struct policy_set *set, struct slice route)
{
    return policy_route_index_find(set, route);
}

bool policy_match_pattern(struct slice pattern, struct slice text)
{
    return pattern_matches(pattern, text);
}

static bool policy_match_test(const struct policy_test *test, const struct request *request,
                              struct slice route)
{
    struct slice value;
    if (!policy_part_value(&test->of, request, route, &value)) {
        return false;
    }
    if (test->kind == POLICY_TEST_CIDR) {
        uint8_t address[16];
        bool is_v4 = false;
        return policy_parse_address(value, address, &is_v4) &&
               network_contains(test->network, test->prefix_bits, address, is_v4);
    }
    if (test->exact) {
        return slice_equal(test->literal, value);
    }
    return value.size >= test->literal.size &&
           (test->literal.size == 0 ||
            memcmp(value.data, test->literal.data, test->literal.size) == 0) &&
           pattern_matches(test->pattern, value);
}

static bool policy_match_all(const struct policy_override *override,
                             const struct request *request, struct slice route, int64_t now_ns)
{
    if (now_ns >= override->until_ns && override->until_ns != INT64_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < override->test_count; i++) {
        if (!policy_match_test(&override->tests[i], request, route)) {
            return false;
        }
    }
    return true;
}

/* The first override of exactly this key that is still in force, or NAME_INDEX_NONE. */
static uint32_t policy_match_exact(const struct policy_limit *limit, struct slice key,
                                   int64_t now_ns)
{
    const struct policy_override_index *index = limit->override_index;
    uint32_t at = name_index_find(&index->by_key, 0, key);
    while (at != NAME_INDEX_NONE && limit->overrides[at].until_ns <= now_ns &&
           limit->overrides[at].until_ns != INT64_MAX) {
        at = index->next[at];
    }
    return at;
}

const struct policy_override *policy_match_override(const struct policy_limit *limit,
                                                    const struct request *request,
                                                    struct slice route, int64_t now_ns)
{
    const struct policy_override_index *index = limit->override_index;
    if (index == NULL) {
        return NULL;
    }
    uint32_t exact = policy_match_exact(limit, request->key, now_ns);
    for (uint32_t i = 0; i < index->other_count && index->others[i] < exact; i++) {
        const struct policy_override *override = &limit->overrides[index->others[i]];
        if (policy_match_all(override, request, route, now_ns)) {
            return override;
        }
    }
    return exact == NAME_INDEX_NONE ? NULL : &limit->overrides[exact];
}

static const struct policy_variant *policy_match_plan(const struct policy_limit *limit,
                                                      const struct request *request)
{
    struct policy_part by = {.source = POLICY_ATTRIBUTE, .attribute = limit->plan_attribute};
    struct slice value;
    if (limit->plan_index == NULL ||
        !policy_part_value(&by, request, slice_make(NULL, 0), &value)) {
        return NULL;
    }
    uint32_t at = name_index_find(&limit->plan_index->by_value, 0, value);
    return at == NAME_INDEX_NONE ? NULL : &limit->plans[at];
}

const struct policy_variant *policy_match_variant(const struct policy_limit *limit,
                                                  const struct request *request,
                                                  struct slice route, int64_t now_ns)
{
    if (limit->override_index == NULL && limit->plan_index == NULL) {
        return &limit->own;
    }
    const struct policy_override *override =
        policy_match_override(limit, request, route, now_ns);
    if (override != NULL) {
        return &override->variant;
    }
    const struct policy_variant *plan = policy_match_plan(limit, request);
    return plan == NULL ? &limit->own : plan;
}
