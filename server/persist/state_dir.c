#include "persist/state_dir.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MODE 0600
#define DIRECTORY_MODE 0700

static const char *const kind_prefix[] = {[FORMAT_BASE] = "base-", [FORMAT_JOURNAL] = "journal-"};

void state_dir_name(enum format_kind kind, uint64_t number, char out[STATE_DIR_NAME_BYTES])
{
    (void)snprintf(out, STATE_DIR_NAME_BYTES, "%s%016llu.sluice", kind_prefix[kind],
                   (unsigned long long)number);
}

/* The other way round; false: no such name. */
static bool parse_name(const char *name, enum format_kind *kind, uint64_t *number)
{
    char again[STATE_DIR_NAME_BYTES];
    for (int i = FORMAT_BASE; i <= FORMAT_JOURNAL; i++) {
        size_t prefix = strlen(kind_prefix[i]);
        if (strncmp(name, kind_prefix[i], prefix) == 0) {
            *kind = (enum format_kind)i;
            *number = strtoull(name + prefix, NULL, 10);
            state_dir_name(*kind, *number, again);
            return strcmp(again, name) == 0;
        }
    }
    return false;
}

/* ---- the directory and its locks ---- */

static bool note_identity(struct state_dir *dir)
{
    struct stat about;
    if (fstat(dir->fd, &about) != 0) {
        return false;
    }
    dir->device = about.st_dev;
    dir->inode = about.st_ino;
    return true;
}

static int open_lock(const struct state_dir *dir, const char *name)
{
    return openat(dir->fd, name, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
}

static bool try_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

void state_dir_close(struct state_dir *dir)
{
    close_fd(&dir->next_fd);
    close_fd(&dir->lock_fd);
    close_fd(&dir->fd);
}

enum status state_dir_look(struct state_dir *dir, const char *path, struct buf *why)
{
    *dir = (struct state_dir){.path = path, .fd = -1, .lock_fd = -1, .next_fd = -1};
    dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir->fd < 0 || !note_identity(dir)) {
        buf_append_text(why, strerror(errno));
        state_dir_close(dir);
        return STATUS_IO;
    }
    return STATUS_OK;
}

enum status state_dir_open(struct state_dir *dir, const char *path, bool *waiting,
                           struct buf *why)
{
    *waiting = false;
    *dir = (struct state_dir){.path = path, .fd = -1, .lock_fd = -1, .next_fd = -1};
    if (mkdir(path, DIRECTORY_MODE) != 0 && errno != EEXIST) {
        buf_printf(why, "cannot be made: %s", strerror(errno));
        return STATUS_IO;
    }
    enum status status = state_dir_look(dir, path, why);
    if (status != STATUS_OK) {
        return status;
    }
    dir->lock_fd = open_lock(dir, "lock");
    dir->next_fd = open_lock(dir, "next");
    if (dir->lock_fd < 0 || dir->next_fd < 0) {
        buf_printf(why, "cannot be written: %s", strerror(errno));
        state_dir_close(dir);
        return STATUS_IO;
    }
    if (try_lock(dir->lock_fd)) {
        return STATUS_OK;
    }
    if (!try_lock(dir->next_fd)) {
        buf_append_text(why, "a daemon holds it, and another already waits to take over");
        state_dir_close(dir);
        return STATUS_UNAVAILABLE;
    }
    *waiting = true;
    return STATUS_OK;
}

bool state_dir_take(struct state_dir *dir)
{
    if (!try_lock(dir->lock_fd)) {
        return false;
    }
    (void)flock(dir->next_fd, LOCK_UN);
    return true;
}

bool state_dir_has_successor(const struct state_dir *dir)
{
    bool held = !try_lock(dir->next_fd);
    if (!held) {
        (void)flock(dir->next_fd, LOCK_UN);
    }
    return held;
}

enum state_dir_where state_dir_look_where(const struct state_dir *dir)
{
    struct stat about;
    if (stat(dir->path, &about) != 0) {
        return STATE_DIR_GONE;
    }
    return about.st_dev == dir->device && about.st_ino == dir->inode ? STATE_DIR_THERE
                                                                     : STATE_DIR_REPLACED;
}

/* ---- listing ---- */

static int compare_numbers(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return (*a > *b) - (*a < *b);
}

static bool add_journal(struct state_dir_list *list, uint64_t number)
{
    size_t bytes = ((size_t)list->journal_count + 1) * sizeof(*list->journals);
    uint64_t *grown = realloc(list->journals, bytes);
    if (grown == NULL) {
        return false;
    }
    list->journals = grown;
    list->journals[list->journal_count] = number;
    list->journal_count++;
    return true;
}

static bool add_name(struct state_dir_list *list, const char *name)
{
    enum format_kind kind;
    uint64_t number;
    if (strcmp(name, STATE_DIR_SEAL) == 0) {
        list->sealed = list->any = true;
        return true;
    }
    if (!parse_name(name, &kind, &number)) {
        return true;
    }
    list->any = true;
    if (kind == FORMAT_JOURNAL) {
        return add_journal(list, number);
    }
    list->base = number > list->base ? number : list->base;
    return true;
}

/* A stream of its own, so that the place in dir->fd does not matter. */
static DIR *open_stream(const struct state_dir *dir)
{
    int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (stream == NULL && fd >= 0) {
        close(fd);
    }
    return stream;
}

