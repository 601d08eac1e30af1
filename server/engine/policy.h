/* A limits file, read and checked: limits, routes, plans, overrides. Immutable once built; a
 * reload builds another one and swaps it in (engine.h). Everything lives in one arena.
 *
 * limits_file.h builds it; policy_match.c finds what a request meets. */
#ifndef ENGINE_POLICY_H
#define ENGINE_POLICY_H

#include "base/arena.h"
#include "base/hash.h"
#include "engine/request.h"
#include "store/store.h"

/* Where a part of the identity comes from. */
enum policy_source { POLICY_KEY, POLICY_ROUTE, POLICY_ATTRIBUTE };

struct policy_part {
    enum policy_source source;
    struct slice attribute; /* its name */
};

/* How a plan value or an override (or the limit itself) treats its requests. */
enum policy_kind { POLICY_NUMBERS, POLICY_UNLIMITED, POLICY_BLOCKED };

/* One set of numbers of a limit: the limit's own, one plan value's, or one override's. */
struct policy_variant {
    enum policy_kind kind;
    uint32_t policy;    /* index into set->policies.policies; the limit's own where kind is not
                         * POLICY_NUMBERS */
    struct slice label; /* plan value, or the override's match written out canonically: what a
                         * reload finds the same variant by; empty for the limit's own */
};

enum policy_test_kind { POLICY_TEST_PATTERN, POLICY_TEST_CIDR };

/* One line of an override's match. */
struct policy_test {
    struct policy_part of;
    enum policy_test_kind kind;
    struct slice pattern;  /* as written, with * and \ escapes */
    bool exact;            /* no star: `literal` is the whole */
    struct slice literal;  /* unescaped; the literal prefix where !exact */
    uint8_t network[16];   /* CIDR: IPv4 as ::ffff:a.b.c.d */
    uint8_t prefix_bits;   /* 0 … 128 */
};

struct policy_override {
    struct policy_test *tests;
    uint32_t test_count;
    int64_t until_ns; /* INT64_MAX: no end */
    struct policy_variant variant;
    uint32_t line; /* in the file, for `check --explain` */
};

struct policy_override_index; /* overrides whose match is one exact key, by that key */
struct policy_plan_index;     /* plan values by name */

struct policy_limit {
    struct slice name;
    struct fingerprint name_id; /* mixed into every identity of this limit */
    enum limiter_algorithm algorithm;
    uint64_t limit;
    uint64_t burst;
    int64_t window_ns; /* 0: calendar */
    struct calendar calendar;
    struct slice timezone; /* as written; empty: UTC */
    struct policy_part *parts;
    uint32_t part_count;
    bool ip_prefix;
    uint32_t ip_part; /* which part is folded */
    uint8_t ip_v4_bits;
    uint8_t ip_v6_bits;
    bool shadow;
    uint32_t metric; /* metrics_limit of its name */
    struct policy_variant own;
    struct slice plan_attribute; /* empty: no plans */
    struct policy_variant *plans;
    uint32_t plan_count;
    struct policy_plan_index *plan_index;
    struct policy_override *overrides;
    uint32_t override_count;
    struct policy_override_index *override_index;
    uint32_t line;
};

struct policy_route {
    struct slice pattern; /* as written, normalised */
    struct policy_limit **limits;
    uint32_t limit_count;
    uint64_t cost; /* of a request that names none */
    uint32_t line;
};

enum policy_normalise {
    POLICY_STRIP_QUERY = 1,
    POLICY_MERGE_SLASHES = 2,
    POLICY_STRIP_TRAILING_SLASH = 4,
    POLICY_LOWERCASE = 8
};

struct policy_route_index;
struct envoy_config; /* envoy_config.h */

struct policy_set {
    struct arena arena;
    struct policy_limit *limits; /* of the limits file, then one for each of Envoy's rules */
    uint32_t limit_count;
    struct policy_route *routes;
    uint32_t route_count;
    struct policy_route_index *route_index;
    unsigned normalise; /* enum policy_normalise, or-ed */
    struct store_policies policies;
    uint32_t builtin_first; /* where the builtin ones begin in it (policy_builtin.h) */
    struct envoy_config *envoy; /* of gateways; NULL: the set decides nothing */
    int64_t loaded_ns;
};

void policy_set_destroy(struct policy_set **set);

/* The one route that serves `route` (already normalised), or NULL. */
const struct policy_route *policy_match_route(const struct policy_set *set, struct slice route);

/* Applies set->normalise; returns `route` itself when nothing changes, else bytes in `scratch`
 * (room for route.size). */
struct slice policy_normalise_route(const struct policy_set *set, struct slice route,
                                    uint8_t *scratch);

/* The variant of `limit` for this request at now_ns: first override that matches, else the plan
 * value, else the limit's own. `route` is normalised. */
const struct policy_variant *policy_match_variant(const struct policy_limit *limit,
                                                  const struct request *request,
                                                  struct slice route, int64_t now_ns);

/* Does `text` match a pattern (`*` any run of bytes, `\*` and `\\` literal)? */
bool policy_match_pattern(struct slice pattern, struct slice text);

/* The value of a part, or false when the request lacks that attribute. */
bool policy_part_value(const struct policy_part *part, const struct request *request,
                       struct slice route, struct slice *value);

/* An address as 16 bytes (IPv4 and ::ffff:a.b.c.d alike as ::ffff:a.b.c.d). False: what inet_pton
 * does not take. */
bool policy_parse_address(struct slice text, uint8_t out[16], bool *is_v4);

#endif
