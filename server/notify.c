#include "notify.h"

#include "base/clock.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void notify_send(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t size = path == NULL ? 0 : strlen(path);
    if (size < 2 || size >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    memcpy(to.sun_path, path, size);
    if (path[0] == '@') {
        to.sun_path[0] = '\0'; /* a name that is no file */
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
        close(fd);
    }
}

void notify_ready(void)
{
    notify_send("READY=1");
}

void notify_reloading(void)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
                   (long long)(clock_ticks_ns() / 1000));
    notify_send(text);
}

void notify_stopping(void)
{
    notify_send("STOPPING=1");
}
