#include "engine/envoy_subject.h"

#include "base/clock.h"
#include "engine/envoy_file.h"
#include "engine/envoy_path.h"
#include "engine/policy_builtin.h"

#include <stdio.h>

/* An identity of the limits file begins with a part's length, and no part is as long as these
 * bytes would say. */
static const char override_domain[] = "Envoy's override:";

/* What is hashed, written into the worker's scratch. */
struct identity {
    const struct hash_key *key;
    uint8_t *bytes;
    size_t used;
};

static void put_bytes(struct identity *identity, const void *bytes, size_t size)
{
    if (size > 0) {
        memcpy(identity->bytes + identity->used, bytes, size);
        identity->used += size;
    }
}

static void put_hash(struct identity *identity, const void *bytes, size_t size)
{
    struct fingerprint hash = hash_bytes(identity->key, bytes, size);
    put_bytes(identity, &hash.lo, sizeof(hash.lo));
    put_bytes(identity, &hash.hi, sizeof(hash.hi));
}

/* A length and the bytes. Gateways send values of any length: a long one stands as its own hash,
 * and what is full as the hash of what it held. */
static void put_part(struct identity *identity, struct slice part)
{
    uint8_t length[4];
    for (int i = 0; i < 4; i++) {
        length[i] = (uint8_t)(part.size >> (8 * i));
    }
    if (identity->used + sizeof(length) + LIMITS_KEY_BYTES_MAX > ENGINE_PLAN_IDENTITY_BYTES) {
        size_t used = identity->used;
        identity->used = 0;
        put_hash(identity, identity->bytes, used);
    }
    put_bytes(identity, length, sizeof(length));
    if (part.size > LIMITS_KEY_BYTES_MAX) {
        put_hash(identity, part.data, part.size);
    } else {
        put_bytes(identity, part.data, part.size);
    }
}

static struct identity begin_identity(const struct envoy_work *work)
{
    return (struct identity){.key = store_hash_key(work->worker->engine->store),
                             .bytes = work->worker->scratch.identity};
}

static struct fingerprint end_identity(const struct identity *identity)
{
    return hash_bytes(identity->key, identity->bytes, identity->used);
}

/* The values that the rule counts apart, from the last entry to the first. */
static struct fingerprint identify(const struct envoy_work *work, const struct envoy_node *node,
                                   const struct envoy_descriptor *descriptor)
{
    struct identity identity = begin_identity(work);
    const struct policy_limit *limit = node->rule->limit;
    uint32_t at = descriptor->entry_count;
    for (; node != NULL; node = node->parent) {
        at--;
        if (envoy_path_counts(node)) {
            put_part(&identity, descriptor->entries[at].value);
        }
    }
    return hash_mix(end_identity(&identity), limit->name_id);
}

static struct fingerprint identify_override(const struct envoy_work *work,
                                            const struct envoy_descriptor *descriptor)
{
    struct identity identity = begin_identity(work);
    uint8_t unit = (uint8_t)descriptor->override_unit;
    put_bytes(&identity, override_domain, sizeof(override_domain));
    put_bytes(&identity, &unit, 1);
    put_part(&identity, work->request->domain);
    for (uint32_t i = 0; i < descriptor->entry_count; i++) {
        put_part(&identity, descriptor->entries[i].key);
        put_part(&identity, descriptor->entries[i].value);
    }
    return end_identity(&identity);
}

/* Numbers that the request brings along: a builtin window with another L. */
static void take_override(struct envoy_work *work, const struct envoy_descriptor *descriptor,
                          struct envoy_subject *subject)
{
    static const enum policy_builtin windows[ENVOY_UNITS] = {
        [ENVOY_SECOND] = POLICY_BUILTIN_SECOND, [ENVOY_MINUTE] = POLICY_BUILTIN_MINUTE,
        [ENVOY_HOUR] = POLICY_BUILTIN_HOUR,     [ENVOY_DAY] = POLICY_BUILTIN_DAY,
        [ENVOY_WEEK] = POLICY_BUILTIN_WEEK,     [ENVOY_MONTH] = POLICY_BUILTIN_MONTH,
        [ENVOY_YEAR] = POLICY_BUILTIN_YEAR};
    const struct policy_set *policies = work->set->policies;
    const struct envoy_config *config = policies->envoy;
    subject->unit = (enum envoy_unit)descriptor->override_unit;
    enum policy_builtin window = windows[subject->unit];
    if (config->classic && subject->unit == ENVOY_MONTH) {
        window = POLICY_BUILTIN_30_DAYS;
    } else if (config->classic && subject->unit == ENVOY_YEAR) {
        window = POLICY_BUILTIN_365_DAYS;
    }
    subject->own = policy_builtin_fixed_window(policies, window, descriptor->override_requests);
    subject->numbers = &subject->own;
    subject->shadow = config->shadow_all;
    subject->metric = METRICS_NO_LIMIT;
    subject->id = identify_override(work, descriptor);
}

static void take_rule(struct envoy_work *work, const struct envoy_level *level,
                      const struct envoy_descriptor *descriptor, struct envoy_subject *subject)
{
    const struct policy_set *policies = work->set->policies;
    const struct envoy_node *node = envoy_match_find(
        policies->envoy, level, descriptor->entries, descriptor->entry_count);
    if (node == NULL || node->rule == NULL) {
        return;
    }
    const struct envoy_rule *rule = node->rule;
    subject->rule = rule;
    subject->unit = rule->unit;
    subject->quota = rule->quota;
    subject->shadow = rule->shadow;
    if (!rule->unlimited) {
        subject->numbers = &policies->policies.policies[rule->limit->own.policy];
        subject->metric = rule->limit->metric;
        subject->id = identify(work, node, descriptor);
    }
}

