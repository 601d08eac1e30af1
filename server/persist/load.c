#include "persist/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- complaints ---- */

static void complain(struct buf *why, const struct load *load, const struct load_file *file,
                     const char *what)
{
    char name[STATE_DIR_NAME_BYTES];
    state_dir_name(file->kind, file->number, name);
    buf_clear(why);
    buf_printf(why, "%s/%s %s", load->dir->path, name, what);
}

static enum status damaged(struct buf *why, const struct load *load, const struct load_file *file,
                           uint64_t place)
{
    char what[64];
    (void)snprintf(what, sizeof(what), "is damaged at byte %llu", (unsigned long long)place);
    complain(why, load, file, what);
    return STATUS_INVALID;
}

/* ---- one file ---- */

static struct format_preamble preamble_of(const struct load *load, const struct load_file *file)
{
    return (struct format_preamble){
        .kind = file->kind, .number = file->number, .state_id = load->state_id};
}

static struct slice bytes_of(const struct load_file *file)
{
    return slice_make(file->bytes, file->size);
}

static enum status read_file(struct load *load, struct load_file *file, struct buf *why)
{
    char name[STATE_DIR_NAME_BYTES];
    state_dir_name(file->kind, file->number, name);
    enum status status = state_dir_read(load->dir, name, &file->bytes, &file->size);
    if (status != STATUS_OK) {
        complain(why, load, file, "cannot be read: ");
        buf_append_text(why, status == STATUS_NO_MEMORY ? status_text(status) : strerror(errno));
    }
    return status;
}

