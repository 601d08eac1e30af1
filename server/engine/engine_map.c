/* A limit is known by its name, its variants by their plan value or their match.
 *
 * A limit that is gone, or counts in another way or somebody else (algorithm, count_by,
 * ip_prefix), takes its counters with it. The counters of every other limit go on, each under the
 * numbers of the same plan value or override, or, where there is none such or it has no numbers,
 * under the limit's own. Of several overrides with the same match the first goes to the first, the
 * second to the second, and those left over to the last. Sorting and walking both sides keeps a
 * file of 100 000 overrides cheap. */
#include "engine/engine_map.h"

#include "engine/policy_builtin.h"

#include <stdlib.h>

/* Variants of one limit, sorted by label; equal labels in file order. */
struct variants {
    const struct policy_variant **list;
    uint32_t count;
};

static int compare_slices(struct slice a, struct slice b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_limits(const void *left, const void *right)
{
    const struct policy_limit *const *a = left;
    const struct policy_limit *const *b = right;
    return compare_slices((*a)->name, (*b)->name);
}

/* Variants of one kind stand in one array, so their addresses are in file order. */
static int compare_variants(const void *left, const void *right)
{
    const struct policy_variant *const *a = left;
    const struct policy_variant *const *b = right;
    int order = compare_slices((*a)->label, (*b)->label);
    return order != 0 ? order : (*a > *b) - (*a < *b);
}

static void sort_variants(struct variants *variants)
{
    if (variants->count > 1) {
        qsort(variants->list, variants->count, sizeof(*variants->list), compare_variants);
    }
}

static void take_plans(struct variants *variants, const struct policy_limit *limit)
{
    variants->count = 0;
    for (uint32_t i = 0; i < limit->plan_count; i++) {
        variants->list[variants->count++] = &limit->plans[i];
    }
    sort_variants(variants);
}

static void take_overrides(struct variants *variants, const struct policy_limit *limit)
{
    variants->count = 0;
    for (uint32_t i = 0; i < limit->override_count; i++) {
        variants->list[variants->count++] = &limit->overrides[i].variant;
    }
    sort_variants(variants);
}

static bool has_label(const struct variants *variants, uint32_t index, struct slice label)
{
    return index < variants->count && slice_equal(variants->list[index]->label, label);
}

/* Both sides ascend: walk them together. */
static void map_variants(const struct variants *from, const struct variants *to, uint32_t own,
                         uint32_t *map)
{
    uint32_t next = 0; /* the first of `to` that is not given away */
    for (uint32_t i = 0; i < from->count; i++) {
        const struct policy_variant *variant = from->list[i];
        const struct policy_variant *heir = NULL;
        while (next < to->count && compare_slices(to->list[next]->label, variant->label) < 0) {
            next++;
        }
        if (has_label(to, next, variant->label)) {
            heir = to->list[next++];
        } else if (next > 0 && has_label(to, next - 1, variant->label)) {
            heir = to->list[next - 1];
        }
        if (variant->kind == POLICY_NUMBERS) {
            bool numbers = heir != NULL && heir->kind == POLICY_NUMBERS;
            map[variant->policy] = numbers ? heir->policy : own;
        }
    }
}

/* A limit that goes on. `a` and `b` have room for every variant of one limit. */
static void map_limit(const struct policy_limit *from, const struct policy_limit *to,
                      struct variants *a, struct variants *b, uint32_t *map)
{
    map[from->own.policy] = to->own.policy;
    take_plans(a, from);
    take_plans(b, to);
    if (!slice_equal(from->plan_attribute, to->plan_attribute)) {
        b->count = 0;
    }
    map_variants(a, b, to->own.policy, map);
    take_overrides(a, from);
    take_overrides(b, to);
    map_variants(a, b, to->own.policy, map);
}

static bool same_parts(const struct policy_limit *a, const struct policy_limit *b)
{
    if (a->part_count != b->part_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->part_count; i++) {
        if (a->parts[i].source != b->parts[i].source ||
            !slice_equal(a->parts[i].attribute, b->parts[i].attribute)) {
            return false;
        }
    }
    return true;
}

static bool same_folding(const struct policy_limit *a, const struct policy_limit *b)
{
    if (!a->ip_prefix || !b->ip_prefix) {
        return a->ip_prefix == b->ip_prefix;
    }
    return a->ip_part == b->ip_part && a->ip_v4_bits == b->ip_v4_bits &&
           a->ip_v6_bits == b->ip_v6_bits;
}

static void append_part(struct buf *log, const struct policy_part *part)
{
    switch (part->source) {
    case POLICY_KEY:
        buf_append_text(log, "key");
        return;
    case POLICY_ROUTE:
        buf_append_text(log, "route");
        return;
    case POLICY_ATTRIBUTE:
        buf_append_slice(log, part->attribute);
        return;
    }
}

static void append_parts(struct buf *log, const struct policy_limit *limit)
{
    buf_append_byte(log, '[');
    for (uint32_t i = 0; i < limit->part_count; i++) {
        buf_append_text(log, i == 0 ? "" : ", ");
        append_part(log, &limit->parts[i]);
    }
    buf_append_byte(log, ']');
}

static void append_folding(struct buf *log, const struct policy_limit *limit)
{
    if (!limit->ip_prefix) {
        buf_append_text(log, "none");
        return;
    }
    buf_append_text(log, "{of: ");
    append_part(log, &limit->parts[limit->ip_part]);
    buf_printf(log, ", v4: %u, v6: %u}", (unsigned)limit->ip_v4_bits,
               (unsigned)limit->ip_v6_bits);
}

static void begin_line(struct buf *log, const struct policy_limit *limit)
{
    buf_append_text(log, "limit \"");
    buf_append_slice(log, limit->name);
    buf_append_text(log, "\": starts fresh: ");
}

/* Can the new limit not go on with the old one's counters? Then says why. */
static bool starts_fresh(const struct policy_limit *from, const struct policy_limit *to,
                         struct buf *log)
{
    bool algorithm = from->algorithm != to->algorithm;
    bool parts = !algorithm && !same_parts(from, to);
    bool folding = !algorithm && !parts && !same_folding(from, to);

    if (!algorithm && !parts && !folding) {
        return false;
    }
    if (log == NULL) {
        return true;
    }
    begin_line(log, from);
    if (algorithm) {
        buf_printf(log, "algorithm changed from %s to %s\n",
                   limiter_algorithm_name(from->algorithm), limiter_algorithm_name(to->algorithm));
        return true;
    }
    buf_append_text(log, parts ? "count_by changed from " : "ip_prefix changed from ");
    (parts ? append_parts : append_folding)(log, from);
    buf_append_text(log, " to ");
    (parts ? append_parts : append_folding)(log, to);
    buf_append_byte(log, '\n');
    return true;
}

static uint32_t most_variants(const struct policy_set *set)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < set->limit_count; i++) {
        const struct policy_limit *limit = &set->limits[i];
        uint32_t count = limit->plan_count > limit->override_count ? limit->plan_count
                                                                   : limit->override_count;
        most = count > most ? count : most;
    }
    return most;
}