static bool names(const struct envoy_rule *by, struct slice name)
{
    for (uint32_t i = 0; i < by->replace_count; i++) {
        if (slice_equal(by->replaces[i], name)) {
            return true;
        }
    }
    return false;
}

/* Rules that another rule of the request takes the place of. */
static void mark_replaced(struct envoy_work *work)
{
    uint32_t count = work->request->descriptor_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct envoy_rule *by = work->subjects[i].rule;
        for (uint32_t j = 0; by != NULL && by->replace_count > 0 && j < count; j++) {
            struct envoy_subject *subject = &work->subjects[j];
            if (subject->rule != NULL && names(by, subject->rule->name)) {
                subject->replaced = true;
                subject->numbers = NULL;
            }
        }
    }
}

static bool fail(const struct envoy_work *work, uint32_t index, const char *field,
                 const char *message)
{
    char path[LIMITS_FIELD_BYTES_MAX];
    (void)snprintf(path, sizeof(path), "descriptors[%u]%s", index, field);
    request_error_set(work->error, REQUEST_INVALID_ARGUMENT, path, "%s", message);
    return false;
}

static bool check_descriptor(const struct envoy_work *work, uint32_t index)
{
    const struct envoy_descriptor *descriptor = &work->request->descriptors[index];
    bool own = slice_equal_text(work->request->domain, ENVOY_FILE_OWN_DOMAIN);
    if (descriptor->entry_count == 0) {
        return fail(work, index, ".entries", "a descriptor needs at least one entry");
    }
    for (uint32_t i = 0; i < descriptor->entry_count; i++) {
        if (descriptor->entries[i].key.size == 0) {
            return fail(work, index, ".entries", "an entry's key must not be empty");
        }
    }
    if (descriptor->has_hits && descriptor->hits > LIMITS_COST_MAX) {
        return fail(work, index, ".hits_addend", "at most 9223372036854775807");
    }
    if (descriptor->has_override && own) {
        return fail(work, index, ".limit", "the domain sluice is decided by the limits file only");
    }
    if (descriptor->has_override && (descriptor->override_unit == ENVOY_UNKNOWN ||
                                     descriptor->override_unit >= ENVOY_UNITS)) {
        return fail(work, index, ".limit.unit",
                    "an unknown unit; expected SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR");
    }
    if (descriptor->has_override && descriptor->override_multiplier > 1) {
        return fail(work, index, ".limit.unit_multiplier", "only a single unit can be asked for");
    }
    return true;
}

bool envoy_subject_check(const struct envoy_work *work)
{
    const struct envoy_request *request = work->request;
    const char *field = "descriptors";
    if (request->domain.size == 0) {
        request_error_set(work->error, REQUEST_INVALID_ARGUMENT, "domain",
                          "rate limit domain must not be empty");
        return false;
    }
    if (request->descriptor_count == 0) {
        request_error_set(work->error, REQUEST_INVALID_ARGUMENT, field,
                          "rate limit descriptor list must not be empty");
        return false;
    }
    if (request->descriptor_count > LIMITS_ENVOY_DESCRIPTORS_MAX) {
        request_error_set(work->error, REQUEST_INVALID_ARGUMENT, field,
                          "%u descriptors are more than the %d that a request may have",
                          request->descriptor_count, LIMITS_ENVOY_DESCRIPTORS_MAX);
        return false;
    }
    for (uint32_t i = 0; i < request->descriptor_count; i++) {
        if (!check_descriptor(work, i)) {
            return false;
        }
    }
    return true;
}

bool envoy_subject_find(struct envoy_work *work)
{
    const struct envoy_request *request = work->request;
    const struct envoy_config *config = work->set->policies->envoy;
    const struct envoy_level *level = envoy_match_domain(config, request->domain);
    for (uint32_t i = 0; i < request->descriptor_count; i++) {
        const struct envoy_descriptor *descriptor = &request->descriptors[i];
        struct envoy_subject *subject = &work->subjects[i];
        *subject = (struct envoy_subject){
            .cost = descriptor->has_hits ? descriptor->hits : request->hits > 0 ? request->hits : 1,
            .negative = descriptor->negative};
        if (descriptor->has_override) {
            take_override(work, descriptor, subject);
        } else if (!config->loaded) {
            request_error_set(work->error, REQUEST_UNAVAILABLE, "domain",
                              "no rate limit configuration loaded (--envoy-config)");
            return false;
        } else if (level != NULL) {
            take_rule(work, level, descriptor, subject);
        }
        if (subject->numbers != NULL) {
            store_prefetch(work->worker->engine->store, subject->id);
        }
    }
    mark_replaced(work);
    return true;
}

enum envoy_call envoy_subject_after(struct envoy_work *work, enum status status)
{
    if (status == STATUS_OK) {
        return ENVOY_CALL_DONE;
    }
    if (status != STATUS_STALE) {
        request_error_set(work->error, REQUEST_UNAVAILABLE, "",
                          "the request could not be decided: %s", status_text(status));
        return ENVOY_CALL_FAILED;
    }
    const struct engine_set *set = shared_pointer_get(&work->worker->engine->current);
    while (set == work->set) {
        shared_pause();
        set = shared_pointer_get(&work->worker->engine->current);
    }
    work->set = set;
    return ENVOY_CALL_AGAIN;
}

struct store_item envoy_subject_item(const struct envoy_subject *subject)
{
    return (struct store_item){.id = subject->id,
                               .policy = subject->numbers,
                               .cost = subject->cost,
                               .shadow = subject->shadow};
}

int64_t envoy_subject_seconds(int64_t ns)
{
    return ns / CLOCK_NS_PER_S + (ns % CLOCK_NS_PER_S > 0);
}

uint32_t envoy_subject_u32(uint64_t number)
{
    return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}