enum status state_dir_list(const struct state_dir *dir, struct state_dir_list *out)
{
    *out = (struct state_dir_list){.base = 0};
    DIR *stream = open_stream(dir);
    if (stream == NULL) {
        return STATUS_IO;
    }
    struct dirent *entry;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (entry = readdir(stream)) != NULL) {
        status = add_name(out, entry->d_name) ? STATUS_OK : STATUS_NO_MEMORY;
    }
    closedir(stream);
    if (out->journal_count > 0) {
        qsort(out->journals, out->journal_count, sizeof(*out->journals), compare_numbers);
    }
    uint32_t old = 0;
    while (old < out->journal_count && out->journals[old] < out->base) {
        old++;
    }
    out->journal_count -= old;
    if (old > 0) {
        memmove(out->journals, out->journals + old, out->journal_count * sizeof(*out->journals));
    }
    return status;
}

void state_dir_list_deinit(struct state_dir_list *list)
{
    free(list->journals);
    list->journals = NULL;
}

/* ---- another directory ---- */

bool state_dir_reopen(struct state_dir *dir)
{
    bool waiting = false;
    struct state_dir other;
    struct state_dir_list list = {.any = false};
    struct buf why;
    buf_init(&why, 0);
    enum status status = state_dir_open(&other, dir->path, &waiting, &why);
    int number = status == STATUS_OK && waiting ? EBUSY : errno;
    buf_deinit(&why);
    if (status == STATUS_OK && !waiting) {
        status = state_dir_list(&other, &list);
        number = list.any ? EEXIST : errno;
        state_dir_list_deinit(&list);
    }
    if (status != STATUS_OK || waiting || list.any) {
        state_dir_close(&other);
        errno = number;
        return false;
    }
    state_dir_close(dir);
    *dir = other;
    return true;
}

/* ---- files ---- */

static bool read_all(int fd, uint8_t *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, bytes + done, size - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            errno = got == 0 ? EIO : errno;
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

enum status state_dir_read(const struct state_dir *dir, const char *name, uint8_t **bytes,
                           size_t *size)
{
    struct stat about;
    *bytes = NULL;
    int fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO;
    }
    enum status status = fstat(fd, &about) == 0 ? STATUS_OK : STATUS_IO;
    if (status == STATUS_OK) {
        *size = (size_t)about.st_size;
        *bytes = malloc(*size + 1);
        status = *bytes == NULL ? STATUS_NO_MEMORY : STATUS_OK;
    }
    if (status == STATUS_OK && !read_all(fd, *bytes, *size)) {
        status = STATUS_IO;
    }
    int number = errno;
    if (status != STATUS_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    close(fd);
    errno = number;
    return status;
}

static bool write_all(int fd, struct slice bytes)
{
    while (bytes.size > 0) {
        ssize_t put = write(fd, bytes.data, bytes.size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        bytes = slice_make(bytes.data + put, bytes.size - (size_t)put);
    }
    return true;
}

bool state_dir_write(const struct state_dir *dir, const char *name, struct slice bytes)
{
    char aside[STATE_DIR_NAME_BYTES + 8];
    (void)snprintf(aside, sizeof(aside), "%s.tmp", name);
    int fd = openat(dir->fd, aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    if (fd < 0) {
        return false;
    }
    bool good = write_all(fd, bytes) && fsync(fd) == 0;
    int number = errno;
    close(fd);
    if (good && renameat(dir->fd, aside, dir->fd, name) == 0) {
        return state_dir_sync(dir);
    }
    number = good ? errno : number;
    (void)unlinkat(dir->fd, aside, 0);
    errno = number;
    return false;
}

bool state_dir_remove(const struct state_dir *dir, const char *name)
{
    return (unlinkat(dir->fd, name, 0) == 0 || errno == ENOENT) && state_dir_sync(dir);
}

bool state_dir_sync(const struct state_dir *dir)
{
    return fsync(dir->fd) == 0;
}

static bool is_left_over(const char *name, uint64_t base)
{
    enum format_kind kind;
    uint64_t number;
    size_t size = strlen(name);
    if (size > 4 && strcmp(name + size - 4, ".tmp") == 0) {
        return strncmp(name, "base-", 5) == 0 || strncmp(name, "journal-", 8) == 0 ||
               strcmp(name, STATE_DIR_SEAL ".tmp") == 0;
    }
    return parse_name(name, &kind, &number) && number < base;
}

void state_dir_clean(const struct state_dir *dir, uint64_t number)
{
    DIR *stream = open_stream(dir);
    struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        if (is_left_over(entry->d_name, number)) {
            (void)unlinkat(dir->fd, entry->d_name, 0);
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
}

bool state_dir_move_aside(const struct state_dir *dir, int64_t now_ns)
{
    enum format_kind kind;
    uint64_t number;
    bool good = true;
    char aside[300];
    DIR *stream = open_stream(dir);
    struct dirent *entry;
    while (good && stream != NULL && (entry = readdir(stream)) != NULL) {
        const char *name = entry->d_name;
        if (parse_name(name, &kind, &number) || strcmp(name, STATE_DIR_SEAL) == 0) {
            (void)snprintf(aside, sizeof(aside), "%.255s.bad-%lld", name,
                           (long long)(now_ns / CLOCK_NS_PER_S));
            good = renameat(dir->fd, name, dir->fd, aside) == 0;
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
    return stream != NULL && good && state_dir_sync(dir);
}
