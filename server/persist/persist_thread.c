#include "persist/persist_thread.h"

#include "base/clock.h"
#include "base/log.h"
#include "persist/journal.h"
#include "persist/snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Journals may grow to this, or to the size of the base, before a new base is written. */
#define JOURNALS_BYTES (UINT64_C(16) << 20)
#define IMAGE_PAUSE_NS (10 * CLOCK_NS_PER_S) /* after one that failed */
#define LAST_TRIES 3

/* ---- bookkeeping ---- */

static void note_try(struct persist *persist, bool good, int error, int64_t start_ns)
{
    bool said = false;
    pthread_mutex_lock(&persist->lock);
    persist->stats.duration_ns = clock_ticks_ns() - start_ns;
    if (good) {
        persist->stats.written++;
        persist->stats.last_success_ns = clock_now_ns();
    } else {
        persist->stats.failed++;
    }
    if (persist->failing == good) {
        persist->failing = !good;
        said = true;
    }
    pthread_mutex_unlock(&persist->lock);
    if (said && good) {
        LOG_EVENT(LOG_LEVEL_INFO, "state is written again",
                  {"state-dir", slice_text(persist->config.dir->path)});
    } else if (said) {
        LOG_EVENT(LOG_LEVEL_ERROR, "state cannot be written, it is tried again each interval",
                  {"state-dir", slice_text(persist->config.dir->path)},
                  {"why", slice_text(strerror(error))});
    }
}

/* ---- journal thread ---- */

/* Another directory stands in the place of the one that was held: the state begins anew there, with
 * a base that holds everything. */
static uint64_t complete_at_once(struct persist *persist)
{
    return persist->journal.append + 1;
}

static bool start_over(struct persist *persist)
{
    uint64_t number = persist->base_number + 1;
    uint64_t bytes = 0;
    state_out_close(&persist->journal.out);
    persist->journal.out.fd = -1;
    if (!snapshot_write(persist, number, complete_at_once, &bytes) ||
        !journal_begin(persist, number, 0, 0)) {
        return false;
    }
    pthread_mutex_lock(&persist->lock);
    persist->base_number = number;
    persist->base_bytes = bytes;
    persist->old_bytes = persist->rotated_bytes = 0;
    pthread_mutex_unlock(&persist->lock);
    return true;
}

/* An image still being written into the old directory is given up first; a directory that holds
 * another state is not touched. */
static bool move_over(struct persist *persist)
{
    pthread_mutex_lock(&persist->lock);
    bool running = persist->image_running;
    persist->elsewhere = running;
    pthread_cond_broadcast(&persist->changed);
    pthread_mutex_unlock(&persist->lock);
    if (running) {
        errno = ESTALE;
        return false;
    }
    if (!state_dir_reopen(persist->config.dir)) {
        return false;
    }
    state_out_close(&persist->journal.out);
    return true;
}

static bool write_changes(struct persist *persist)
{
    bool unsafe = false;
    enum state_dir_where where = state_dir_look_where(persist->config.dir);
    if (where == STATE_DIR_GONE || (where == STATE_DIR_REPLACED && !move_over(persist))) {
        return false;
    }
    if (persist->journal.out.fd < 0 && !start_over(persist)) {
        return false;
    }
    bool good = journal_append(persist, &unsafe);
    bool forgot = door_out_forgot(persist->config.store);
    pthread_mutex_lock(&persist->lock);
    persist->journal_bytes = persist->journal.out.place;
    persist->image_asked = persist->image_asked || unsafe || forgot;
    pthread_mutex_unlock(&persist->lock);
    return good;
}

/* Is it time for a new base? Claims it. */
static bool claim_image(struct persist *persist)
{
    pthread_mutex_lock(&persist->lock);
    uint64_t journals = persist->old_bytes + persist->journal_bytes;
    uint64_t most = persist->base_bytes > JOURNALS_BYTES ? persist->base_bytes : JOURNALS_BYTES;
    bool due = (persist->image_asked || journals > most) && !persist->image_running &&
               !persist->stopping && clock_ticks_ns() >= persist->image_after_ns;
    pthread_mutex_unlock(&persist->lock);
    return due;
}

