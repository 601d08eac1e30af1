#include "net/listener_bind.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LISTENER_BACKLOG 4096
#define ASIDE ".next"
#define BEFORE ".before"

enum status listener_bind_fail(const char **why, int number)
{
    switch (number) {
    case EADDRINUSE:
        *why = "port in use";
        return STATUS_UNAVAILABLE;
    case EADDRNOTAVAIL:
        *why = "not an address of this machine";
        return STATUS_IO;
    default:
        *why = strerror(number);
        return STATUS_IO;
    }
}

static int make_socket(const struct address *address, bool shared)
{
    int fd = socket(address->bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd >= 0 && !address->is_unix) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (shared && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0) {
            close(fd);
            return -1;
        }
    }
    return fd;
}

static int bind_fd(int fd, const struct address *address)
{
    return bind(fd, (const struct sockaddr *)&address->bytes, address->size);
}

static const char *path_of(const struct address *address)
{
    return ((const struct sockaddr_un *)&address->bytes)->sun_path;
}

/* A socket file that nobody listens on is a left-over; anything else at the path is not ours. */
static bool remove_stale(const struct address *address, const char **why)
{
    struct stat about;
    if (lstat(path_of(address), &about) != 0 || !S_ISSOCK(about.st_mode)) {
        *why = "the path exists and is not a socket";
        return false;
    }
    int probe = make_socket(address, false);
    bool stale = probe >= 0 &&
                 connect(probe, (const struct sockaddr *)&address->bytes, address->size) != 0 &&
                 errno == ECONNREFUSED;
    if (probe >= 0) {
        close(probe);
    }
    if (!stale) {
        *why = "socket in use";
        return false;
    }
    return unlink(path_of(address)) == 0;
}

/* ---- Unix sockets ---- */

static enum status note_file(const char *path, struct listener_bind_file *file, const char **why)
{
    struct stat about;
    /* Owner and group: who may ask is a matter of the file's group. */
    if (chmod(path, 0660) != 0 || stat(path, &about) != 0) {
        return listener_bind_fail(why, errno);
    }
    *file = (struct listener_bind_file){
        .owned = true, .device = about.st_dev, .inode = about.st_ino};
    return STATUS_OK;
}

/* PATH with something behind it; false: too long. */
static bool name_beside(const struct address *address, const char *more, struct address *out)
{
    struct sockaddr_un *name = (struct sockaddr_un *)&out->bytes;
    *out = *address;
    int size = snprintf(name->sun_path, sizeof(name->sun_path), "%s%s", path_of(address), more);
    out->size = (socklen_t)sizeof(*name);
    return size > 0 && (size_t)size < sizeof(name->sun_path);
}

/* Bound and listening under another name first, so that at each moment somebody answers. */
static enum status bind_in_place(const struct address *address, int fd,
                                 struct listener_bind_file *file, const char **why)
{
    struct address aside;
    struct address before;
    if (!name_beside(address, ASIDE, &aside) || !name_beside(address, BEFORE, &before)) {
        *why = "path too long for a hand-over";
        return STATUS_TOO_LARGE;
    }
    (void)unlink(path_of(&aside));
    (void)unlink(path_of(&before));
    if (bind_fd(fd, &aside) != 0 || listen(fd, LISTENER_BACKLOG) != 0) {
        return listener_bind_fail(why, errno);
    }
    enum status status = note_file(path_of(&aside), file, why);
    if (status == STATUS_OK) {
        file->displaced = link(path_of(address), path_of(&before)) == 0;
    }
    if (status == STATUS_OK && rename(path_of(&aside), path_of(address)) != 0) {
        status = listener_bind_fail(why, errno);
    }
    if (status != STATUS_OK) {
        (void)unlink(path_of(&aside));
        (void)unlink(path_of(&before));
        *file = (struct listener_bind_file){.owned = false};
    }
    return status;
}

static enum status bind_unix(const struct address *address, int fd,
                             struct listener_bind_file *file, const char **why)
{
    int failed = bind_fd(fd, address);
    if (failed != 0 && errno == EADDRINUSE) {
        if (!remove_stale(address, why)) {
            return STATUS_UNAVAILABLE;
        }
        failed = bind_fd(fd, address);
    }
    if (failed != 0 || listen(fd, LISTENER_BACKLOG) != 0) {
        return listener_bind_fail(why, errno);
    }
    return note_file(path_of(address), file, why);
}

void listener_bind_settle(const struct address *address, struct listener_bind_file *file)
{
    struct address before;
    if (file->displaced && name_beside(address, BEFORE, &before)) {
        (void)unlink(path_of(&before));
    }
    file->displaced = false;
}

void listener_bind_unlink(const struct address *address, struct listener_bind_file *file)
{
    struct stat about;
    struct address before;
    bool ours = file->owned && stat(path_of(address), &about) == 0 &&
                about.st_dev == file->device && about.st_ino == file->inode;
    if (ours && file->displaced && name_beside(address, BEFORE, &before)) {
        (void)rename(path_of(&before), path_of(address));
    } else if (ours) {
        (void)unlink(path_of(address));
    }
    *file = (struct listener_bind_file){.owned = false};
}

/* ---- ports ---- */

/* A socket that shares its port could share it with a stranger, so it is asked for alone first. */
static bool is_free(const struct address *address, const char **why)
{
    int fd = make_socket(address, false);
    bool is_bound = fd >= 0 && bind_fd(fd, address) == 0;
    if (!is_bound) {
        (void)listener_bind_fail(why, errno);
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_bound;
}

static enum status bind_port(const struct address *address, enum listener_manner manner, int fd,
                             const char **why)
{
    if (manner == LISTENER_FIRST && !is_free(address, why)) {
        return STATUS_UNAVAILABLE;
    }
    return bind_fd(fd, address) == 0 && listen(fd, LISTENER_BACKLOG) == 0
               ? STATUS_OK
               : listener_bind_fail(why, errno);
}

enum status listener_bind_open(const struct address *address, enum listener_manner manner, int *fd,
                               struct listener_bind_file *file, const char **why)
{
    enum status status;
    *fd = make_socket(address, manner != LISTENER_ALONE);
    if (*fd < 0) {
        return listener_bind_fail(why, errno);
    }
    if (!address->is_unix) {
        status = bind_port(address, manner, *fd, why);
    } else if (manner == LISTENER_BESIDE) {
        status = bind_in_place(address, *fd, file, why);
    } else {
        status = bind_unix(address, *fd, file, why);
    }
    if (status != STATUS_OK) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

/* Sockets that share a port are numbered in the order in which they were bound. A number that is
 * not there leaves the choice to the kernel, so the program does no harm once this socket is
 * gone. */
void listener_bind_turn_away(int fd)
{
    struct sock_filter to_the_second = {.code = BPF_RET | BPF_K, .k = 1};
    struct sock_fprog program = {.len = 1, .filter = &to_the_second};
    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program));
}
