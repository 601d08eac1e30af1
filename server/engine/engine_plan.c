/* From a request to the counters it meets.
 *
 *   check -> normalise the route -> the one entry of `routes` -> for each of its limits: the
 *   variant (override, plan value, own numbers), the identity, its fingerprint
 *
 * An identity is written down part by part, each with its length in front, so that no two lists of
 * parts read the same; its hash is mixed with the limit's, so that no two limits meet. Neighbours
 * that count by the same parts share the hash. */
#include "engine/engine_plan.h"

#include <assert.h>

#include "engine/limits_file.h"
#include "engine/network.h"

/* A limit that cannot be applied: what is wrong with the first part at fault. */
enum part_fault { PART_OK, PART_MISSING, PART_NO_ADDRESS, PART_NO_ROOM };

/* What hashing one identity needs. */
struct subject {
    struct engine_scratch *scratch;
    const struct request *request;
    struct slice route;
};

/* Little-endian whatever the machine, so that a state can move; compilers make one store of it. */
static void put_length(uint8_t *out, size_t size)
{
    out[0] = (uint8_t)size;
    out[1] = (uint8_t)(size >> 8);
    out[2] = (uint8_t)(size >> 16);
    out[3] = (uint8_t)(size >> 24);
}

static uint64_t load_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* Where among the recent routes one of these bytes would be: its first and last eight decide. */
static struct engine_recent *recent_of(struct engine_scratch *scratch, struct slice route)
{
    uint64_t first = route.data[0];
    uint64_t last = route.data[route.size - 1];
    if (route.size >= sizeof(first)) {
        first = load_word(route.data);
        last = load_word(route.data + route.size - sizeof(last));
    }
    uint64_t mixed = (first ^ (last << 1) ^ route.size) * UINT64_C(0x9e3779b97f4a7c15);
    return &scratch->recent[mixed >> 58];
}

static_assert(ENGINE_PLAN_RECENT == 1 << (64 - 58), "six bits choose one of them");

/* Most routes have 8 to 48 bytes, which a few words hold; the last overlaps the one before. */
static bool same_text(const uint8_t *a, const uint8_t *b, size_t size)
{
    if (size < sizeof(uint64_t)) {
        return memcmp(a, b, size) == 0;
    }
    size_t last = size - sizeof(uint64_t);
    for (size_t i = 0; i < last; i += sizeof(uint64_t)) {
        if (load_word(a + i) != load_word(b + i)) {
            return false;
        }
    }
    return load_word(a + last) == load_word(b + last);
}

/* The limit of a route that has one, enforced, counted by the key, with the same numbers for
 * everybody: planned without looking at parts and variants. Else NULL. */
static const struct policy_limit *plain_limit(const struct policy_route *route)
{
    if (route == NULL || route->limit_count != 1) {
        return NULL;
    }
    const struct policy_limit *limit = route->limits[0];
    bool by_key =
        limit->part_count == 1 && limit->parts[0].source == POLICY_KEY && !limit->ip_prefix;
    bool for_all = limit->own.kind == POLICY_NUMBERS && limit->override_count == 0 &&
                   limit->plan_attribute.size == 0;
    return by_key && for_all && !limit->shadow ? limit : NULL;
}

/* The entry of `routes` for a normalised route. */
static const struct engine_recent *match_route(struct engine_scratch *scratch,
                                               const struct engine_set *set, struct slice route)
{
    bool fits = route.size > 0 && route.size <= ENGINE_PLAN_RECENT_BYTES;
    struct engine_recent *recent =
        fits ? recent_of(scratch, route) : &scratch->recent[ENGINE_PLAN_RECENT];
    if (fits && recent->sequence == set->sequence && recent->size == route.size &&
        same_text(recent->text, route.data, route.size)) {
        return recent;
    }
    recent->sequence = set->sequence;
    recent->route = policy_match_route(set->policies, route);
    recent->plain = plain_limit(recent->route);
    if (fits) {
        recent->size = (uint32_t)route.size;
        memcpy(recent->text, route.data, route.size);
    }
    return recent;
}

/* An address's network: its family and its leading bits, the others cleared. */
static bool fold_address(const struct policy_limit *limit, struct slice text, uint8_t folded[17])
{
    uint8_t *address = folded + 1;
    bool is_v4;
    if (!policy_parse_address(text, address, &is_v4)) {
        return false;
    }
    folded[0] = is_v4 ? 4 : 6;
    network_mask(address, is_v4 ? 96u + limit->ip_v4_bits : limit->ip_v6_bits);
    return true;
}

