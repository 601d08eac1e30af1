#include "persist/state_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

struct names {
    char name[STATE_DIR_NAME_BYTES];
    char aside[STATE_DIR_NAME_BYTES + 8];
};

static struct names names_of(const struct format_preamble *preamble)
{
    struct names names;
    state_dir_name(preamble->kind, preamble->number, names.name);
    (void)snprintf(names.aside, sizeof(names.aside), "%s.tmp", names.name);
    return names;
}

bool state_out_open(struct state_out *out, const struct state_dir *dir,
                    const struct format_preamble *preamble, const struct format_header *header,
                    struct format_codec *codec)
{
    struct names names = names_of(preamble);
    struct buf payload;
    *out = (struct state_out){.preamble = *preamble, .codec = codec};
    buf_init(&out->pending, 0);
    out->fd = openat(dir->fd, names.aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out->fd < 0) {
        return false;
    }
    buf_init(&payload, 0);
    format_put_preamble(preamble, &out->pending);
    format_put_header(header, &payload);
    state_out_put(out, FORMAT_HEADER, 0, buf_slice(&payload));
    out->pending.failed = out->pending.failed || payload.failed;
    buf_deinit(&payload);
    return true;
}

/* A file whose name may not last is taken back: were it left and not used, a start would think that
 * the file before it ends where this one begins. */
bool state_out_commit(struct state_out *out, const struct state_dir *dir)
{
    struct names names = names_of(&out->preamble);
    if (!state_out_flush(out, 0) || fsync(out->fd) != 0 ||
        renameat(dir->fd, names.aside, dir->fd, names.name) != 0) {
        return false;
    }
    if (state_dir_sync(dir)) {
        return true;
    }
    int number = errno;
    bool taken_back = unlinkat(dir->fd, names.name, 0) == 0;
    errno = number;
    return !taken_back;
}

void state_out_abandon(struct state_out *out, const struct state_dir *dir)
{
    int number = errno;
    struct names names = names_of(&out->preamble);
    if (out->fd >= 0) {
        (void)unlinkat(dir->fd, names.aside, 0);
    }
    state_out_close(out);
    errno = number;
}

void state_out_close(struct state_out *out)
{
    if (out->fd >= 0) {
        close(out->fd);
        out->fd = -1;
    }
    buf_deinit(&out->pending);
}

void state_out_put(struct state_out *out, enum format_type type, uint64_t append,
                   struct slice payload)
{
    struct format_block block = {.type = type, .append = append, .payload = payload};
    format_put_block(out->codec, &out->preamble, out->place + out->pending.size, &block,
                     &out->pending);
}

bool state_out_flush(struct state_out *out, size_t keep_bytes)
{
    if (out->pending.failed) {
        errno = ENOMEM;
        return false;
    }
    if (out->pending.size <= keep_bytes) {
        return true;
    }
    while (out->pending.size > 0) {
        struct slice bytes = buf_slice(&out->pending);
        ssize_t put = pwrite(out->fd, bytes.data, bytes.size, (off_t)out->place);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            errno = put == 0 ? ENOSPC : errno;
            return false;
        }
        out->place += (uint64_t)put;
        buf_consume(&out->pending, (size_t)put);
    }
    return true;
}

bool state_out_sync(struct state_out *out)
{
    return fdatasync(out->fd) == 0;
}
