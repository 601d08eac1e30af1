#include "engine/engine_describe.h"

#include "engine/policy_builtin.h"

#include <stdlib.h>

/* Numbers that algorithms have on disk, whatever happens to the enum. */
static const enum limiter_algorithm algorithm_codes[] = {
    [1] = LIMITER_TOKEN_BUCKET, [2] = LIMITER_LEAKY_BUCKET,    [3] = LIMITER_FIXED_WINDOW,
    [4] = LIMITER_SLIDING_LOG,  [5] = LIMITER_SLIDING_COUNTER, [6] = LIMITER_THROTTLE,
};

#define ALGORITHM_CODES (sizeof(algorithm_codes) / sizeof(algorithm_codes[0]))

/* ---- writing ---- */

static void put_number(struct buf *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        buf_append_byte(out, (uint8_t)(value >> (8 * i)));
    }
}

static void put_text(struct buf *out, struct slice text)
{
    put_number(out, text.size, 4);
    buf_append_slice(out, text);
}

static void put_algorithm(struct buf *out, enum limiter_algorithm algorithm)
{
    uint8_t code = 0;
    for (uint8_t i = 1; i < ALGORITHM_CODES; i++) {
        code = algorithm_codes[i] == algorithm ? i : code;
    }
    buf_append_byte(out, code);
}

static void put_policies(const struct policy_set *set, struct buf *out, uint32_t *calendars)
{
    *calendars = 0;
    put_number(out, set->policies.count, 4);
    put_number(out, set->builtin_first, 4);
    put_number(out, POLICY_BUILTINS, 4);
    for (uint32_t i = 0; i < set->policies.count; i++) {
        const struct limiter_policy *policy = &set->policies.policies[i];
        put_algorithm(out, policy->algorithm);
        put_number(out, policy->limit, 8);
        put_number(out, policy->burst, 8);
        put_number(out, (uint64_t)policy->window_ns, 8);
        *calendars += policy->calendar != NULL;
        put_number(out, policy->calendar != NULL ? *calendars : 0, 4);
    }
}

static void put_calendar(struct buf *out, const struct calendar *calendar)
{
    put_number(out, calendar->unit, 1);
    put_number(out, calendar->zone.count, 4);
    for (uint32_t i = 0; i < calendar->zone.count; i++) {
        put_number(out, (uint64_t)calendar->zone.shifts[i].from_s, 8);
        put_number(out, (uint32_t)calendar->zone.shifts[i].offset_s, 4);
    }
}

static void put_variant(struct buf *out, const struct policy_variant *variant)
{
    put_number(out, variant->kind, 1);
    put_number(out, variant->policy, 4);
    put_text(out, variant->label);
}

static void put_limit(struct buf *out, const struct policy_limit *limit)
{
    put_text(out, limit->name);
    put_algorithm(out, limit->algorithm);
    put_number(out, limit->part_count, 4);
    for (uint32_t i = 0; i < limit->part_count; i++) {
        put_number(out, limit->parts[i].source, 1);
        put_text(out, limit->parts[i].attribute);
    }
    put_number(out, limit->ip_prefix, 1);
    put_number(out, limit->ip_part, 4);
    put_number(out, limit->ip_v4_bits, 1);
    put_number(out, limit->ip_v6_bits, 1);
    put_variant(out, &limit->own);
    put_text(out, limit->plan_attribute);
    put_number(out, limit->plan_count, 4);
    for (uint32_t i = 0; i < limit->plan_count; i++) {
        put_variant(out, &limit->plans[i]);
    }
    put_number(out, limit->override_count, 4);
    for (uint32_t i = 0; i < limit->override_count; i++) {
        put_variant(out, &limit->overrides[i].variant);
    }
}

void engine_describe_write(const struct policy_set *set, struct buf *out)
{
    uint32_t calendars;
    put_policies(set, out, &calendars);
    put_number(out, calendars, 4);
    for (uint32_t i = 0; i < set->policies.count; i++) {
        if (set->policies.policies[i].calendar != NULL) {
            put_calendar(out, set->policies.policies[i].calendar);
        }
    }
    put_number(out, set->limit_count, 4);
    for (uint32_t i = 0; i < set->limit_count; i++) {
        put_limit(out, &set->limits[i]);
    }
}