static enum status check_preamble(struct load *load, struct load_file *file, struct buf *why)
{
    struct format_preamble preamble;
    const char *reason = "";
    enum status status = format_get_preamble(bytes_of(file), &preamble, &reason);
    if (status != STATUS_OK) {
        complain(why, load, file, reason);
        return status;
    }
    if (preamble.kind != file->kind || preamble.number != file->number) {
        return damaged(why, load, file, 0);
    }
    if (file->kind == FORMAT_BASE) {
        load->state_id = preamble.state_id;
    } else if (preamble.state_id != load->state_id) {
        complain(why, load, file, "belongs to another state than the base beside it");
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

/* Every payload has to be what its type says, so that nothing fails later. */
static bool note_block(struct load *load, struct load_file *file, const struct format_block *block)
{
    struct format_policies policies;
    struct format_end end;
    if (file->kind == FORMAT_JOURNAL && block->append > load->last_append) {
        load->last_append = block->append;
    }
    switch (block->type) {
    case FORMAT_HEADER:
        return format_get_header(block->payload, &file->header);
    case FORMAT_POLICIES:
        if (!format_get_policies(block->payload, &policies)) {
            return false;
        }
        load->last_epoch = policies.epoch > load->last_epoch ? policies.epoch : load->last_epoch;
        return true;
    case FORMAT_END:
        if (!format_get_end(block->payload, &end)) {
            return false;
        }
        if (file->kind == FORMAT_BASE) {
            load->base_counters = end.counters;
            load->covered = end.append;
        } else {
            load->journal_records += end.counters;
        }
        return true;
    case FORMAT_COUNTERS:
        break;
    }
    return true;
}

static bool add_place(struct load_file *file, uint64_t place)
{
    if ((file->place_count & (file->place_count - 1)) == 0) {
        size_t room = file->place_count == 0 ? 1 : (size_t)file->place_count * 2;
        uint64_t *grown = realloc(file->places, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        file->places = grown;
    }
    file->places[file->place_count] = place;
    file->place_count++;
    return true;
}

/* Walks the good blocks from the first on, up to `most`. `end`: behind the last END; `stop`: where
 * there is no good block. */
static void walk(struct load *load, struct load_file *file, uint64_t most, uint64_t *stop)
{
    struct format_preamble preamble = preamble_of(load, file);
    struct slice bytes = slice_make(file->bytes, (size_t)most);
    uint64_t place = FORMAT_PREAMBLE_BYTES;
    struct format_block block;
    bool first = true;
    file->end = 0;
    while (format_peek_block(&preamble, bytes, place, &block)) {
        bool light = block.type != FORMAT_COUNTERS;
        if (first != (block.type == FORMAT_HEADER) ||
            (light && !format_get_block(load->codec, &preamble, bytes, place, &block)) ||
            !note_block(load, file, &block) ||
            (!light && file->kind == FORMAT_BASE && !add_place(file, place))) {
            break;
        }
        first = false;
        place += block.bytes;
        if (block.type == FORMAT_END) {
            file->end = place;
        }
    }
    *stop = place;
}

/* Behind a bad block of the append that was being written there can only be more of that append:
 * a good block of a later one shows that this is no unfinished tail. A file is renamed into place
 * with its first append whole. */
static bool is_tail(const struct load *load, const struct load_file *file, uint64_t stop)
{
    struct format_preamble preamble = preamble_of(load, file);
    struct format_block block;
    uint64_t finished = 0;
    uint64_t place = FORMAT_PREAMBLE_BYTES;
    while (place < file->end && format_peek_block(&preamble, bytes_of(file), place, &block)) {
        finished = block.append;
        place += block.bytes;
    }
    for (place = stop + 1; place < file->size; place++) {
        if (format_peek_block(&preamble, bytes_of(file), place, &block) &&
            block.append > finished + 1) {
            return false;
        }
    }
    return file->end > 0;
}

static enum status check_base(struct load *load, struct load_file *file, struct buf *why)
{
    uint64_t stop;
    enum status status = check_preamble(load, file, why);
    if (status != STATUS_OK) {
        return status;
    }
    walk(load, file, file->size, &stop);
    if (stop == file->size && file->end == file->size) {
        return STATUS_OK;
    }
    if (stop == file->size) {
        complain(why, load, file, "is cut short");
        return STATUS_INVALID;
    }
    return damaged(why, load, file, stop);
}

/* `next` NULL: the newest. */
static enum status check_journal(struct load *load, struct load_file *file,
                                 const struct load_file *next, struct buf *why)
{
    uint64_t stop = 0;
    bool newest = next == NULL;
    enum status status = STATUS_INVALID;
    uint64_t most = newest ? file->size : next->header.previous_bytes;
    if (most > file->size) {
        complain(why, load, file, "is cut short");
        return status;
    }
    walk(load, file, most, &stop);
    if (stop == most && file->end == most) {
        return STATUS_OK;
    }
    if (newest && !load->sealed && is_tail(load, file, stop)) {
        load->dropped_bytes = file->size - file->end;
        return STATUS_OK;
    }
    if (stop == most) {
        complain(why, load, file, "is cut short");
        return status;
    }
    return damaged(why, load, file, stop);
}

/* Only the header: it says how much of the file before counts. */
static enum status peek_header(struct load *load, struct load_file *file, struct buf *why)
{
    struct format_block block;
    enum status status = check_preamble(load, file, why);
    if (status != STATUS_OK) {
        return status;
    }
    struct format_preamble preamble = preamble_of(load, file);
    if (format_get_block(load->codec, &preamble, bytes_of(file), FORMAT_PREAMBLE_BYTES, &block) &&
        block.type == FORMAT_HEADER && format_get_header(block.payload, &file->header)) {
        return STATUS_OK;
    }
    return damaged(why, load, file, FORMAT_PREAMBLE_BYTES);
}

/* ---- all files ---- */

static const struct load_file *find_file(const struct load *load, enum format_kind kind,
                                         uint64_t number)
{
    for (uint32_t i = 0; i < load->file_count; i++) {
        if (load->files[i].kind == kind && load->files[i].number == number) {
            return &load->files[i];
        }
    }
    return NULL;
}

static enum status check_sealed(struct load *load, const struct format_sealed *sealed,
                                uint32_t count, struct buf *why)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct load_file *file = find_file(load, sealed[i].kind, sealed[i].number);
        struct load_file missing = {.kind = sealed[i].kind, .number = sealed[i].number};
        char what[96];
        if (file == NULL) {
            complain(why, load, &missing, "is missing, and belongs to the sealed state");
            return STATUS_INVALID;
        }
        if (file->size != sealed[i].bytes) {
            (void)snprintf(what, sizeof(what), "has %llu bytes, and was sealed with %llu",
                           (unsigned long long)file->size, (unsigned long long)sealed[i].bytes);
            complain(why, load, file, what);
            return STATUS_INVALID;
        }
    }
    if (count != load->file_count) {
        complain(why, load, &load->files[load->file_count - 1],
                 "does not belong to the sealed state beside it");
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

static enum status check_seal(struct load *load, struct buf *why)
{
    uint8_t *bytes;
    size_t size;
    uint64_t state_id;
    uint32_t count;
    struct format_sealed *sealed = NULL;
    const char *what = "is damaged";
    enum status status = state_dir_read(load->dir, STATE_DIR_SEAL, &bytes, &size);
    if (status != STATUS_OK) {
        what = status == STATUS_IO ? strerror(errno) : status_text(status);
    } else {
        status = format_get_seal(slice_make(bytes, size), &state_id, &sealed, &count);
    }
    if (status != STATUS_OK) {
        buf_printf(why, "%s/%s %s", load->dir->path, STATE_DIR_SEAL,
                   status == STATUS_UNSUPPORTED ? "was written by another version of sluiced"
                                                : what);
    } else if (state_id != load->state_id) {
        buf_printf(why, "%s/%s belongs to another state", load->dir->path, STATE_DIR_SEAL);
        status = STATUS_INVALID;
    } else {
        status = check_sealed(load, sealed, count, why);
    }
    free(sealed);
    free(bytes);
    return status;
}

/* Each journal has to follow the one before it; the first is the base's own. */
static enum status check_chain(struct load *load, struct buf *why)
{
    for (uint32_t i = 1; i < load->file_count; i++) {
        struct load_file *file = &load->files[i];
        bool follows = i == 1 ? file->number == load->files[0].number
                              : file->header.previous == load->files[i - 1].number;
        if (!follows) {
            struct load_file missing = {
                .kind = FORMAT_JOURNAL,
                .number = i == 1 ? load->files[0].number : file->header.previous};
            complain(why, load, &missing, "is missing");
            return STATUS_NOT_FOUND;
        }
    }
    return STATUS_OK;
}

static enum status read_files(struct load *load, struct buf *why)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < load->file_count && status == STATUS_OK; i++) {
        status = read_file(load, &load->files[i], why);
    }
    if (status == STATUS_OK) {
        status = check_base(load, &load->files[0], why);
    }
    if (status == STATUS_OK && load->sealed) {
        status = check_seal(load, why);
    }
    for (uint32_t i = 1; i < load->file_count && status == STATUS_OK; i++) {
        status = peek_header(load, &load->files[i], why);
    }
    if (status == STATUS_OK) {
        status = check_chain(load, why);
    }
    for (uint32_t i = 1; i < load->file_count && status == STATUS_OK; i++) {
        const struct load_file *next = i + 1 < load->file_count ? &load->files[i + 1] : NULL;
        status = check_journal(load, &load->files[i], next, why);
    }
    return status;
}

static enum status take_list(struct load *load, const struct state_dir_list *list,
                             struct buf *why)
{
    load->sealed = list->sealed;
    if (!list->any) {
        return STATUS_OK;
    }
    if (list->base == 0) {
        buf_printf(why, "%s has %s but no base", load->dir->path,
                   list->sealed ? "a seal" : "journals");
        return STATUS_NOT_FOUND;
    }
    load->files = calloc((size_t)list->journal_count + 1, sizeof(*load->files));
    if (load->files == NULL) {
        buf_append_text(why, status_text(STATUS_NO_MEMORY));
        return STATUS_NO_MEMORY;
    }
    load->file_count = list->journal_count + 1;
    load->files[0] = (struct load_file){.kind = FORMAT_BASE, .number = list->base};
    for (uint32_t i = 0; i < list->journal_count; i++) {
        load->files[i + 1] =
            (struct load_file){.kind = FORMAT_JOURNAL, .number = list->journals[i]};
    }
    return read_files(load, why);
}

enum status load_open(struct load *load, const struct state_dir *dir, struct buf *why)
{
    struct state_dir_list list;
    *load = (struct load){.dir = dir};
    load->codec = format_codec_create();
    if (load->codec == NULL) {
        buf_append_text(why, status_text(STATUS_NO_MEMORY));
        return STATUS_NO_MEMORY;
    }
    enum status status = state_dir_list(dir, &list);
    if (status != STATUS_OK) {
        buf_printf(why, "%s cannot be read: %s", dir->path, strerror(errno));
    } else {
        status = take_list(load, &list, why);
    }
    state_dir_list_deinit(&list);
    if (status != STATUS_OK) {
        load_close(load);
    }
    return status;
}

void load_close(struct load *load)
{
    for (uint32_t i = 0; i < load->file_count; i++) {
        free(load->files[i].places);
        free(load->files[i].bytes);
    }
    free(load->files);
    load->files = NULL;
    load->file_count = 0;
    format_codec_destroy(&load->codec);
}

const struct hash_key *load_key(const struct load *load)
{
    return &load->files[0].header.key;
}

enum status load_each(struct load *load, load_visitor *each, void *context)
{
    for (uint32_t i = 0; i < load->file_count; i++) {
        const struct load_file *file = &load->files[i];
        struct format_preamble preamble = preamble_of(load, file);
        uint64_t place = FORMAT_PREAMBLE_BYTES;
        struct format_block block;
        while (place < file->end) {
            if (!format_get_block(load->codec, &preamble, bytes_of(file), place, &block)) {
                return STATUS_INVALID;
            }
            enum status status = each(context, file, &block);
            if (status != STATUS_OK) {
                return status;
            }
            place += block.bytes;
        }
    }
    return STATUS_OK;
}
