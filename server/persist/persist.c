/* The two threads, and what others ask of them. Who writes what:
 *
 *   journal thread   wait for the interval or a request -> directory still there? -> append
 *                    -> grown too large? begin the next journal, wake the image thread
 *   image thread     write the base aside -> wait for one more append -> rename -> remove the old
 *
 * The append in between is what makes the base whole: long logs leave through it, and what changed
 * while the base was copied. */
#include "persist/persist.h"

#include "base/clock.h"
#include "base/log.h"
#include "persist/journal.h"
#include "persist/persist_thread.h"
#include "persist/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- epochs ---- */

bool persist_describe(struct persist *persist, uint64_t epoch, struct buf *payload)
{
    bool found = false;
    pthread_mutex_lock(&persist->policies_lock);
    for (uint32_t i = 0; i < persist->epoch_count; i++) {
        const struct persist_epoch *known = &persist->epochs[i];
        if (known->number == epoch) {
            struct format_policies policies = {.epoch = epoch,
                                               .since_ns = known->since_ns,
                                               .description = buf_slice(&known->description)};
            format_put_policies(&policies, payload);
            found = true;
        }
    }
    pthread_mutex_unlock(&persist->policies_lock);
    return found;
}

uint64_t persist_newest_epoch(struct persist *persist)
{
    pthread_mutex_lock(&persist->policies_lock);
    uint64_t newest = persist->epochs[persist->epoch_count - 1].number;
    pthread_mutex_unlock(&persist->policies_lock);
    return newest;
}

#define EPOCHS_KEPT 64u /* more reloads than can come while one batch is on its way */

static bool add_epoch(struct persist *persist, struct slice policies, int64_t since_ns)
{
    struct persist_epoch epoch = {.since_ns = since_ns, .number = persist->first_epoch};
    if (persist->epoch_count > 0) {
        epoch.number = persist->epochs[persist->epoch_count - 1].number + 1;
    }
    if (persist->epoch_count == EPOCHS_KEPT) {
        buf_deinit(&persist->epochs[0].description);
        persist->epoch_count--;
        memmove(persist->epochs, persist->epochs + 1,
                persist->epoch_count * sizeof(*persist->epochs));
    }
    buf_init(&epoch.description, 0);
    buf_append_slice(&epoch.description, policies);
    persist->epochs[persist->epoch_count] = epoch;
    persist->epoch_count++;
    return !epoch.description.failed;
}

void persist_reload_begin(struct persist *persist)
{
    pthread_mutex_lock(&persist->policies_lock);
}

void persist_reload_end(struct persist *persist, bool applied, struct slice policies,
                        int64_t now_ns)
{
    if (applied && !add_epoch(persist, policies, now_ns)) {
        LOG_EVENT(LOG_LEVEL_ERROR, "state cannot be written",
                  {"why", slice_text("no memory to describe the limits")});
    }
    pthread_mutex_unlock(&persist->policies_lock);
}

/* ---- beginning ---- */

static enum status complain(struct buf *why, const struct persist *persist, const char *what)
{
    buf_printf(why, "%s: %s: %s", persist->config.dir->path, what, strerror(errno));
    return STATUS_IO;
}

static uint64_t complete_empty(struct persist *persist)
{
    return persist->journal.append + 1; /* the journal's first, which is made next */
}

static enum status begin_fresh(struct persist *persist, struct buf *why)
{
    struct hash_key random;
    hash_random_key(&random);
    memcpy(&persist->state_id, random.bytes, sizeof(persist->state_id));
    persist->key = *store_hash_key(persist->config.store);
    persist->first_epoch = 1;
    persist->base_number = 1;
    if (!add_epoch(persist, persist->config.policies, persist->config.now_ns)) {
        return STATUS_NO_MEMORY;
    }
    if (!snapshot_write(persist, 1, complete_empty, &persist->base_bytes) ||
        !journal_begin(persist, 1, 0, 0)) {
        return complain(why, persist, "cannot be written");
    }
    return STATUS_OK;
}

