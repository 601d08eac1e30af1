/* From the blocks of the files into the store. The ids in a block belong to the policies of its
 * epoch; in the store, until all is in, a counter's id is its place in one long row:
 *
 *   epoch 7      epoch 8      epoch 9      (in force)
 *   0 1 2 3      4 5 6 7 8    9 10 11       0 1 2 3
 *
 * Each id has a way: the reloads with changed numbers that lie between its epoch and now. */
#include "persist/load.h"
#include "persist/load_crew.h"

#include <stdio.h>
#include <stdlib.h>

struct epoch {
    uint64_t number;
    int64_t since_ns;
    void *set;
    const struct store_policies *policies;
    uint32_t first; /* id of its policy 0 in the row */
    uint32_t *map;  /* to the next epoch's policies, or to those in force */
};

/* What each thread has for itself. */
struct load_hand {
    struct format_codec *codec;
    struct door_batch *batch;
    struct door_in_result result;
    const struct load_file *file; /* where something went wrong */
    const char *what;
};

struct loading {
    struct load *load;
    struct store *store;
    const struct load_policies *policies;
    int64_t now_ns;
    struct buf *log;
    struct epoch *epochs;
    uint32_t epoch_count;
    struct door_way *ways;
    struct door_step *steps;
    uint32_t step_count;
    uint32_t step_room;
    struct door_ways row;
    struct load_hand hands[LOAD_CREW_WORKERS];
    const struct load_file *file; /* where something went wrong */
    const char *what;
};

/* ---- epochs ---- */

static struct epoch *find_epoch(const struct loading *loading, uint64_t number)
{
    for (uint32_t i = 0; i < loading->epoch_count; i++) {
        if (loading->epochs[i].number == number) {
            return &loading->epochs[i];
        }
    }
    return NULL;
}

static enum status fail(struct loading *loading, const struct load_file *file, const char *what)
{
    loading->file = file;
    loading->what = what;
    return STATUS_INVALID;
}

static enum status add_epoch(struct loading *loading, const struct load_file *file,
                             const struct format_policies *policies)
{
    size_t bytes = ((size_t)loading->epoch_count + 1) * sizeof(*loading->epochs);
    struct epoch *grown = realloc(loading->epochs, bytes);
    if (grown == NULL) {
        return STATUS_NO_MEMORY;
    }
    loading->epochs = grown;
    struct epoch *epoch = &grown[loading->epoch_count];
    *epoch = (struct epoch){.number = policies->epoch, .since_ns = policies->since_ns};
    enum status status = loading->policies->read(loading->policies->context, policies->description,
                                                 &epoch->set, &epoch->policies);
    if (status != STATUS_OK) {
        return status == STATUS_NO_MEMORY
                   ? status
                   : fail(loading, file, "describes limits in a way that is not understood");
    }
    loading->epoch_count++;
    return STATUS_OK;
}

static enum status visit_policies(void *context, const struct load_file *file,
                                  const struct format_block *block)
{
    struct loading *loading = context;
    struct format_policies policies;
    if (block->type != FORMAT_POLICIES || !format_get_policies(block->payload, &policies) ||
        find_epoch(loading, policies.epoch) != NULL) {
        return STATUS_OK;
    }
    return add_epoch(loading, file, &policies);
}

