#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>

static enum status address_parse_unix(const char *path, struct address *out, const char **why)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&out->bytes;
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof(un->sun_path)) {
        *why = "a socket's path has 1 to 107 bytes";
        return STATUS_INVALID;
    }
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, size + 1);
    out->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
    out->is_unix = true;
    return STATUS_OK;
}

/* Digits, 0 to 65535. */
static bool address_is_port(const char *text)
{
    size_t size = strspn(text, "0123456789");
    if (size == 0 || size > 5 || text[size] != '\0') {
        return false;
    }
    unsigned long port = 0;
    for (size_t i = 0; i < size; i++) {
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    return port <= UINT16_MAX;
}

/* Splits HOST:PORT; brackets belong around an IPv6 host. */
static bool address_split(const char *text, char *host, size_t host_size, const char **port)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || !address_is_port(colon + 1)) {
        return false;
    }
    size_t size = (size_t)(colon - text);
    if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
        text++;
        size -= 2;
    } else if (memchr(text, ':', size) != NULL) {
        return false;
    }
    if (size == 0 || size >= host_size) {
        return false;
    }
    memcpy(host, text, size);
    host[size] = '\0';
    *port = colon + 1;
    return true;
}

enum status address_parse(const char *text, struct address *out, const char **why)
{
    char host[256];
    const char *port;
    struct addrinfo *found = NULL;
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    *out = (struct address){0};
    if (strncmp(text, "unix:", 5) == 0) {
        return address_parse_unix(text + 5, out, why);
    }
    if (!address_split(text, host, sizeof(host), &port)) {
        *why = "expected HOST:PORT, [IPV6]:PORT or unix:PATH";
        return STATUS_INVALID;
    }
    if (getaddrinfo(host, port, &hints, &found) != 0 || found == NULL) {
        *why = "the host is not known";
        return STATUS_INVALID;
    }
    memcpy(&out->bytes, found->ai_addr, found->ai_addrlen);
    out->size = found->ai_addrlen;
    freeaddrinfo(found);
    return STATUS_OK;
}

void address_append(const struct address *address, struct buf *out)
{
    char text[INET6_ADDRSTRLEN];
    if (address->bytes.ss_family == AF_UNIX) {
        const struct sockaddr_un *un = (const struct sockaddr_un *)&address->bytes;
        size_t most = address->size > offsetof(struct sockaddr_un, sun_path)
                          ? address->size - offsetof(struct sockaddr_un, sun_path)
                          : 0;
        buf_printf(out, "unix:%.*s", (int)strnlen(un->sun_path, most), un->sun_path);
    } else if (address->bytes.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->bytes;
        (void)inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
        buf_printf(out, "[%s]:%u", text, ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&address->bytes;
        (void)inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
        buf_printf(out, "%s:%u", text, ntohs(in->sin_port));
    }
}

bool address_equal(const struct address *a, const struct address *b)
{
    struct buf one;
    struct buf other;
    buf_init(&one, 0);
    buf_init(&other, 0);
    address_append(a, &one);
    address_append(b, &other);
    bool equal = !one.failed && !other.failed && slice_equal(buf_slice(&one), buf_slice(&other));
    buf_deinit(&one);
    buf_deinit(&other);
    return equal;
}

bool address_is_local(const struct address *address)
{
    if (address->bytes.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&address->bytes;
        return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (address->bytes.ss_family == AF_INET6) {
        const struct in6_addr *in6 = &((const struct sockaddr_in6 *)&address->bytes)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(in6) ||
               (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == IN_LOOPBACKNET);
    }
    return address->bytes.ss_family == AF_UNIX;
}