/* The seal goes before anything that it does not know of comes. */
static enum status begin_behind(struct persist *persist, const struct load *load, struct buf *why)
{
    const struct load_file *last = &load->files[load->file_count - 1];
    bool has_journal = load->file_count > 1;
    uint64_t next = has_journal ? last->number + 1 : last->number;
    persist->state_id = load->state_id;
    persist->key = *load_key(load);
    persist->first_epoch = load->last_epoch + 1;
    persist->base_number = load->files[0].number;
    persist->base_bytes = load->files[0].size;
    persist->journal.append = load->last_append > load->covered ? load->last_append : load->covered;
    for (uint32_t i = 1; i < load->file_count; i++) {
        persist->old_bytes += load->files[i].size;
    }
    if (!add_epoch(persist, persist->config.policies, persist->config.now_ns)) {
        return STATUS_NO_MEMORY;
    }
    if (!state_dir_remove(persist->config.dir, STATE_DIR_SEAL) ||
        !journal_begin(persist, next, has_journal ? last->number : 0,
                       has_journal ? last->end : 0)) {
        return complain(why, persist, "cannot be written");
    }
    state_dir_clean(persist->config.dir, persist->base_number);
    return STATUS_OK;
}

static bool init_locks(struct persist *persist)
{
    pthread_condattr_t monotonic;
    return pthread_mutex_init(&persist->lock, NULL) == 0 &&
           pthread_mutex_init(&persist->policies_lock, NULL) == 0 &&
           pthread_condattr_init(&monotonic) == 0 &&
           pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(&persist->changed, &monotonic) == 0 &&
           pthread_condattr_destroy(&monotonic) == 0;
}

static void give_back(struct persist **persist)
{
    for (uint32_t i = 0; i < (*persist)->epoch_count; i++) {
        buf_deinit(&(*persist)->epochs[i].description);
    }
    free((*persist)->epochs);
    journal_deinit(&(*persist)->journal);
    (void)pthread_cond_destroy(&(*persist)->changed);
    (void)pthread_mutex_destroy(&(*persist)->lock);
    (void)pthread_mutex_destroy(&(*persist)->policies_lock);
    free(*persist);
    *persist = NULL;
}

enum status persist_create(const struct persist_config *config, struct persist **out,
                           struct buf *why)
{
    struct persist *persist = calloc(1, sizeof(*persist));
    if (persist == NULL) {
        buf_append_text(why, status_text(STATUS_NO_MEMORY));
        return STATUS_NO_MEMORY;
    }
    persist->config = *config;
    persist->journal.out.fd = -1;
    persist->epochs = calloc(EPOCHS_KEPT, sizeof(*persist->epochs));
    bool locks = init_locks(persist);
    enum status status = STATUS_NO_MEMORY;
    if (locks && persist->epochs != NULL && journal_init(&persist->journal)) {
        const struct load *load = config->load;
        status = load == NULL || load->file_count == 0 ? begin_fresh(persist, why)
                                                       : begin_behind(persist, load, why);
    }
    if (status == STATUS_OK) {
        persist->stats.last_success_ns = clock_now_ns();
        door_out_track(config->store);
        status = persist_thread_start(persist);
    }
    if (status != STATUS_OK) {
        if (why->size == 0) {
            buf_append_text(why, status_text(status));
        }
        persist_thread_stop(persist);
        give_back(&persist);
    }
    *out = persist;
    return status;
}

/* ---- end ---- */

bool persist_destroy(struct persist **persist, struct buf *why)
{
    if (*persist == NULL) {
        return true;
    }
    persist_thread_stop(*persist);
    bool good = persist_thread_finish(*persist, why);
    give_back(persist);
    return good;
}

/* ---- asking ---- */

uint64_t persist_request(struct persist *persist, bool image)
{
    pthread_mutex_lock(&persist->lock);
    uint64_t ticket = ++persist->asked;
    persist->image_asked = persist->image_asked || image;
    pthread_cond_broadcast(&persist->changed);
    pthread_mutex_unlock(&persist->lock);
    return ticket;
}

bool persist_answer(struct persist *persist, uint64_t ticket, bool *good)
{
    pthread_mutex_lock(&persist->lock);
    bool answered = persist->answered >= ticket;
    *good = persist->answered_good;
    pthread_mutex_unlock(&persist->lock);
    return answered;
}

bool persist_write_now(struct persist *persist)
{
    pthread_mutex_lock(&persist->lock);
    uint64_t ticket = ++persist->asked;
    pthread_cond_broadcast(&persist->changed);
    while (persist->answered < ticket && !persist->stopping) {
        pthread_cond_wait(&persist->changed, &persist->lock);
    }
    bool good = persist->answered >= ticket && persist->answered_good;
    pthread_mutex_unlock(&persist->lock);
    return good;
}

void persist_stats(struct persist *persist, struct persist_stats *out)
{
    pthread_mutex_lock(&persist->lock);
    *out = persist->stats;
    out->bytes = persist->base_bytes + persist->old_bytes + persist->rotated_bytes +
                 persist->journal_bytes;
    pthread_mutex_unlock(&persist->lock);
}
