/* A state file being written: blocks gather in memory and go out in large writes. What could not be
 * written stays, so a later flush goes on where the disk gave up. */
#ifndef PERSIST_STATE_OUT_H
#define PERSIST_STATE_OUT_H

#include "persist/state_dir.h"

struct state_out {
    int fd; /* -1: not open */
    struct format_preamble preamble;
    struct format_codec *codec; /* borrowed */
    uint64_t place;             /* bytes in the file */
    struct buf pending;         /* to follow them */
};

/* Makes the file under its name with .tmp, with preamble and header pending. False: errno says
 * why. */
bool state_out_open(struct state_out *out, const struct state_dir *dir,
                    const struct format_preamble *preamble, const struct format_header *header,
                    struct format_codec *codec);
/* Writes what is pending, syncs, renames the file into place, syncs the directory. */
bool state_out_commit(struct state_out *out, const struct state_dir *dir);
void state_out_close(struct state_out *out);
/* Closes a file that was not committed, and removes it. */
void state_out_abandon(struct state_out *out, const struct state_dir *dir);

void state_out_put(struct state_out *out, enum format_type type, uint64_t append,
                   struct slice payload);
/* Writes what is pending once it is more than `keep_bytes`. False: errno says why. */
bool state_out_flush(struct state_out *out, size_t keep_bytes);
bool state_out_sync(struct state_out *out);

#endif
