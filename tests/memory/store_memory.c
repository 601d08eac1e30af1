/* What counters cost: fills a store with unique keys and measures mapped and resident bytes a
 * counter all along, and the longest single decision (growth must not stop requests).
 *
 *   store_memory [COUNTERS...]     default 1000000; SLUICE_FULL_TESTS=1: 5, 10 and 15 million
 *
 * Fails when a counter takes more than 64 bytes at any moment (from half a million on), or more
 * than 48 in the mean over the sizes asked for. Times are only printed: the machine may be busy.
 * The longest decision is given in the thread's own processor time, which a busy machine spares. */
#include "base/clock.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define COUNTERS_MIN 500000u
#define BYTES_ALWAYS 64.0
#define BYTES_MEAN 48.0

static double resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        fprintf(stderr, "/proc/self/statm cannot be read\n");
        exit(1);
    }
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static int64_t thread_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * CLOCK_NS_PER_S + time.tv_nsec;
}

struct measure {
    double mapped;       /* a counter at the end */
    double mapped_worst; /* at any moment */
    double resident;
    int64_t longest_ns;
    int64_t total_ns;
};

static bool charge(struct store *store, const struct store_policies *policies, uint64_t number,
                   int64_t now_ns)
{
    struct store_item item = {.id = hash_bytes(store_hash_key(store), &number, sizeof(number)),
                              .policy = &policies->policies[0],
                              .cost = 1};
    bool allowed;
    return store_decide(store, policies, &item, 1, now_ns, &allowed) == STATUS_OK && allowed;
}

static bool measure(uint64_t counters, struct measure *out)
{
    struct limiter_policy policy;
    limiter_policy_init(&policy, LIMITER_TOKEN_BUCKET, 10, 0,
                        INT64_C(365) * 86400 * CLOCK_NS_PER_S, NULL);
    struct store_policies policies = {.policies = &policy, .count = 1};
    struct store_config config = {.shards = 0};
    hash_random_key(&config.key);
    double before = resident_bytes();
    struct store *store = store_create(&config);
    if (store == NULL) {
        return false;
    }
    store_install(store, &policies);
    *out = (struct measure){.longest_ns = 0};
    int64_t start = thread_ns();
    for (uint64_t i = 0; i < counters; i++) {
        int64_t from = thread_ns();
        if (!charge(store, &policies, i, 1700000000 * CLOCK_NS_PER_S + (int64_t)i)) {
            fprintf(stderr, "counter %lu was not admitted\n", (unsigned long)i);
            return false;
        }
        int64_t took = thread_ns() - from;
        out->longest_ns = took > out->longest_ns ? took : out->longest_ns;
        if (i >= COUNTERS_MIN && i % 1024 == 0) {
            struct store_stats stats;
            store_stats(store, &stats);
            double bytes = (double)stats.memory_bytes / (double)stats.counters;
            out->mapped_worst = bytes > out->mapped_worst ? bytes : out->mapped_worst;
        }
    }
    out->total_ns = thread_ns() - start;
    struct store_stats stats;
    store_stats(store, &stats);
    out->mapped = (double)stats.memory_bytes / (double)stats.counters;
    out->resident = (resident_bytes() - before) / (double)stats.counters;
    bool complete = stats.counters == counters;
    store_destroy(&store);
    return complete;
}

static bool measure_all(const uint64_t *sizes, int count)
{
    double sum = 0;
    bool good = true;
    for (int i = 0; i < count; i++) {
        struct measure result;
        if (!measure(sizes[i], &result)) {
            return false;
        }
        printf("%9lu counters: %.1f bytes each mapped (worst on the way %.1f), %.1f resident; "
               "%.0f ns a counter, longest decision %.3f ms\n",
               (unsigned long)sizes[i], result.mapped, result.mapped_worst, result.resident,
               (double)result.total_ns / (double)sizes[i], (double)result.longest_ns / 1e6);
        good = good && result.mapped_worst <= BYTES_ALWAYS && result.resident <= BYTES_ALWAYS;
        sum += result.resident > result.mapped ? result.resident : result.mapped;
    }
    printf("mean %.1f bytes a counter\n", sum / count);
    return good && sum / count <= BYTES_MEAN;
}

int main(int argc, char **argv)
{
    uint64_t sizes[16] = {1000000};
    int count = 1;
    if (getenv("SLUICE_FULL_TESTS") != NULL) {
        sizes[0] = 5000000;
        sizes[1] = 10000000;
        sizes[2] = 15000000;
        count = 3;
    }
    if (argc > 1 && argc <= 16) {
        count = argc - 1;
        for (int i = 1; i < argc; i++) {
            sizes[i - 1] = strtoull(argv[i], NULL, 10);
        }
    }
    return measure_all(sizes, count) ? 0 : 1;
}