/* The new file's limits by name. */
static const struct policy_limit **sorted_limits(const struct policy_set *set)
{
    const struct policy_limit **list = calloc((size_t)set->limit_count + 1, sizeof(*list));
    if (list == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < set->limit_count; i++) {
        list[i] = &set->limits[i];
    }
    qsort(list, set->limit_count, sizeof(*list), compare_limits);
    return list;
}

static void map_all(const struct policy_set *from, const struct policy_set *to,
                    const struct policy_limit **by_name, struct variants *a, struct variants *b,
                    uint32_t *map, struct buf *log)
{
    for (uint32_t i = 0; i < from->policies.count; i++) {
        map[i] = STORE_GONE;
    }
    policy_builtin_map(from, to, map);
    for (uint32_t i = 0; i < from->limit_count; i++) {
        const struct policy_limit *limit = &from->limits[i];
        const struct policy_limit **found =
            bsearch(&limit, by_name, to->limit_count, sizeof(*by_name), compare_limits);
        if (found != NULL && !starts_fresh(limit, *found, log)) {
            map_limit(limit, *found, a, b, map);
        }
    }
}

uint32_t *engine_map_create(const struct policy_set *from, const struct policy_set *to,
                            struct buf *log)
{
    struct variants a = {.list = calloc(most_variants(from), sizeof(*a.list))};
    struct variants b = {.list = calloc(most_variants(to), sizeof(*b.list))};
    const struct policy_limit **by_name = sorted_limits(to);
    uint32_t *map = calloc((size_t)from->policies.count + 1, sizeof(*map));
    if (a.list != NULL && b.list != NULL && by_name != NULL && map != NULL) {
        map_all(from, to, by_name, &a, &b, map, log);
    } else {
        free(map);
        map = NULL;
    }
    free(by_name);
    free(b.list);
    free(a.list);
    return map;
}
