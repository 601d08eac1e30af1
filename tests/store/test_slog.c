/* A log's blocks against a plain array, up to a million entries, and what they cost. */
#include "store_fixture.h"
#include "store_model.h"

#include "store/slog.h"

struct bench {
    struct slog_pools pools;
    struct pages pages;
    struct pages_source source;
    struct fixture_source memory;
};

static void begin(struct bench *bench)
{
    *bench = (struct bench){.memory = {0}};
    slog_pools_init(&bench->pools);
    bench->source = fixture_pages(&bench->memory);
}

static void drop_runs(struct bench *bench)
{
    while (bench->pages.dropped != NULL) {
        struct pages_run *run = bench->pages.dropped;
        bench->pages.dropped = run->next;
        pages_unmap(&bench->source, run, run->bytes);
    }
}

static void supply(struct bench *bench)
{
    struct pages *pages = &bench->pages;
    pages->given = pages_map(&bench->source, pages->wish_bytes, pages->wish_align);
    pages->given_bytes = pages->wish_bytes;
}

static struct slog *make(struct bench *bench)
{
    while (!slog_pools_reserve(&bench->pools, &bench->pages, 1)) {
        supply(bench);
    }
    return slog_make(&bench->pools);
}

static void append(struct bench *bench, struct slog *log, int64_t at_ns, uint32_t units)
{
    while (!slog_reserve(&bench->pools, &bench->pages, log, 1)) {
        supply(bench);
    }
    slog_append(log, at_ns, units);
    slog_trim(&bench->pools, &bench->pages, log);
    drop_runs(bench);
}

static void equal(const struct slog *log, const struct model_log *model, uint32_t index)
{
    struct limiter_log_entry entry = slog_entry(log, index);
    cr_assert_eq(entry.at_ns, model->entries[index].at_ns);
    cr_assert_eq(entry.total, model->entries[index].total);
}

static void compare(const struct slog *log, const struct model_log *model,
                    struct model_random *random, bool all)
{
    cr_assert_eq(log->count, model->log.count);
    cr_assert_eq(log->base, model->log.base);
    for (uint32_t i = 0; all && i < log->count; i++) {
        equal(log, model, i);
    }
    if (log->count > 0) {
        equal(log, model, 0);
        equal(log, model, log->count - 1);
        equal(log, model, (uint32_t)model_below(random, log->count));
    }
}

static void random_changes(uint64_t seed, int steps, uint64_t drops_up_to, uint64_t rarely)
{
    struct bench bench;
    struct model_random random = {.state = seed};
    struct model_log model = {.log = {.base = 0}};
    int64_t at_ns = 0;
    begin(&bench);
    struct slog *log = make(&bench);
    log->base = model.log.base = UINT32_MAX - 5000; /* totals wrap on the way */
    for (int i = 0; i < steps; i++) {
        struct limiter_step step = {.next = {.time_ns = at_ns += (int64_t)model_below(&random, 3)}};
        uint64_t what = model_below(&random, rarely);
        if (what == 0 && log->count > 0) {
            step.log_drop = (uint32_t)model_below(&random, log->count < drops_up_to
                                                               ? log->count + 1
                                                               : drops_up_to);
            slog_drop(log, step.log_drop);
        }
        if (what == 1) {
            step.log_pop = (uint32_t)model_below(&random, drops_up_to * 3);
            slog_pop(log, step.log_pop);
            slog_trim(&bench.pools, &bench.pages, log);
        } else {
            step.log_append = 1 + (uint32_t)model_below(&random, 5);
            append(&bench, log, step.next.time_ns, step.log_append);
        }
        model_log_apply(&model, &step);
        compare(log, &model, &random, i % 1000 == 0);
    }
    slog_forget(&bench.pools, &bench.pages, log);
    while (slog_pools_sweep(&bench.pools, &bench.pages, 100) > 0) {
    }
    slog_pools_trim(&bench.pools, &bench.pages);
    drop_runs(&bench);
    cr_expect_eq(bench.memory.bytes, 0, "%ld bytes stay", bench.memory.bytes);
    free(model.entries);
}

Test(slog, random_changes_agree_with_an_array)
{
    random_changes(1, 50000, 4, 4);
    random_changes(2, 100000, 50, 60);
    random_changes(3, 200000, 3000, 3000);
    random_changes(4, 300000, 100000, 50000);
}

Test(slog, sixteen_bytes_an_entry_and_one_block)
{
    struct bench bench;
    begin(&bench);
    struct slog *log = make(&bench);
    for (uint32_t i = 1; i <= 1000000; i++) {
        append(&bench, log, i, 1);
        /* What is free in a pool's chunks serves other logs. */
        int64_t used = bench.memory.bytes;
        for (uint32_t k = 0; k < SLOG_POOLS; k++) {
            const struct pool *pool = &bench.pools.units[k];
            used -= (int64_t)(pool->chunks * POOL_CHUNK_BYTES);
            used += (int64_t)((pool->chunks * pool->chunk_units - pool->room) * pool->unit_bytes);
        }
        cr_assert_leq(used, (int64_t)i * 16 + 256, "%u entries take %ld bytes", i, used);
    }
    cr_expect_leq(bench.memory.bytes, 1000000 * 16);
    for (uint32_t i = 0; i < 1000000; i += 997) {
        cr_assert_eq(slog_entry(log, i).total, i + 1);
    }
    /* All of them leave at once: the blocks follow a few at a time, nothing grows meanwhile. */
    slog_drop(log, 999999);
    int64_t before = bench.memory.bytes;
    for (uint32_t i = 0; i < 5000; i++) {
        append(&bench, log, 2000000 + i, 1);
        cr_assert_leq(bench.memory.bytes, before);
    }
    cr_expect_lt(bench.memory.bytes, 200000, "%ld bytes, ring %u, blocks %u",
                 bench.memory.bytes, log->ring, log->blocks);
    cr_assert_eq(log->count, 5001);
}