/* The image's journal is begun before the image, and gets what changes while it is written. */
static bool begin_image(struct persist *persist)
{
    struct journal *journal = &persist->journal;
    uint64_t before = journal->out.preamble.number;
    uint64_t bytes = journal->out.place;
    bool good = journal_begin(persist, before + 1, before, bytes);
    int error = errno;
    pthread_mutex_lock(&persist->lock);
    if (good) {
        persist->rotated_bytes = persist->old_bytes + bytes;
        persist->old_bytes = 0;
        persist->journal_bytes = journal->out.place;
        persist->image_asked = false;
        persist->image_running = true;
        pthread_cond_broadcast(&persist->changed);
    } else {
        persist->image_after_ns = clock_ticks_ns() + IMAGE_PAUSE_NS;
    }
    pthread_mutex_unlock(&persist->lock);
    errno = error;
    return good;
}

/* Waits for the next turn; false: no more turns. *ticket: the latest that this turn covers. */
static bool wait_turn(struct persist *persist, int64_t due_ns, uint64_t *ticket)
{
    struct timespec due = {.tv_sec = due_ns / CLOCK_NS_PER_S, .tv_nsec = due_ns % CLOCK_NS_PER_S};
    pthread_mutex_lock(&persist->lock);
    while (!persist->stopping && persist->asked == persist->answered &&
           pthread_cond_timedwait(&persist->changed, &persist->lock, &due) != ETIMEDOUT) {
    }
    *ticket = persist->asked;
    persist->turns++;
    bool go_on = !persist->stopping;
    pthread_mutex_unlock(&persist->lock);
    return go_on;
}

static void answer(struct persist *persist, uint64_t ticket, bool good)
{
    pthread_mutex_lock(&persist->lock);
    persist->answered = ticket;
    persist->answered_good = good;
    if (good) {
        persist->good_turn = persist->turns;
        persist->good_append = persist->journal.append;
    }
    pthread_cond_broadcast(&persist->changed);
    pthread_mutex_unlock(&persist->lock);
    if (persist->config.tried != NULL) {
        persist->config.tried(persist->config.context);
    }
}

/* A turn is begun so that it should end an interval after the last one's beginning. */
static void *run_journal(void *context)
{
    struct persist *persist = context;
    int64_t interval_ns = persist->config.interval_ns;
    int64_t due_ns = clock_ticks_ns() + interval_ns;
    uint64_t ticket;
    while (wait_turn(persist, due_ns, &ticket)) {
        int64_t start_ns = clock_ticks_ns();
        bool good = write_changes(persist);
        if (good && claim_image(persist)) {
            good = begin_image(persist);
        }
        note_try(persist, good, errno, start_ns);
        answer(persist, ticket, good);
        int64_t took_ns = clock_ticks_ns() - start_ns;
        due_ns = start_ns + interval_ns - (took_ns < interval_ns / 2 ? took_ns : interval_ns / 2);
    }
    return NULL;
}

/* ---- image thread ---- */

/* One more append, begun from now on. */
static uint64_t complete_by_append(struct persist *persist)
{
    pthread_mutex_lock(&persist->lock);
    uint64_t turn = persist->turns + 1;
    persist->asked++;
    pthread_cond_broadcast(&persist->changed);
    while (!persist->abandon && !persist->elsewhere && persist->good_turn < turn) {
        pthread_cond_wait(&persist->changed, &persist->lock);
    }
    uint64_t append = persist->good_turn >= turn ? persist->good_append : 0;
    pthread_mutex_unlock(&persist->lock);
    return append;
}

static void end_image(struct persist *persist, bool good, uint64_t number, uint64_t bytes)
{
    pthread_mutex_lock(&persist->lock);
    persist->image_running = persist->elsewhere = false;
    if (good) {
        persist->base_number = number;
        persist->base_bytes = bytes;
    } else {
        persist->old_bytes += persist->rotated_bytes;
        persist->image_asked = true;
        persist->image_after_ns = clock_ticks_ns() + IMAGE_PAUSE_NS;
    }
    persist->rotated_bytes = 0;
    pthread_mutex_unlock(&persist->lock);
    if (good) {
        state_dir_clean(persist->config.dir, number);
    }
}

