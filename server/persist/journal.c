#include "persist/journal.h"

#include "base/clock.h"

#include <errno.h>

#define WRITE_BYTES (4u << 20) /* one write of a long append */

bool journal_init(struct journal *journal)
{
    *journal = (struct journal){.out = {.fd = -1}};
    journal->codec = format_codec_create();
    journal->batch = door_batch_create();
    return journal->codec != NULL && journal->batch != NULL;
}

void journal_deinit(struct journal *journal)
{
    state_out_close(&journal->out);
    door_batch_destroy(&journal->batch);
    format_codec_destroy(&journal->codec);
}

/* Describes all epochs up to `epoch` that this file does not know yet. */
static bool put_policies(struct persist *persist, struct state_out *out, uint64_t epoch)
{
    struct journal *journal = &persist->journal;
    struct buf payload;
    buf_init(&payload, 0);
    while (journal->described < epoch && !payload.failed) {
        buf_clear(&payload);
        if (persist_describe(persist, journal->described + 1, &payload)) {
            state_out_put(out, FORMAT_POLICIES, journal->append, buf_slice(&payload));
            journal->put = true;
        }
        journal->described++;
    }
    bool good = !payload.failed;
    buf_deinit(&payload);
    errno = good ? errno : ENOMEM;
    return good;
}

static void put_end(struct journal *journal, struct state_out *out)
{
    struct format_end end = {.counters = journal->records, .append = journal->append};
    struct buf payload;
    buf_init(&payload, 0);
    format_put_end(&end, &payload);
    out->pending.failed = out->pending.failed || payload.failed;
    state_out_put(out, FORMAT_END, journal->append, buf_slice(&payload));
    buf_deinit(&payload);
}

bool journal_begin(struct persist *persist, uint64_t number, uint64_t previous,
                   uint64_t previous_bytes)
{
    struct journal *journal = &persist->journal;
    struct format_preamble preamble = {
        .kind = FORMAT_JOURNAL, .number = number, .state_id = persist->state_id};
    struct format_header header = {.key = persist->key,
                                   .created_ns = clock_now_ns(),
                                   .previous = previous,
                                   .previous_bytes = previous_bytes};
    struct state_out out;
    uint64_t described = journal->described;
    uint64_t newest = persist_newest_epoch(persist);
    if (!state_out_open(&out, persist->config.dir, &preamble, &header, journal->codec)) {
        return false;
    }
    journal->append++;
    journal->records = 0;
    journal->described = described < newest ? described : newest - 1;
    bool good = put_policies(persist, &out, newest);
    put_end(journal, &out);
    if (!good || !state_out_commit(&out, persist->config.dir)) {
        journal->described = described;
        state_out_abandon(&out, persist->config.dir);
        return false;
    }
    state_out_close(&journal->out);
    journal->out = out;
    journal->begun = false;
    return true;
}

static bool put_counters(struct persist *persist)
{
    struct journal *journal = &persist->journal;
    struct door_batch *batch = journal->batch;
    struct buf payload;
    batch->epoch += persist->first_epoch;
    if (!put_policies(persist, &journal->out, batch->epoch)) {
        return false;
    }
    buf_init(&payload, 0);
    format_put_counters(batch, &payload);
    state_out_put(&journal->out, FORMAT_COUNTERS, journal->append, buf_slice(&payload));
    journal->out.pending.failed = journal->out.pending.failed || payload.failed;
    buf_deinit(&payload);
    journal->records += batch->record_count;
    journal->put = true;
    return state_out_flush(&journal->out, WRITE_BYTES);
}

static bool put_changes(struct persist *persist)
{
    struct journal *journal = &persist->journal;
    struct door_out_cursor cursor = {.shard = 0};
    enum status status = STATUS_OK;
    bool more = true;
    while (more && status == STATUS_OK) {
        more = door_out_next(persist->config.store, &cursor, DOOR_CHANGED, journal->batch, &status);
        if (journal->batch->record_count > 0 && !put_counters(persist)) {
            door_out_stop(persist->config.store, &cursor);
            return false;
        }
    }
    if (status != STATUS_OK) {
        door_out_stop(persist->config.store, &cursor);
        errno = ENOMEM;
    }
    return status == STATUS_OK;
}

bool journal_append(struct persist *persist, bool *unsafe)
{
    struct journal *journal = &persist->journal;
    *unsafe = false;
    if (!journal->begun) {
        journal->begun = true;
        journal->append++;
        journal->records = 0;
        journal->put = false;
    } else if (!state_out_flush(&journal->out, 0)) {
        return false;
    }
    if (!put_policies(persist, &journal->out, persist_newest_epoch(persist)) ||
        !put_changes(persist)) {
        return false;
    }
    if (!journal->put) {
        return true;
    }
    put_end(journal, &journal->out);
    if (!state_out_flush(&journal->out, 0)) {
        return false;
    }
    if (!state_out_sync(&journal->out)) {
        *unsafe = true;
        return false;
    }
    journal->begun = false;
    return true;
}
