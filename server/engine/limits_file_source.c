#include "engine/limits_file_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMITS_FILE_SOURCE_READ_BYTES ((size_t)64 * 1024)

static enum status limits_file_source_fail(const char *name, const char *what, int error,
                                           struct limits_file_report *report)
{
    report->errors++;
    buf_printf(&report->text, "%s: %s: %s\n", name, what, strerror(error));
    return error == ENOENT                      ? STATUS_NOT_FOUND
           : error == EACCES || error == EPERM  ? STATUS_DENIED
           : error == ENOMEM                    ? STATUS_NO_MEMORY
                                                : STATUS_IO;
}

void limits_file_source_too_large(const char *name, struct limits_file_report *report)
{
    report->errors++;
    buf_printf(&report->text, "%s: larger than a limits file may be (%u MiB)\n", name,
               LIMITS_FILE_BYTES_MAX / (1024 * 1024));
}

/* Reads to the end rather than to st_size: a pipe has no size, and a file may be growing. */
static enum status limits_file_source_read_fd(int fd, const char *name, size_t room,
                                              struct limits_file_source *out,
                                              struct limits_file_report *report)
{
    struct buf bytes;
    buf_init(&bytes, 0);
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        uint8_t *at = buf_reserve(&bytes, LIMITS_FILE_SOURCE_READ_BYTES);
        ssize_t got = at == NULL ? -1 : read(fd, at, LIMITS_FILE_SOURCE_READ_BYTES);
        if (got < 0 && at != NULL && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            status = limits_file_source_fail(name, "cannot be read", at == NULL ? ENOMEM : errno,
                                             report);
        } else if (got == 0) {
            break;
        } else {
            buf_commit(&bytes, (size_t)got);
        }
        if (bytes.size > room) {
            limits_file_source_too_large(name, report);
            status = STATUS_INVALID;
        }
    }
    if (status != STATUS_OK) {
        buf_deinit(&bytes);
        return status;
    }
    out->text = buf_slice(&bytes);
    out->owned = bytes.data;
    return STATUS_OK;
}

/* Adds one file; takes `name` over. */
static enum status limits_file_source_add(struct limits_file_sources *sources, char *name,
                                          size_t *room, struct limits_file_report *report)
{
    uint32_t at = sources->count++;
    sources->names[at] = name;
    sources->items[at] = (struct limits_file_source){.owned = NULL};
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return limits_file_source_fail(name, "cannot be read", errno, report);
    }
    enum status status =
        limits_file_source_read_fd(fd, name, *room, &sources->items[at], report);
    *room -= sources->items[at].text.size;
    (void)close(fd);
    return status;
}

/* Room for `more` files behind those that are there. */
static enum status limits_file_source_allocate(struct limits_file_sources *sources, size_t more,
                                               const char *path,
                                               struct limits_file_report *report)
{
    size_t count = sources->count + more;
    struct limits_file_source *items = realloc(sources->items, count * sizeof(*items));
    sources->items = items == NULL ? sources->items : items;
    const char **names = realloc(sources->names, count * sizeof(*names));
    sources->names = names == NULL ? sources->names : names;
    if (items == NULL || names == NULL) {
        return limits_file_source_fail(path, "cannot be read", ENOMEM, report);
    }
    return STATUS_OK;
}

/* *.yaml as a shell would list it: no hidden ones, among them Kubernetes' ..data. */
static int limits_file_source_is_yaml(const struct dirent *entry)
{
    static const char suffix[] = ".yaml";
    size_t size = strlen(entry->d_name);
    return entry->d_name[0] != '.' && size >= sizeof(suffix) &&
           strcmp(entry->d_name + size - (sizeof(suffix) - 1), suffix) == 0;
}

static int limits_file_source_compare(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static char *limits_file_source_join(const char *directory, const char *name)
{
    size_t size = strlen(directory);
    const char *between = size > 0 && directory[size - 1] == '/' ? "" : "/";
    struct buf path;
    buf_init(&path, 0);
    buf_printf(&path, "%s%s%s", directory, between, name);
    buf_append_byte(&path, '\0');
    if (path.failed) {
        buf_deinit(&path);
    }
    return (char *)path.data;
}

static enum status limits_file_source_read_directory(const char *path,
                                                     struct limits_file_sources *out,
                                                     struct limits_file_report *report)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, limits_file_source_is_yaml, limits_file_source_compare);
    if (count < 0) {
        return limits_file_source_fail(path, "cannot be read", errno, report);
    }
    enum status status = limits_file_source_allocate(out, (size_t)count + 1, path, report);
    if (count == 0) {
        report->errors++;
        buf_printf(&report->text, "%s: no *.yaml file in this directory\n", path);
        status = STATUS_INVALID;
    }
    size_t room = LIMITS_FILE_BYTES_MAX;
    for (int i = 0; i < count; i++) {
        char *name = status == STATUS_OK ? limits_file_source_join(path, entries[i]->d_name) : NULL;
        if (name != NULL) {
            status = limits_file_source_add(out, name, &room, report);
        } else if (status == STATUS_OK) {
            status = limits_file_source_fail(path, "cannot be read", ENOMEM, report);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

static enum status limits_file_source_append(const char *path, struct limits_file_sources *out,
                                             struct limits_file_report *report)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        return limits_file_source_fail(path, "cannot be read", errno, report);
    }
    if (S_ISDIR(about.st_mode)) {
        return limits_file_source_read_directory(path, out, report);
    }
    size_t room = LIMITS_FILE_BYTES_MAX;
    enum status status = limits_file_source_allocate(out, 1, path, report);
    char *name = status == STATUS_OK ? strdup(path) : NULL;
    if (name == NULL) {
        return status == STATUS_OK ? limits_file_source_fail(path, "cannot be read", ENOMEM, report)
                                   : status;
    }
    return limits_file_source_add(out, name, &room, report);
}

enum status limits_file_source_read(const char *path, struct limits_file_sources *out,
                                    struct limits_file_report *report)
{
    *out = (struct limits_file_sources){.count = 0};
    enum status status = limits_file_source_append(path, out, report);
    out->own = out->count;
    return status;
}

enum status limits_file_source_add_envoy(const char *path, struct limits_file_sources *sources,
                                         struct limits_file_report *report)
{
    return limits_file_source_append(path, sources, report);
}

void limits_file_source_deinit(struct limits_file_sources *sources)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        free(sources->items[i].owned);
        free((char *)(uintptr_t)sources->names[i]);
    }
    free(sources->items);
    free(sources->names);
    *sources = (struct limits_file_sources){.count = 0};
}
