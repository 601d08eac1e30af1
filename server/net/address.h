/* Where a listener listens, as people write it: HOST:PORT, [::1]:PORT, unix:PATH. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "base/buf.h"

#include <sys/socket.h>
#include <sys/un.h>

struct address {
    struct sockaddr_storage bytes;
    socklen_t size;
    bool is_unix;
};

/* STATUS_INVALID: *why is one static phrase. */
STATUS_CHECKED enum status address_parse(const char *text, struct address *out,
                                         const char **why);

/* "127.0.0.1:7070", "[::1]:7070", "unix:/run/sluice.sock"; what address_parse takes. */
void address_append(const struct address *address, struct buf *out);

bool address_equal(const struct address *a, const struct address *b);

/* Loopback or a Unix socket. */
bool address_is_local(const struct address *address);

#endif
