#include "state_show.h"

#include "base/clock.h"
#include "engine/engine_describe.h"
#include "engine/engine_map.h"
#include "engine/engine_plan.h"
#include "store/door_out.h"

#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A running daemon may replace a file between the listing and the reading. */
#define TRIES 5

/* ---- loading ---- */

static enum status read_policies(void *context, struct slice description, void **set,
                                 const struct store_policies **policies)
{
    struct policy_set *read;
    (void)context;
    enum status status = engine_describe_read(description, &read);
    if (status == STATUS_OK) {
        *set = read;
        *policies = &read->policies;
    }
    return status;
}

static uint32_t *map_policies(void *context, const void *from, const void *to, struct buf *log)
{
    const struct state_show *show = context;
    return engine_map_create(from, to == NULL ? show->set : to, log);
}

static void drop_policies(void *context, void *set)
{
    struct policy_set *read = set;
    (void)context;
    policy_set_destroy(&read);
}

static enum status visit_policies(void *context, const struct load_file *file,
                                  const struct format_block *block)
{
    struct state_show *show = context;
    struct format_policies policies;
    (void)file;
    if (block->type == FORMAT_POLICIES && show->set == NULL &&
        format_get_policies(block->payload, &policies) &&
        policies.epoch == show->load.last_epoch) {
        return engine_describe_read(policies.description, &show->set);
    }
    return STATUS_OK;
}

static bool fill(struct state_show *show, struct buf *why)
{
    struct load_policies policies = {
        .context = show, .read = read_policies, .map = map_policies, .drop = drop_policies};
    struct store_config config = {.key = *load_key(&show->load)};
    struct door_in_result result;
    enum status status = load_each(&show->load, visit_policies, show);
    if (status != STATUS_OK || show->set == NULL) {
        buf_printf(why, "%s describes no limits", show->dir.path);
        return false;
    }
    show->store = store_create(&config);
    show->limits = calloc((size_t)show->set->limit_count + 1, sizeof(*show->limits));
    if (show->store == NULL || show->limits == NULL) {
        buf_append_text(why, status_text(STATUS_NO_MEMORY));
        return false;
    }
    policies.in_force = &show->set->policies;
    store_install(show->store, &show->set->policies);
    return load_into(&show->load, show->store, &policies, show->now_ns, &result, NULL, why) ==
           STATUS_OK;
}

/* ---- counting ---- */

static void count_record(struct state_show *show, const uint32_t *limit_of,
                         const struct door_record *record)
{
    struct state_show_limit *limit = &show->limits[limit_of[record->meta >> DOOR_POLICY_SHIFT]];
    if (limit->counters == 0 || record->time_ns < limit->oldest_ns) {
        limit->oldest_ns = record->time_ns;
    }
    if (limit->counters == 0 || record->time_ns > limit->newest_ns) {
        limit->newest_ns = record->time_ns;
    }
    limit->counters++;
    show->counters++;
}

/* A long log comes in several records, of which the first keeps nothing. */
static void count_batch(struct state_show *show, const uint32_t *limit_of,
                        const struct door_batch *batch)
{
    uint32_t log = 0;
    for (uint32_t i = 0; i < batch->record_count; i++) {
        bool is_log = (batch->records[i].meta & DOOR_KIND_MASK) == DOOR_LOG;
        bool follows = is_log && batch->logs[log].kept > 0;
        log += is_log;
        if (!follows) {
            count_record(show, limit_of, &batch->records[i]);
        }
    }
}

static void note_variant(uint32_t *limit_of, const struct policy_variant *variant, uint32_t limit)
{
    limit_of[variant->policy] = limit;
}

static uint32_t *limits_of_policies(const struct policy_set *set)
{
    uint32_t *limit_of = calloc((size_t)set->policies.count + 1, sizeof(*limit_of));
    for (uint32_t i = 0; limit_of != NULL && i < set->policies.count; i++) {
        limit_of[i] = set->limit_count;
    }
    for (uint32_t i = 0; limit_of != NULL && i < set->limit_count; i++) {
        const struct policy_limit *limit = &set->limits[i];
        note_variant(limit_of, &limit->own, i);
        for (uint32_t k = 0; k < limit->plan_count; k++) {
            note_variant(limit_of, &limit->plans[k], i);
        }
        for (uint32_t k = 0; k < limit->override_count; k++) {
            note_variant(limit_of, &limit->overrides[k].variant, i);
        }
    }
    return limit_of;
}

static bool count(struct state_show *show)
{
    static const enum door_what both[] = {DOOR_ALL, DOOR_CHANGED};
    uint32_t *limit_of = limits_of_policies(show->set);
    struct door_batch *batch = door_batch_create();
    bool good = limit_of != NULL && batch != NULL;
    door_out_track(show->store);
    for (size_t i = 0; good && i < sizeof(both) / sizeof(both[0]); i++) {
        struct door_out_cursor cursor = {.shard = 0};
        enum status status = STATUS_OK;
        bool more = true;
        while (more) {
            more = door_out_next(show->store, &cursor, both[i], batch, &status);
            count_batch(show, limit_of, batch);
        }
        good = status == STATUS_OK;
    }
    door_batch_destroy(&batch);
    free(limit_of);
    return good;
}

/* ---- all of it ---- */

static bool open_once(struct state_show *show, const char *path, struct buf *why)
{
    *show = (struct state_show){.now_ns = clock_now_ns()};
    buf_printf(why, "%s: ", path);
    if (state_dir_look(&show->dir, path, why) != STATUS_OK) {
        return false;
    }
    buf_clear(why);
    if (load_open(&show->load, &show->dir, why) != STATUS_OK) {
        return false;
    }
    if (show->load.file_count == 0) {
        buf_printf(why, "%s holds no state", path);
        return false;
    }
    if (!fill(show, why)) {
        return false;
    }
    return count(show);
}

bool state_show_open(struct state_show *show, const char *path, struct buf *why)
{
    struct stat about;
    *show = (struct state_show){.dir = {.path = path, .fd = -1, .lock_fd = -1, .next_fd = -1}};
    char *copy = strdup(path);
    bool is_file = copy != NULL && stat(path, &about) == 0 && S_ISREG(about.st_mode);
    const char *folder = is_file ? dirname(copy) : path;
    bool good = false;
    for (int i = 0; copy != NULL && i < TRIES && !good; i++) {
        if (i > 0) {
            state_show_close(show);
        }
        buf_clear(why);
        good = open_once(show, folder, why);
    }
    show->dir.path = path;
    free(copy);
    return good;
}

void state_show_close(struct state_show *show)
{
    store_destroy(&show->store);
    policy_set_destroy(&show->set);
    free(show->limits);
    show->limits = NULL;
    load_close(&show->load);
    state_dir_close(&show->dir);
}

bool state_show_find(struct state_show *show, const struct policy_limit *limit, struct slice key,
                     struct store_item *item)
{
    struct request request = {.key = key};
    struct engine_scratch *scratch = calloc(1, sizeof(*scratch));
    bool allowed;
    *item = (struct store_item){.policy = &show->set->policies.policies[limit->own.policy]};
    bool found = scratch != NULL &&
                 engine_plan_identity(scratch, load_key(&show->load), limit, &request, &item->id);
    free(scratch);
    return found && store_decide(show->store, &show->set->policies, item, 1, show->now_ns,
                                 &allowed) == STATUS_OK;
}
