#include "engine/policy_index.h"

static enum status policy_index_plans(struct arena *arena, struct policy_limit *limit)
{
    struct policy_plan_index *index = arena_alloc(arena, sizeof(*index));
    if (index == NULL) {
        return STATUS_NO_MEMORY;
    }
    enum status status = name_index_init(&index->by_value, arena, limit->plan_count);
    for (uint32_t i = 0; i < limit->plan_count && status == STATUS_OK; i++) {
        uint32_t existing;
        status = name_index_add(&index->by_value, 0, limit->plans[i].label, i, &existing);
    }
    limit->plan_index = index;
    return status;
}

static bool policy_index_is_exact_key(const struct policy_override *override)
{
    const struct policy_test *test = override->tests;
    return override->test_count == 1 && test->of.source == POLICY_KEY &&
           test->kind == POLICY_TEST_PATTERN && test->exact;
}

/* From the last to the first, so that each chain is put together in front. */
static enum status policy_index_chain(struct policy_limit *limit,
                                      struct policy_override_index *index, uint32_t exact_count)
{
    enum status status = name_index_init(&index->by_key, index->by_key.arena, exact_count);
    for (uint32_t i = 0; i < limit->override_count && status == STATUS_OK; i++) {
        index->next[i] = NAME_INDEX_NONE;
        if (!policy_index_is_exact_key(&limit->overrides[i])) {
            index->others[index->other_count++] = i;
        }
    }
    for (uint32_t i = limit->override_count; i > 0 && status == STATUS_OK; i--) {
        const struct policy_override *override = &limit->overrides[i - 1];
        if (policy_index_is_exact_key(override)) {
            uint32_t later;
            status = name_index_replace(&index->by_key, 0, override->tests->literal, i - 1,
                                        &later);
            index->next[i - 1] = later;
        }
    }
    return status;
}

static enum status policy_index_overrides(struct arena *arena, struct policy_limit *limit)
{
    struct policy_override_index *index = arena_zalloc(arena, sizeof(*index));
    uint32_t exact_count = 0;
    for (uint32_t i = 0; i < limit->override_count; i++) {
        exact_count += policy_index_is_exact_key(&limit->overrides[i]);
    }
    if (index == NULL) {
        return STATUS_NO_MEMORY;
    }
    uint32_t other_count = limit->override_count - exact_count;
    index->by_key.arena = arena;
    index->next = arena_alloc(arena, sizeof(*index->next) * limit->override_count);
    index->others = arena_alloc(arena, sizeof(*index->others) * other_count);
    if (index->next == NULL || index->others == NULL) {
        return STATUS_NO_MEMORY;
    }
    limit->override_index = index;
    return policy_index_chain(limit, index, exact_count);
}

enum status policy_index_build(struct policy_set *set)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < set->limit_count && status == STATUS_OK; i++) {
        struct policy_limit *limit = &set->limits[i];
        if (limit->plan_attribute.size > 0) {
            status = policy_index_plans(&set->arena, limit);
        }
        if (status == STATUS_OK && limit->override_count > 0) {
            status = policy_index_overrides(&set->arena, limit);
        }
    }
    return status;
}
