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
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    allocations++;
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __libc_memalign(alignment, size);
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
