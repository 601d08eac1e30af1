/* Notices that files which were read have changed: written in place, renamed over, a link swapped
 * anywhere on the way (Kubernetes), a directory replaced, deleted and made again.
 *
 * Two ways, for neither is enough: the directories on the way to each file are watched, which is
 * quick but blind on network file systems; and what each path leads to is looked at twice a second,
 * which misses nothing. Either only says that a look is due. A look makes a number of everything
 * that changes with a file (device, inode, size, times); another number than that of what was read,
 * and the same for a moment, so that nobody is in the middle of writing, is a change. */
#ifndef WATCH_H
#define WATCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define WATCH_PATHS 8

/* What the paths lead to now. */
struct watch_look {
    uint64_t number;
    bool lacks;   /* a path leads nowhere, or to an empty file: it may be on its way */
    bool written; /* a file is open for writing */
};

struct watch_place; /* a name in a directory that is watched */

struct watch {
    uv_loop_t *loop;
    void (*changed)(void *data); /* reads the files again, after watch_note */
    void *data;
    const char *paths[WATCH_PATHS]; /* files, or directories whose *.yaml count */
    uint32_t count;
    uint64_t known;     /* number of what was read */
    uint64_t candidate; /* another number, that has to last */
    uint64_t noticed_ms;
    uint64_t candidate_ms;
    bool pending;       /* there is a candidate */
    bool started;
    uv_timer_t poll;
    uv_timer_t settle;
    struct watch_place *places;
};

/* Adds a path, which stays the caller's; then what is there now counts as read. NULL is none. */
void watch_add(struct watch *watch, const char *path);

/* The files are about to be read: what they are now is no change. */
void watch_note(struct watch *watch);

/* loop, changed and data are set. */
void watch_start(struct watch *watch);
/* The loop has to run once more. */
void watch_stop(struct watch *watch);

#endif
