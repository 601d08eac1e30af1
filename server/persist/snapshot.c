#include "persist/snapshot.h"

#include "base/clock.h"

#include <errno.h>

#define WRITE_BYTES (1u << 20)

struct snapshot {
    struct persist *persist;
    struct state_out out;
    struct format_codec *codec;
    struct door_batch *batch;
    struct buf payload;
    uint64_t described; /* epochs from the first one on */
    uint64_t counters;
};

static bool is_unwanted(struct persist *persist)
{
    pthread_mutex_lock(&persist->lock);
    bool unwanted = persist->abandon || persist->elsewhere;
    pthread_mutex_unlock(&persist->lock);
    return unwanted;
}

static bool put_policies(struct snapshot *snapshot, uint64_t epoch)
{
    if (snapshot->described == 0) {
        snapshot->described = epoch - 1;
    }
    for (; snapshot->described < epoch; snapshot->described++) {
        buf_clear(&snapshot->payload);
        if (!persist_describe(snapshot->persist, snapshot->described + 1, &snapshot->payload) ||
            snapshot->payload.failed) {
            errno = ENOMEM;
            return false;
        }
        state_out_put(&snapshot->out, FORMAT_POLICIES, 0, buf_slice(&snapshot->payload));
    }
    return true;
}

static bool put_batch(struct snapshot *snapshot)
{
    struct door_batch *batch = snapshot->batch;
    batch->epoch += snapshot->persist->first_epoch;
    if (!put_policies(snapshot, batch->epoch)) {
        return false;
    }
    buf_clear(&snapshot->payload);
    format_put_counters(batch, &snapshot->payload);
    if (snapshot->payload.failed) {
        errno = ENOMEM;
        return false;
    }
    state_out_put(&snapshot->out, FORMAT_COUNTERS, 0, buf_slice(&snapshot->payload));
    snapshot->counters += batch->record_count;
    return state_out_flush(&snapshot->out, WRITE_BYTES);
}

static bool put_counters(struct snapshot *snapshot)
{
    struct persist *persist = snapshot->persist;
    struct door_out_cursor cursor = {.shard = 0};
    enum status status = STATUS_OK;
    bool more = true;
    if (!put_policies(snapshot, persist_newest_epoch(persist))) {
        return false;
    }
    while (more) {
        more = door_out_next(persist->config.store, &cursor, DOOR_ALL, snapshot->batch, &status);
        if (status != STATUS_OK) {
            errno = ENOMEM;
            return false;
        }
        if (snapshot->batch->record_count > 0 && !put_batch(snapshot)) {
            return false;
        }
        if (is_unwanted(persist)) {
            errno = ECANCELED;
            return false;
        }
    }
    return true;
}

static bool put_end(struct snapshot *snapshot, uint64_t append)
{
    struct format_end end = {.counters = snapshot->counters, .append = append};
    buf_clear(&snapshot->payload);
    format_put_end(&end, &snapshot->payload);
    if (snapshot->payload.failed) {
        errno = ENOMEM;
        return false;
    }
    state_out_put(&snapshot->out, FORMAT_END, append, buf_slice(&snapshot->payload));
    return true;
}

static bool write_out(struct snapshot *snapshot, uint64_t (*complete)(struct persist *persist))
{
    if (!put_counters(snapshot)) {
        return false;
    }
    uint64_t append = complete(snapshot->persist);
    if (append == 0) {
        errno = ECANCELED;
        return false;
    }
    return put_end(snapshot, append) &&
           state_out_commit(&snapshot->out, snapshot->persist->config.dir);
}

bool snapshot_write(struct persist *persist, uint64_t number,
                    uint64_t (*complete)(struct persist *persist), uint64_t *bytes)
{
    struct format_preamble preamble = {
        .kind = FORMAT_BASE, .number = number, .state_id = persist->state_id};
    struct format_header header = {.key = persist->key, .created_ns = clock_now_ns()};
    struct snapshot snapshot = {.persist = persist, .out = {.fd = -1}};
    buf_init(&snapshot.payload, 0);
    snapshot.codec = format_codec_create();
    snapshot.batch = door_batch_create();
    bool good = false;
    if (snapshot.codec == NULL || snapshot.batch == NULL) {
        errno = ENOMEM;
    } else if (state_out_open(&snapshot.out, persist->config.dir, &preamble, &header,
                              snapshot.codec)) {
        good = write_out(&snapshot, complete);
        *bytes = snapshot.out.place;
        if (good) {
            state_out_close(&snapshot.out);
        } else {
            state_out_abandon(&snapshot.out, persist->config.dir);
        }
    }
    int error = errno;
    door_batch_destroy(&snapshot.batch);
    format_codec_destroy(&snapshot.codec);
    buf_deinit(&snapshot.payload);
    errno = error;
    return good;
}
