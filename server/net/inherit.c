#include "net/inherit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define INHERIT_FIRST_FD 3

static bool inherit_number(const char *name, unsigned long *out)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (text == NULL || *text < '0' || *text > '9') {
        return false;
    }
    *out = strtoul(text, &end, 10);
    return *end == '\0';
}

enum status inherit_init(struct inherit *inherit)
{
    unsigned long pid;
    unsigned long count;
    *inherit = (struct inherit){.first = INHERIT_FIRST_FD};
    if (!inherit_number("LISTEN_PID", &pid) || pid != (unsigned long)getpid() ||
        !inherit_number("LISTEN_FDS", &count) || count == 0 || count > 1024) {
        return STATUS_OK;
    }
    const char *names = getenv("LISTEN_FDNAMES");
    inherit->names = names == NULL ? NULL : strdup(names);
    inherit->taken = calloc(count, sizeof(bool));
    if (inherit->taken == NULL) {
        return STATUS_NO_MEMORY;
    }
    inherit->count = (uint32_t)count;
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return STATUS_OK;
}

uint32_t inherit_deinit(struct inherit *inherit)
{
    uint32_t unused = 0;
    for (uint32_t i = 0; i < inherit->count; i++) {
        if (!inherit->taken[i]) {
            close(inherit->first + (int)i);
            unused++;
        }
    }
    free(inherit->taken);
    free(inherit->names);
    *inherit = (struct inherit){0};
    return unused;
}

bool inherit_local_address(int fd, struct address *out)
{
    *out = (struct address){.size = sizeof(out->bytes)};
    if (getsockname(fd, (struct sockaddr *)&out->bytes, &out->size) != 0) {
        return false;
    }
    out->is_unix = out->bytes.ss_family == AF_UNIX;
    return true;
}

/* Is the index-th of the names, which are split by colons, this one? */
static bool inherit_is_named(const struct inherit *inherit, uint32_t index, const char *name)
{
    const char *at = inherit->names;
    for (; at != NULL && index > 0; index--) {
        at = strchr(at, ':');
        at = at == NULL ? NULL : at + 1;
    }
    return at != NULL && strcspn(at, ":") == strlen(name) && strncmp(at, name, strlen(name)) == 0;
}

int inherit_take(struct inherit *inherit, const char *name, const struct address *address)
{
    struct address bound;
    uint32_t found = inherit->count;
    for (uint32_t i = 0; i < inherit->count && found == inherit->count; i++) {
        if (!inherit->taken[i] && inherit_local_address(inherit->first + (int)i, &bound) &&
            address_equal(&bound, address)) {
            found = i;
        }
    }
    for (uint32_t i = 0; i < inherit->count && found == inherit->count; i++) {
        if (!inherit->taken[i] && inherit_is_named(inherit, i, name)) {
            found = i;
        }
    }
    if (found == inherit->count) {
        return -1;
    }
    int fd = inherit->first + (int)found;
    int flags = fcntl(fd, F_GETFL);
    inherit->taken[found] = true;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    return fd;
}
