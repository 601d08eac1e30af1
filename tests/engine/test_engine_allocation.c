/* Once warm, a decision asks nobody for memory. The count comes from our own malloc in front of
 * the system's, or from the sanitizer's hook where one stands there already. */
#include "engine_fixture.h"

#include <stdlib.h>

static uint64_t allocations;

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
int __sanitizer_install_malloc_and_free_hooks(
    void (*on_malloc)(const volatile void *memory, size_t size),
    void (*on_free)(const volatile void *memory));

static void count_malloc(const volatile void *memory, size_t size)
{
    (void)memory;
    (void)size;
    allocations++;
}

static void ignore_free(const volatile void *memory)
{
    (void)memory;
}

static void start_counting(void)
{
    (void)__sanitizer_install_malloc_and_free_hooks(count_malloc, ignore_free);
}
#else
static uint64_t fails_at; /* the allocation that fails; 0: none */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static bool may_allocate(void)
{
    return ++allocations != fails_at;
}

void *malloc(size_t size)
{
    return may_allocate() ? __libc_malloc(size) : NULL;
}

void *calloc(size_t count, size_t size)
{
    return may_allocate() ? __libc_calloc(count, size) : NULL;
}

void *realloc(void *memory, size_t size)
{
    return may_allocate() ? __libc_realloc(memory, size) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return may_allocate() ? __libc_memalign(alignment, size) : NULL;
}

static void start_counting(void)
{
}
#endif

static void decide_many(struct fixture *f, int round)
{
    char key[16];
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(key, sizeof(key), "k%d", i % 97);
        struct request request = fixture_request(key, i % 3 == 0 ? "GET /a" : "GET /b/c?x");
        request.details = i % 5 == 0;
        fixture_attribute(&request, "ip", "192.0.2.1");
        fixture_attribute(&request, "plan", i % 2 == 0 ? "pro" : "free");
        struct decision decision = fixture_decide(f, AT(round) + i * 100000, &request);
        cr_assert(decision.shown.reason != REASON_NO_LIMIT);
    }
}

Test(engine_allocation, ten_thousand_warm_decisions_allocate_nothing)
{
    struct fixture f;
    fixture_open(&f, "limits:\n"
                     "  a: {algorithm: token_bucket, limit: 60, window: 1m, burst: 20,\n"
                     "      plans: {by: plan, values: {pro: {limit: 600}}},\n"
                     "      overrides: [{match: {key: k5}, limit: 1},\n"
                     "                  {match: {ip: {cidr: 10.0.0.0/8}}, unlimited: true}]}\n"
                     "  b: {algorithm: fixed_window, limit: 100, window: 1s, count_by: [key, ip],\n"
                     "      ip_prefix: {of: ip, v4: 24}}\n"
                     "  c: {algorithm: sliding_window_counter, limit: 50, window: 1s}\n"
                     "routes:\n"
                     "  \"get /a\": [a, b]\n"
                     "  \"get /b/*\": [a, b, c]\n"
                     "normalize_routes: [lowercase, strip_query]\n");
    start_counting();
    void *volatile probe = malloc(1); /* the count works */
    cr_assert(allocations > 0 && probe != NULL);
    free(probe);
    decide_many(&f, 0);
    uint64_t warm = allocations;
    decide_many(&f, 1);
    decide_many(&f, 2);
    cr_expect_eq(allocations, warm);
    fixture_close(&f);
}

#ifndef SANITIZED
#define NUMBERED(limit)                                                                           \
    "limits:\n  a: {algorithm: fixed_window, limit: " limit ", window: 60s}\n"                    \
    "routes:\n  \"*\": [a]\n"

Test(engine_allocation, a_reload_without_memory_leaves_the_old_limits_in_force)
{
    struct fixture f;
    fixture_open(&f, NUMBERED("5"));
    struct policy_set *next = fixture_parse(&f, NUMBERED("7"));
    enum status status = STATUS_NO_MEMORY;
    int failures = -1;
    for (uint64_t nth = 1; status != STATUS_OK; nth++) {
        cr_assert(status == STATUS_NO_MEMORY && nth < 100);
        EXPECT_ALLOWED(fixture_look(&f, AT(0), "k", "r"), 5);
        fails_at = allocations + nth;
        status = engine_reload(f.engine, &next, AT(0), NULL);
        fails_at = 0;
        cr_assert_eq(next == NULL, status == STATUS_OK);
        failures++;
    }
    cr_expect(failures >= 3, "only %d allocations were made to fail", failures);
    EXPECT_ALLOWED(fixture_look(&f, AT(0), "k", "r"), 7);
    fixture_close(&f);
}

Test(engine_allocation, no_engine_and_no_worker_without_memory)
{
    struct fixture f;
    fixture_open(&f, NUMBERED("5"));
    struct store *store = store_create(&(struct store_config){.shards = 1});
    struct engine_config config = {store, f.metrics, fixture_parse(&f, NUMBERED("7"))};
    struct engine *engine = NULL;
    int failures = -1;
    for (uint64_t nth = 1; engine == NULL; nth++) {
        cr_assert(nth < 100);
        fails_at = allocations + nth;
        engine = engine_create(&config);
        fails_at = 0;
        failures++;
    }
    cr_expect(failures >= 3);
    fails_at = allocations + 1;
    cr_expect_null(engine_worker_create(engine, metrics_worker(f.metrics, 0)));
    fails_at = 0;
    engine_destroy(&engine);
    store_destroy(&store);
    fixture_close(&f);
}
#endif