/* Appends part `index` of the limit's identity at *used. */
static enum part_fault append_part(const struct subject *subject,
                                   const struct policy_limit *limit, uint32_t index, size_t *used)
{
    uint8_t folded[17];
    struct slice value;
    uint8_t *out = subject->scratch->identity + *used;

    if (!policy_part_value(&limit->parts[index], subject->request, subject->route, &value)) {
        return PART_MISSING;
    }
    if (limit->ip_prefix && limit->ip_part == index) {
        if (!fold_address(limit, value, folded)) {
            return PART_NO_ADDRESS;
        }
        value = slice_make(folded, sizeof(folded));
    }
    if (value.size + 4 > ENGINE_PLAN_IDENTITY_BYTES - *used) {
        return PART_NO_ROOM;
    }
    put_length(out, value.size);
    if (value.size > 0) {
        memcpy(out + 4, value.data, value.size);
    }
    *used += 4 + value.size;
    return PART_OK;
}

static enum part_fault identify(const struct subject *subject, const struct hash_key *key,
                                const struct policy_limit *limit, struct fingerprint *out)
{
    size_t used = 0;
    for (uint32_t i = 0; i < limit->part_count; i++) {
        enum part_fault fault = append_part(subject, limit, i, &used);
        if (fault != PART_OK) {
            return fault;
        }
    }
    *out = hash_bytes(key, subject->scratch->identity, used);
    return PART_OK;
}

/* Do both count the same identities, so that one hash serves both? */
static bool same_identity(const struct policy_limit *a, const struct policy_limit *b)
{
    if (a->part_count != b->part_count || a->ip_prefix != b->ip_prefix) {
        return false;
    }
    if (a->ip_prefix && (a->ip_part != b->ip_part || a->ip_v4_bits != b->ip_v4_bits ||
                         a->ip_v6_bits != b->ip_v6_bits)) {
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

static const struct policy_variant *find_variant(const struct policy_limit *limit,
                                                 const struct subject *subject, int64_t now_ns)
{
    if (limit->override_count == 0 && limit->plan_attribute.size == 0) {
        return &limit->own;
    }
    return policy_match_variant(limit, subject->request, subject->route, now_ns);
}

/* What the store is to do for one row. A blocked identity asks its own limit for more than any
 * limit has: so nothing is charged, and the other limits' verdicts are still known. */
static void fill_item(struct store_item *item, const struct policy_set *set,
                      const struct engine_row *row, enum engine_purpose purpose, uint64_t cost)
{
    bool blocked = purpose == ENGINE_DECIDE && row->variant->kind == POLICY_BLOCKED;
    item->policy = &set->policies.policies[row->variant->policy];
    item->cost = blocked ? LIMITS_COST_MAX : purpose == ENGINE_RESET ? 0 : cost;
    item->shadow = row->limit->shadow;
}

/* The rows and items of plan->route. False: an enforced limit cannot be applied. */
static bool make_rows(const struct subject *subject, const struct store *store,
                      enum engine_purpose purpose, int64_t now_ns, struct engine_plan *plan)
{
    struct engine_scratch *scratch = subject->scratch;
    const struct hash_key *key = store_hash_key(store);
    const struct policy_limit *hashed = NULL;
    struct fingerprint identity = {0};

    for (uint32_t i = 0; i < plan->route->limit_count; i++) {
        struct engine_row *row = &scratch->rows[plan->first + i];
        row->limit = plan->route->limits[i];
        row->item = ENGINE_PLAN_NO_ITEM;
        row->variant = NULL;
        plan->count = i + 1;
        if (hashed == NULL || !same_identity(hashed, row->limit)) {
            hashed = NULL;
            if (identify(subject, key, row->limit, &identity) != PART_OK) {
                if (!row->limit->shadow) {
                    return false;
                }
                continue;
            }
            hashed = row->limit;
        }
        row->variant = find_variant(row->limit, subject, now_ns);
        if (purpose == ENGINE_DECIDE && row->variant->kind == POLICY_UNLIMITED) {
            continue;
        }
        row->item = plan->first + plan->item_count++;
        struct store_item *item = &scratch->items[row->item];
        item->id = hash_mix(identity, row->limit->name_id);
        store_prefetch(store, item->id);
        fill_item(item, plan->set->policies, row, purpose, plan->cost);
    }
    return true;
}

/* The one row and item of a plain limit (plain_limit): what make_rows would make of it. */
static void make_plain(struct engine_scratch *scratch, const struct store *store,
                       const struct policy_limit *limit, struct engine_plan *plan)
{
    const struct policy_set *set = plan->set->policies;
    struct store_item *item = &scratch->items[plan->first];
    struct fingerprint identity = hash_part(store_hash_key(store), plan->request->key);
    item->id = hash_mix(identity, limit->name_id);
    store_prefetch(store, item->id);
    item->policy = &set->policies.policies[limit->own.policy];
    item->cost = plan->cost;
    item->shadow = false;
    scratch->rows[plan->first] =
        (struct engine_row){.limit = limit, .variant = &limit->own, .item = plan->first};
    plan->count = plan->item_count = 1;
    plan->plain = true;
}

/* The order in which faults are named. */
enum fault_rank { RANK_KEY, RANK_ROUTE, RANK_COST, RANK_ATTRIBUTE, RANK_ATTRIBUTES, RANK_NONE };

static enum fault_rank rank_field(const char *field)
{
    static const char *const fields[] = {"key", "route", "cost"};
    for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strcmp(field, fields[i]) == 0) {
            return (enum fault_rank)i;
        }
    }
    return strcmp(field, "attributes") == 0 ? RANK_ATTRIBUTES : RANK_ATTRIBUTE;
}

