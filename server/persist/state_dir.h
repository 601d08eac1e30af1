/* A state directory: who holds it, what lies in it, how files come to be there.
 *
 *   lock       held (flock) by the daemon whose state this is
 *   next       held by the one daemon that waits to take over
 *   seal, base-N.sluice, journal-N.sluice      format.h
 *   *.tmp      being written, or left over from a crash: never read
 *   *.bad-T    moved aside by --on-bad-state empty
 *
 * A file is written under another name, synced, renamed, and the directory synced: so it is there
 * whole or not at all. */
#ifndef PERSIST_STATE_DIR_H
#define PERSIST_STATE_DIR_H

#include "base/buf.h"
#include "persist/format.h"

#define STATE_DIR_NAME_BYTES 48
#define STATE_DIR_SEAL "seal"

struct state_dir {
    const char *path; /* borrowed */
    int fd;           /* -1: not open */
    int lock_fd;
    int next_fd;      /* locked while waiting */
    uint64_t device;  /* which directory it is */
    uint64_t inode;
};

/* Opens or makes the directory, and takes its lock, or, where that is held, the place behind its
 * holder: *waiting. On failure *why says what is wrong, after "DIR: ". */
STATUS_CHECKED enum status state_dir_open(struct state_dir *dir, const char *path, bool *waiting,
                                          struct buf *why);
/* The same without lock, for looking only. */
STATUS_CHECKED enum status state_dir_look(struct state_dir *dir, const char *path,
                                          struct buf *why);
void state_dir_close(struct state_dir *dir);

/* Tries to take over. False: the holder is still there. */
bool state_dir_take(struct state_dir *dir);
/* Does another daemon wait to take over? */
bool state_dir_has_successor(const struct state_dir *dir);

/* Is the directory still where it was? Where it is gone errno says why. */
enum state_dir_where { STATE_DIR_THERE, STATE_DIR_GONE, STATE_DIR_REPLACED };
enum state_dir_where state_dir_look_where(const struct state_dir *dir);
/* Opens and locks the one that stands in its place now, if it holds no state. On failure errno says
 * why, and the one that was open stays. */
bool state_dir_reopen(struct state_dir *dir);

struct state_dir_list {
    uint64_t base;       /* the newest; 0: none */
    uint64_t *journals;  /* ascending, those from `base` on */
    uint32_t journal_count;
    bool sealed;
    bool any; /* something is there */
};
STATUS_CHECKED enum status state_dir_list(const struct state_dir *dir,
                                          struct state_dir_list *out);
void state_dir_list_deinit(struct state_dir_list *list);

void state_dir_name(enum format_kind kind, uint64_t number, char out[STATE_DIR_NAME_BYTES]);

/* All of a file, into memory of its own (free it). On failure errno says why. */
STATUS_CHECKED enum status state_dir_read(const struct state_dir *dir, const char *name,
                                          uint8_t **bytes, size_t *size);
/* Writes a small file whole. */
bool state_dir_write(const struct state_dir *dir, const char *name, struct slice bytes);
bool state_dir_remove(const struct state_dir *dir, const char *name);
bool state_dir_sync(const struct state_dir *dir);
/* Removes bases and journals older than base `number`, and what crashes left over. */
void state_dir_clean(const struct state_dir *dir, uint64_t number);
/* Renames every state file to NAME.bad-SECONDS. */
bool state_dir_move_aside(const struct state_dir *dir, int64_t now_ns);

#endif