/* ---- reading ---- */

struct reader {
    struct slice rest;
    bool bad; /* something did not fit; what is read then is 0 */
    bool no_memory;
    struct policy_set *set;
};

static uint64_t get_number(struct reader *reader, size_t bytes)
{
    uint64_t value = 0;
    if (reader->rest.size < bytes) {
        reader->bad = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++) {
        value |= (uint64_t)reader->rest.data[i] << (8 * i);
    }
    reader->rest = slice_make(reader->rest.data + bytes, reader->rest.size - bytes);
    return value;
}

static uint32_t get_u32(struct reader *reader)
{
    return (uint32_t)get_number(reader, 4);
}

static uint8_t get_u8(struct reader *reader)
{
    return (uint8_t)get_number(reader, 1);
}

/* Zeroed room for an array whose elements take at least `least` bytes each in the description. */
static void *get_array(struct reader *reader, uint32_t count, size_t least, size_t bytes)
{
    if (reader->bad || count > reader->rest.size / least) {
        reader->bad = true;
        return NULL;
    }
    void *array = arena_zalloc(&reader->set->arena, (size_t)count * bytes + 1);
    if (array == NULL) {
        reader->bad = reader->no_memory = true;
    }
    return array;
}

static struct slice get_text(struct reader *reader)
{
    uint32_t size = get_u32(reader);
    if (reader->bad || size > reader->rest.size) {
        reader->bad = true;
        return (struct slice){.size = 0};
    }
    char *copy = arena_copy(&reader->set->arena, slice_make(reader->rest.data, size));
    if (copy == NULL) {
        reader->bad = reader->no_memory = true;
        return (struct slice){.size = 0};
    }
    reader->rest = slice_make(reader->rest.data + size, reader->rest.size - size);
    return slice_make(copy, size);
}

static enum limiter_algorithm get_algorithm(struct reader *reader)
{
    uint8_t code = get_u8(reader);
    if (code == 0 || code >= ALGORITHM_CODES) {
        reader->bad = true;
        return LIMITER_TOKEN_BUCKET;
    }
    return algorithm_codes[code];
}

/* *calendars: for each policy which calendar it has. */
static struct limiter_policy *get_policies(struct reader *reader, uint32_t **calendars)
{
    struct policy_set *set = reader->set;
    uint32_t count = get_u32(reader);
    set->builtin_first = get_u32(reader);
    uint32_t builtins = get_u32(reader);
    if (builtins > count || set->builtin_first > count - builtins ||
        builtins != POLICY_BUILTINS) {
        reader->bad = true;
    }
    struct limiter_policy *policies = get_array(reader, count, 29, sizeof(*policies));
    *calendars = get_array(reader, count, 29, sizeof(**calendars));
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        enum limiter_algorithm algorithm = get_algorithm(reader);
        uint64_t limit = get_number(reader, 8);
        uint64_t burst = get_number(reader, 8);
        int64_t window_ns = (int64_t)get_number(reader, 8);
        (*calendars)[i] = get_u32(reader);
        if (limit > LIMITS_QUOTA_MAX || burst > LIMITS_QUOTA_MAX || window_ns < 0 ||
            window_ns > LIMITS_WINDOW_NS_MAX || (window_ns == 0 && (*calendars)[i] == 0)) {
            reader->bad = true;
        }
        limiter_policy_init(&policies[i], algorithm, limit, burst, window_ns, NULL);
        policies[i].id = i;
    }
    set->policies = (struct store_policies){.policies = policies, .count = count};
    return policies;
}

static void get_calendar(struct reader *reader, struct calendar *calendar)
{
    uint8_t unit = get_u8(reader);
    uint32_t count = get_u32(reader);
    struct calendar_shift *shifts = get_array(reader, count, 12, sizeof(*shifts));
    reader->bad = reader->bad || unit > CALENDAR_YEAR || count == 0;
    calendar->unit = (enum calendar_unit)unit;
    calendar->zone = (struct calendar_zone){.shifts = shifts, .count = count};
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        shifts[i].from_s = (int64_t)get_number(reader, 8);
        shifts[i].offset_s = (int32_t)get_u32(reader);
        reader->bad = reader->bad || (i == 0 ? shifts[i].from_s != INT64_MIN
                                             : shifts[i].from_s <= shifts[i - 1].from_s);
    }
}