/* The field that a part of an identity comes from. */
static const char *part_field(const struct policy_part *part, char field[LIMITS_FIELD_BYTES_MAX])
{
    switch (part->source) {
    case POLICY_KEY:
        return "key";
    case POLICY_ROUTE:
        return "route";
    case POLICY_ATTRIBUTE:
        return request_attribute_field(part->attribute, field);
    }
    return "";
}

static void set_part_error(struct request_error *error, const struct policy_limit *limit,
                           const char *field, enum part_fault fault)
{
    const char *name = (const char *)limit->name.data;
    int size = (int)limit->name.size;
    if (fault == PART_MISSING) {
        request_error_set(error, REQUEST_INVALID_ARGUMENT, field,
                          "limit \"%.*s\" counts by an attribute that the request lacks", size,
                          name);
    } else if (fault == PART_NO_ADDRESS) {
        request_error_set(error, REQUEST_INVALID_ARGUMENT, field,
                          "limit \"%.*s\" counts by address: an IPv4 or IPv6 address without "
                          "port, brackets or zone was expected",
                          size, name);
    } else {
        request_error_set(error, REQUEST_INTERNAL, field,
                          "the identity that limit \"%.*s\" counts by is too long", size, name);
    }
}

/* Names the fault of one limit where it comes before *rank. */
static void explain_limit(const struct subject *subject, const struct policy_limit *limit,
                          enum fault_rank *rank, struct request_error *error)
{
    for (uint32_t i = 0; i < limit->part_count; i++) {
        char buffer[LIMITS_FIELD_BYTES_MAX];
        size_t used = 0;
        enum part_fault fault = append_part(subject, limit, i, &used);
        if (fault == PART_OK) {
            continue;
        }
        const char *field = part_field(&limit->parts[i], buffer);
        if (rank_field(field) < *rank) {
            *rank = rank_field(field);
            set_part_error(error, limit, field, fault);
        }
    }
}

static struct slice normalise(const struct policy_set *set, const struct request *request,
                              struct engine_scratch *scratch)
{
    return set->normalise == 0 ? request->route
                               : policy_normalise_route(set, request->route, scratch->route);
}

/* The slow way: something is wrong; says what, the first in the order of the fields. */
static void explain(struct engine_scratch *scratch, const struct policy_set *set,
                    const struct request *request, struct request_error *error)
{
    struct request clipped = *request;
    if (clipped.attribute_count > LIMITS_ATTRIBUTES_MAX) {
        clipped.attribute_count = LIMITS_ATTRIBUTES_MAX;
    }
    request_error_set(error, REQUEST_INTERNAL, "", "the request could not be matched to limits");
    enum fault_rank rank =
        request_check(request, error) ? RANK_NONE : rank_field(error->field);
    if (rank <= RANK_ROUTE) {
        return;
    }
    struct subject subject = {scratch, &clipped, normalise(set, request, scratch)};
    const struct policy_route *route = policy_match_route(set, subject.route);
    for (uint32_t i = 0; route != NULL && i < route->limit_count; i++) {
        if (!route->limits[i]->shadow) {
            explain_limit(&subject, route->limits[i], &rank, error);
        }
    }
}

bool engine_plan_make(struct engine_scratch *scratch, const struct engine_set *set,
                      const struct store *store, const struct request *request,
                      enum engine_purpose purpose, int64_t now_ns, uint32_t first,
                      struct engine_plan *plan, struct request_error *error)
{
    *plan = (struct engine_plan){.request = request, .set = set, .first = first};
    if (request_check(request, error)) {
        struct subject subject = {scratch, request, normalise(set->policies, request, scratch)};
        const struct engine_recent *recent = match_route(scratch, set, subject.route);
        plan->route = recent->route;
        plan->cost = request->has_cost ? request->cost
                     : plan->route != NULL ? plan->route->cost
                                           : 1;
        if (recent->plain != NULL && purpose == ENGINE_DECIDE) {
            make_plain(scratch, store, recent->plain, plan);
            return true;
        }
        if (plan->route == NULL || make_rows(&subject, store, purpose, now_ns, plan)) {
            return true;
        }
    }
    explain(scratch, set->policies, request, error);
    plan->code = error->code;
    return false;
}

bool engine_plan_identity(struct engine_scratch *scratch, const struct hash_key *key,
                          const struct policy_limit *limit, const struct request *request,
                          struct fingerprint *out)
{
    struct subject subject = {.scratch = scratch, .request = request};
    for (uint32_t i = 0; i < limit->part_count; i++) {
        if (limit->parts[i].source == POLICY_ROUTE) {
            return false;
        }
    }
    if (identify(&subject, key, limit, out) != PART_OK) {
        return false;
    }
    *out = hash_mix(*out, limits_file_name_id(key, limit->name));
    return true;
}