static bool wait_for_image(struct persist *persist, uint64_t *number)
{
    pthread_mutex_lock(&persist->lock);
    while (!persist->abandon && !persist->image_running) {
        pthread_cond_wait(&persist->changed, &persist->lock);
    }
    bool wanted = !persist->abandon;
    *number = persist->journal.out.preamble.number;
    pthread_mutex_unlock(&persist->lock);
    return wanted;
}

static void *run_image(void *context)
{
    struct persist *persist = context;
    uint64_t number;
    while (wait_for_image(persist, &number)) {
        uint64_t bytes = 0;
        int64_t start_ns = clock_ticks_ns();
        bool good = snapshot_write(persist, number, complete_by_append, &bytes);
        if (good || errno != ECANCELED) {
            note_try(persist, good, errno, start_ns);
        }
        end_image(persist, good, number, bytes);
    }
    return NULL;
}

/* ---- beginning and end ---- */

enum status persist_thread_start(struct persist *persist)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    persist->journal_bytes = persist->journal.out.place;
    if (pthread_create(&persist->journal_thread, NULL, run_journal, persist) == 0) {
        persist->threads = 1;
        if (pthread_create(&persist->image_thread, NULL, run_image, persist) == 0) {
            persist->threads = 2;
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return persist->threads == 2 ? STATUS_OK : STATUS_NO_MEMORY;
}

void persist_thread_stop(struct persist *persist)
{
    pthread_mutex_lock(&persist->lock);
    persist->stopping = persist->abandon = true;
    pthread_cond_broadcast(&persist->changed);
    pthread_mutex_unlock(&persist->lock);
    if (persist->threads > 1) {
        (void)pthread_join(persist->image_thread, NULL);
    }
    if (persist->threads > 0) {
        (void)pthread_join(persist->journal_thread, NULL);
    }
    persist->threads = 0;
}

static bool add_sealed(const struct state_dir *dir, enum format_kind kind, uint64_t number,
                       struct format_sealed *out)
{
    char name[STATE_DIR_NAME_BYTES];
    struct stat about;
    state_dir_name(kind, number, name);
    if (fstatat(dir->fd, name, &about, 0) != 0) {
        return false;
    }
    *out = (struct format_sealed){
        .kind = kind, .number = number, .bytes = (uint64_t)about.st_size};
    return true;
}

static bool seal(struct persist *persist)
{
    const struct state_dir *dir = persist->config.dir;
    struct state_dir_list list;
    struct buf out;
    if (state_dir_list(dir, &list) != STATUS_OK) {
        return false;
    }
    struct format_sealed *files = calloc((size_t)list.journal_count + 1, sizeof(*files));
    bool good = files != NULL && add_sealed(dir, FORMAT_BASE, list.base, &files[0]);
    for (uint32_t i = 0; i < list.journal_count && good; i++) {
        good = add_sealed(dir, FORMAT_JOURNAL, list.journals[i], &files[i + 1]);
    }
    buf_init(&out, 0);
    if (good) {
        format_put_seal(persist->state_id, files, list.journal_count + 1, &out);
        good = !out.failed && state_dir_write(dir, STATE_DIR_SEAL, buf_slice(&out));
    }
    int error = errno;
    buf_deinit(&out);
    free(files);
    state_dir_list_deinit(&list);
    errno = error;
    return good;
}

bool persist_thread_finish(struct persist *persist, struct buf *why)
{
    bool good = false;
    int error = 0;
    for (int i = 0; i < LAST_TRIES && !good; i++) {
        good = write_changes(persist) && seal(persist);
        error = errno;
    }
    if (!good) {
        buf_printf(why, "%s: the last counts could not be written: %s",
                   persist->config.dir->path, strerror(error));
    }
    return good;
}