static void get_calendars(struct reader *reader, struct limiter_policy *policies,
                          const uint32_t *of_policy)
{
    uint32_t count = get_u32(reader);
    struct calendar *calendars = get_array(reader, count, 5, sizeof(*calendars));
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        get_calendar(reader, &calendars[i]);
    }
    for (uint32_t i = 0; i < reader->set->policies.count && !reader->bad; i++) {
        if (of_policy[i] > count) {
            reader->bad = true;
        } else if (of_policy[i] > 0) {
            policies[i].calendar = &calendars[of_policy[i] - 1];
            policies[i].window_ns = 0;
        }
    }
}

static void get_variant(struct reader *reader, struct policy_variant *variant)
{
    uint8_t kind = get_u8(reader);
    variant->policy = get_u32(reader);
    variant->label = get_text(reader);
    variant->kind = (enum policy_kind)kind;
    if (kind > POLICY_BLOCKED || variant->policy >= reader->set->policies.count) {
        reader->bad = true;
    }
}

static void get_limit_parts(struct reader *reader, struct policy_limit *limit)
{
    limit->part_count = get_u32(reader);
    limit->parts = get_array(reader, limit->part_count, 5, sizeof(*limit->parts));
    for (uint32_t i = 0; i < limit->part_count && !reader->bad; i++) {
        uint8_t source = get_u8(reader);
        reader->bad = reader->bad || source > POLICY_ATTRIBUTE;
        limit->parts[i].source = (enum policy_source)source;
        limit->parts[i].attribute = get_text(reader);
    }
    limit->ip_prefix = get_u8(reader) != 0;
    limit->ip_part = get_u32(reader);
    limit->ip_v4_bits = get_u8(reader);
    limit->ip_v6_bits = get_u8(reader);
    reader->bad = reader->bad || (limit->ip_prefix && limit->ip_part >= limit->part_count);
}

static void get_limit(struct reader *reader, struct policy_limit *limit)
{
    limit->name = get_text(reader);
    limit->algorithm = get_algorithm(reader);
    get_limit_parts(reader, limit);
    get_variant(reader, &limit->own);
    limit->plan_attribute = get_text(reader);
    limit->plan_count = get_u32(reader);
    limit->plans = get_array(reader, limit->plan_count, 9, sizeof(*limit->plans));
    for (uint32_t i = 0; i < limit->plan_count && !reader->bad; i++) {
        get_variant(reader, &limit->plans[i]);
    }
    limit->override_count = get_u32(reader);
    limit->overrides = get_array(reader, limit->override_count, 9, sizeof(*limit->overrides));
    for (uint32_t i = 0; i < limit->override_count && !reader->bad; i++) {
        get_variant(reader, &limit->overrides[i].variant);
    }
}

enum status engine_describe_read(struct slice description, struct policy_set **out)
{
    struct policy_set *set = calloc(1, sizeof(*set));
    struct reader reader = {.rest = description, .set = set};
    uint32_t *calendars;
    *out = NULL;
    if (set == NULL) {
        return STATUS_NO_MEMORY;
    }
    arena_init(&set->arena, 65536, 0);
    struct limiter_policy *policies = get_policies(&reader, &calendars);
    if (!reader.bad) {
        get_calendars(&reader, policies, calendars);
    }
    set->limit_count = get_u32(&reader);
    set->limits = get_array(&reader, set->limit_count, 33, sizeof(*set->limits));
    for (uint32_t i = 0; i < set->limit_count && !reader.bad; i++) {
        get_limit(&reader, &set->limits[i]);
    }
    if (reader.bad || reader.rest.size > 0) {
        policy_set_destroy(&set);
        return reader.no_memory ? STATUS_NO_MEMORY : STATUS_INVALID;
    }
    *out = set;
    return STATUS_OK;
}