static int compare_epochs(const void *left, const void *right)
{
    const struct epoch *a = left;
    const struct epoch *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static enum status map_epochs(struct loading *loading)
{
    uint64_t ids = 0;
    if (loading->epoch_count > 0) {
        qsort(loading->epochs, loading->epoch_count, sizeof(*loading->epochs), compare_epochs);
    }
    for (uint32_t i = 0; i < loading->epoch_count; i++) {
        struct epoch *epoch = &loading->epochs[i];
        bool last = i + 1 == loading->epoch_count;
        epoch->map = loading->policies->map(loading->policies->context, epoch->set,
                                            last ? NULL : loading->epochs[i + 1].set,
                                            last ? loading->log : NULL);
        if (epoch->map == NULL) {
            return STATUS_NO_MEMORY;
        }
        epoch->first = (uint32_t)ids;
        ids += epoch->policies->count;
    }
    if (ids >= UINT32_C(1) << 26) {
        return STATUS_TOO_LARGE;
    }
    loading->row.count = (uint32_t)ids;
    loading->ways = calloc((size_t)ids + 1, sizeof(*loading->ways));
    return loading->ways == NULL ? STATUS_NO_MEMORY : STATUS_OK;
}

/* ---- ways ---- */

static bool same_numbers(const struct limiter_policy *a, const struct limiter_policy *b)
{
    bool same_window = a->calendar != NULL && b->calendar != NULL
                           ? calendar_equal(a->calendar, b->calendar)
                           : a->calendar == b->calendar && a->window_ns == b->window_ns;
    return same_window && a->algorithm == b->algorithm && a->limit == b->limit &&
           a->burst == b->burst;
}

static bool add_step(struct loading *loading, const struct door_step *step)
{
    if (loading->step_count == loading->step_room) {
        uint32_t room = loading->step_room * 2 + 64;
        struct door_step *grown = realloc(loading->steps, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        loading->steps = grown;
        loading->step_room = room;
    }
    loading->steps[loading->step_count] = *step;
    loading->step_count++;
    return true;
}

static bool lay_way(struct loading *loading, uint32_t which, uint32_t policy)
{
    const struct epoch *epoch = &loading->epochs[which];
    struct door_way *way = &loading->ways[epoch->first + policy];
    way->written = &epoch->policies->policies[policy];
    way->first_step = loading->step_count;
    way->policy = policy;
    for (uint32_t i = which; i < loading->epoch_count && way->policy != STORE_GONE; i++) {
        bool last = i + 1 == loading->epoch_count;
        const struct store_policies *from = loading->epochs[i].policies;
        const struct store_policies *to =
            last ? loading->policies->in_force : loading->epochs[i + 1].policies;
        uint32_t heir = loading->epochs[i].map[way->policy];
        if (heir != STORE_GONE) {
            struct door_step step = {
                .from = &from->policies[way->policy],
                .to = &to->policies[heir],
                .at_ns = last ? loading->now_ns : loading->epochs[i + 1].since_ns};
            if (!same_numbers(step.from, step.to) && !add_step(loading, &step)) {
                return false;
            }
        }
        way->policy = heir;
    }
    way->steps = loading->step_count - way->first_step;
    return true;
}

static enum status lay_ways(struct loading *loading)
{
    for (uint32_t i = 0; i < loading->epoch_count; i++) {
        for (uint32_t policy = 0; policy < loading->epochs[i].policies->count; policy++) {
            if (!lay_way(loading, i, policy)) {
                return STATUS_NO_MEMORY;
            }
        }
    }
    loading->row.ways = loading->ways;
    loading->row.steps = loading->steps;
    return STATUS_OK;
}

/* ---- counters ---- */

static bool renumber(struct door_batch *batch, const struct epoch *epoch)
{
    for (uint32_t i = 0; i < batch->record_count; i++) {
        uint32_t meta = batch->records[i].meta;
        if (meta >> DOOR_POLICY_SHIFT >= epoch->policies->count) {
            return false;
        }
        batch->records[i].meta = meta + (epoch->first << DOOR_POLICY_SHIFT);
    }
    return true;
}

static enum status spoil(struct load_hand *hand, const struct load_file *file, const char *what)
{
    hand->file = file;
    hand->what = what;
    return STATUS_INVALID;
}

static enum status put_block(struct loading *loading, struct load_hand *hand,
                             const struct load_file *file, const struct format_block *block)
{
    if (!format_get_counters(block->payload, hand->batch)) {
        return spoil(hand, file, "has counters that are not understood");
    }
    const struct epoch *epoch = find_epoch(loading, hand->batch->epoch);
    if (epoch == NULL || !renumber(hand->batch, epoch)) {
        return spoil(hand, file, "has counters of limits that it does not describe");
    }
    bool old = file->kind == FORMAT_JOURNAL && block->append <= loading->load->covered;
    enum status status = door_in_put(loading->store, hand->batch, &loading->row, old);
    return status == STATUS_INVALID
               ? spoil(hand, file, "has counters that do not follow from those before")
               : status;
}

/* A base holds each counter once, so its blocks may come in any order. Neighbours belong to one
 * shard, whose lock threads would wait for: so each thread works on a part of its own. */
static uint32_t spread(uint32_t job, uint32_t jobs)
{
    uint32_t parts = load_crew_size(jobs);
    uint32_t part = job % parts;
    uint32_t longer = jobs % parts; /* parts that have one more */
    return part * (jobs / parts) + (part < longer ? part : longer) + job / parts;
}

static enum status put_base_block(void *context, uint32_t worker, uint32_t job)
{
    struct loading *loading = context;
    struct load_hand *hand = &loading->hands[worker];
    const struct load_file *file = &loading->load->files[0];
    struct format_preamble preamble = {
        .kind = file->kind, .number = file->number, .state_id = loading->load->state_id};
    struct format_block block;
    if (!format_get_block(hand->codec, &preamble, slice_make(file->bytes, file->size),
                          file->places[spread(job, file->place_count)], &block)) {
        return spoil(hand, file, "has a block that cannot be unpacked");
    }
    return put_block(loading, hand, file, &block);
}

static enum status visit_journal(void *context, const struct load_file *file,
                                 const struct format_block *block)
{
    struct loading *loading = context;
    if (block->type != FORMAT_COUNTERS || file->kind == FORMAT_BASE) {
        return STATUS_OK;
    }
    return put_block(loading, &loading->hands[0], file, block);
}

static enum status settle_shard(void *context, uint32_t worker, uint32_t job)
{
    struct loading *loading = context;
    return door_in_settle(loading->store, job, &loading->row, loading->now_ns,
                          &loading->hands[worker].result);
}

/* Half of what the journals hold is taken to be new: too little costs growing, too much memory
 * until house-keeping has come by. */
static uint64_t expected(const struct load *load)
{
    uint64_t count = load->base_counters + load->journal_records / 2;
    return count < UINT64_C(1) << 36 ? count : 0;
}

static void sum_up(const struct loading *loading, struct door_in_result *result)
{
    for (uint32_t i = 0; i < LOAD_CREW_WORKERS; i++) {
        result->counters += loading->hands[i].result.counters;
        result->forgotten += loading->hands[i].result.forgotten;
    }
}

static bool make_hands(struct loading *loading)
{
    for (uint32_t i = 0; i < load_crew_size(UINT32_MAX); i++) {
        loading->hands[i].codec = format_codec_create();
        loading->hands[i].batch = door_batch_create();
        if (loading->hands[i].codec == NULL || loading->hands[i].batch == NULL) {
            return false;
        }
    }
    return true;
}

/* Which of the hands found something wrong. */
static void blame(struct loading *loading)
{
    for (uint32_t i = 0; i < LOAD_CREW_WORKERS; i++) {
        if (loading->hands[i].file != NULL && loading->file == NULL) {
            loading->file = loading->hands[i].file;
            loading->what = loading->hands[i].what;
        }
    }
}

static enum status run(struct loading *loading, struct door_in_result *result)
{
    enum status status = load_each(loading->load, visit_policies, loading);
    if (status == STATUS_OK) {
        status = map_epochs(loading);
    }
    if (status == STATUS_OK) {
        status = lay_ways(loading);
    }
    if (status == STATUS_OK) {
        status = door_in_expect(loading->store, expected(loading->load));
    }
    if (status == STATUS_OK && loading->load->file_count > 0) {
        status = load_crew_run(loading->load->files[0].place_count, put_base_block, loading);
    }
    if (status == STATUS_OK) {
        status = load_each(loading->load, visit_journal, loading);
    }
    if (status == STATUS_OK) {
        status = load_crew_run(door_in_shards(loading->store), settle_shard, loading);
    }
    if (status == STATUS_OK) {
        sum_up(loading, result);
        door_in_trim(loading->store, loading->now_ns, result);
    }
    return status;
}

static void give_back(struct loading *loading)
{
    for (uint32_t i = 0; i < loading->epoch_count; i++) {
        free(loading->epochs[i].map);
        loading->policies->drop(loading->policies->context, loading->epochs[i].set);
    }
    free(loading->epochs);
    free(loading->steps);
    free(loading->ways);
    for (uint32_t i = 0; i < LOAD_CREW_WORKERS; i++) {
        format_codec_destroy(&loading->hands[i].codec);
        door_batch_destroy(&loading->hands[i].batch);
    }
}

enum status load_into(struct load *load, struct store *store,
                      const struct load_policies *policies, int64_t now_ns,
                      struct door_in_result *result, struct buf *log, struct buf *why)
{
    struct loading loading = {.load = load,
                              .store = store,
                              .policies = policies,
                              .now_ns = now_ns,
                              .log = log};
    char name[STATE_DIR_NAME_BYTES] = "";
    *result = (struct door_in_result){.counters = 0};
    enum status status = make_hands(&loading) ? run(&loading, result) : STATUS_NO_MEMORY;
    if (status != STATUS_OK) {
        blame(&loading);
        if (loading.file != NULL) {
            state_dir_name(loading.file->kind, loading.file->number, name);
        }
        buf_printf(why, "%s/%s %s", load->dir->path, name,
                   loading.file != NULL ? loading.what : "cannot be loaded: ");
        buf_append_text(why, loading.file != NULL ? "" : status_text(status));
    }
    give_back(&loading);
    return status;
}
