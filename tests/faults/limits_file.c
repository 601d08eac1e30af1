/* Reads a good and a bad limits file with the 1st, 2nd, 3rd … allocation failing, until one run
 * gets by without. Each failure must be told, and nothing may be half made or lost. */
#include "engine/limits_file.h"

#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static uint64_t allocations;
static uint64_t fails_at; /* the allocation that fails; 0: none */
static int64_t held;      /* blocks allocated and not freed */

static bool may_allocate(void)
{
    return fails_at == 0 || ++allocations != fails_at;
}

static void *counted(void *memory)
{
    held += memory != NULL;
    return memory;
}

void *malloc(size_t size)
{
    return may_allocate() ? counted(__libc_malloc(size)) : NULL;
}

void *calloc(size_t count, size_t size)
{
    return may_allocate() ? counted(__libc_calloc(count, size)) : NULL;
}

void *realloc(void *memory, size_t size)
{
    if (!may_allocate()) {
        return NULL;
    }
    void *moved = __libc_realloc(memory, size);
    held += memory == NULL && moved != NULL;
    return moved;
}

void free(void *memory)
{
    held -= memory != NULL;
    __libc_free(memory);
}

static const char good[] =
    "limits:\n"
    "  a: &a\n"
    "    algorithm: token_bucket\n"
    "    limit: 60\n"
    "    window: 1m\n"
    "    count_by: [key, ip]\n"
    "    ip_prefix: {of: ip}\n"
    "    plans: {by: plan, values: {free: {limit: 1}, pro: {unlimited: true}}}\n"
    "    overrides:\n"
    "      - match: {key: k, plan: 'p*'}\n"
    "        limit: 3\n"
    "      - match: {ip: {cidr: 10.0.0.0/8}}\n"
    "        blocked: true\n"
    "      - match: {key: x}\n"
    "        until: 2001-01-01T00:00:00Z\n"
    "  b: {<<: *a, limit: 7}\n"
    "  c: {algorithm: fixed_window, limit: 7, window: month, timezone: Europe/Berlin}\n"
    "routes: {'GET /a*b': [a, b], 'GET /c': [c], '*': {limits: [a], cost: 4}}\n"
    "normalize_routes: [lowercase, merge_slashes]\n";

static const char bad[] = "limits:\n"
                          "  a: {algorithm: nope, limit: -1, window: 5, wibble: 3, <<: 5}\n"
                          "  a: {algorithm: fixed_window, limit: 1, window: 5s}\n"
                          "routes: {x: [ab], y: [a, a]}\n"
                          "  ]\n";

static const char envoy_good[] =
    "domain: edge\n"
    "descriptors:\n"
    "  - key: user\n"
    "    rate_limit: {name: n, unit: hour, requests_per_unit: 5, replaces: [{name: o}]}\n"
    "  - {key: user, value: 'a*', share_threshold: yes, rate_limit: {unlimited: true}}\n"
    "  - key: tenant\n"
    "    descriptors:\n"
    "      - {key: path, algorithm: token_bucket, burst: 3, rate_limit: {unit: day, "
    "requests_per_unit: 2}}\n"
    "      - {key: path, value: x, rate_limit: {unit: month, requests_per_unit: 2}}\n";

static bool is_whole(const struct policy_set *set, uint32_t rules)
{
    return set != NULL && set->limit_count == 3 + rules && set->route_count == 3 &&
           set->builtin_first == 9 + rules && set->limits[1].override_count == 3 &&
           set->limits[2].calendar.zone.count > 500;
}

static const struct files {
    const char *limits;
    const char *envoy; /* NULL: none */
    uint32_t rules;
    bool is_good;
} cases[] = {{good, NULL, 0, true},
             {bad, NULL, 0, false},
             {good, envoy_good, 3, true}};

/* False: a promise was broken. *done: the run met no failure. */
static bool run(const struct files *files, uint64_t nth, bool *done)
{
    struct hash_key key = {.bytes = {1}};
    struct limits_file_options options = {.key = &key, .now_ns = INT64_C(1767225600000000000)};
    bool is_good = files->is_good;
    if (files->envoy != NULL) {
        options.envoy_path = "e";
        options.envoy_text = slice_text(files->envoy);
    }
    struct limits_file_report report;
    struct policy_set *set = NULL;
    int64_t before = held;
    limits_file_report_init(&report);
    allocations = 0;
    fails_at = nth;
    enum status status = limits_file_parse("l", slice_text(files->limits), &options, &set, &report);
    *done = allocations < nth;
    fails_at = 0;
    bool failed = status == STATUS_NO_MEMORY;
    bool right = (status == STATUS_OK) == (set != NULL) &&
                 (status == STATUS_OK) == (report.errors == 0);
    if (*done) {
        right = right && (is_good ? is_whole(set, files->rules) : status == STATUS_INVALID);
    } else {
        /* The line that says so may be what there was no memory for; and qsort gets by without. */
        right = right && (failed || report.text.failed || (is_good && is_whole(set, files->rules)));
    }
    policy_set_destroy(&set);
    limits_file_report_deinit(&report);
    return right && held == before;
}

int main(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool done = false;
        uint64_t nth = 0;
        while (!done) {
            if (!run(&cases[i], ++nth, &done)) {
                (void)fprintf(stderr, "file %zu, allocation %llu\n", i, (unsigned long long)nth);
                return 1;
            }
        }
        if (nth < 50) {
            (void)fprintf(stderr, "only %llu allocations failed\n", (unsigned long long)nth);
            return 1;
        }
    }
    return 0;
}
