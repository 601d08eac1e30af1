#include "sluice_url.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct complaint {
    char *why;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static enum sluice_status
refuse(const struct complaint *to, const char *format, ...)
{
    if (to->why != NULL && to->size > 0) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(to->why, to->size, format, args);
        va_end(args);
    }
    return SLUICE_INVALID;
}

static enum sluice_status parse_unix(const char *text, const char *path, struct sluice_url *url,
                                     const struct complaint *to)
{
    if (strncmp(path, "//", 2) == 0) {
        path += 2;
    }
    size_t size = strlen(path);
    if (size == 0) {
        return refuse(to, "\"%s\" names no socket: expected unix:PATH", text);
    }
    if (size >= sizeof url->path) {
        return refuse(to, "\"%s\": a Unix socket's path has at most %zu bytes", text,
                      sizeof url->path - 1);
    }
    memcpy(url->path, path, size + 1);
    url->is_unix = true;
    return SLUICE_OK;
}

static bool parse_port(const char *text, struct sluice_url *url)
{
    size_t size = strlen(text);
    if (size == 0 || size >= sizeof url->port || strspn(text, "0123456789") != size) {
        return false;
    }
    long port = strtol(text, NULL, 10);
    if (port < 1 || port > 65535) {
        return false;
    }
    memcpy(url->port, text, size + 1);
    return true;
}

static enum sluice_status parse_host(const char *text, const char *host,
                                     const char *default_port, struct sluice_url *url,
                                     const struct complaint *to)
{
    bool bracket = host[0] == '[';
    size_t size = bracket ? strcspn(host, "]") : strcspn(host, ":");
    const char *rest = host + size;
    if (bracket) {
        if (*rest != ']') {
            return refuse(to, "\"%s\": the address has no closing bracket", text);
        }
        rest++;
        host++;
        size--;
    }
    if (size == 0 || size >= sizeof url->host || memchr(host, '/', size) != NULL) {
        return refuse(to, "\"%s\" names no host: expected native://HOST:PORT", text);
    }
    memcpy(url->host, host, size);
    url->host[size] = '\0';
    if (*rest == '\0') {
        memcpy(url->port, default_port, strlen(default_port) + 1);
        return SLUICE_OK;
    }
    if (*rest != ':' || !parse_port(rest + 1, url)) {
        return refuse(to, "\"%s\": expected a port from 1 to 65535 behind the host", text);
    }
    return SLUICE_OK;
}

static enum sluice_status refuse_scheme(const char *text, const struct complaint *to)
{
    static const char *const later[] = {"natives", "resps"};
    size_t size = strcspn(text, ":");
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        if (strlen(later[i]) == size && strncmp(text, later[i], size) == 0 &&
            strncmp(text + size, "://", 3) == 0) {
            (void)refuse(to, "%s is not in this build", later[i]);
            return SLUICE_UNSUPPORTED;
        }
    }
    return refuse(to, "\"%s\" is no URL of a daemon: expected native://HOST:PORT, unix:PATH, or "
                      "http, https, grpc, grpcs or resp for native", text);
}

enum sluice_status sluice_url_parse(const char *text, struct sluice_url *url, char *why,
                                    size_t why_size)
{
    static const struct {
        const char *prefix;
        enum sluice_url_scheme scheme;
        bool tls;
        const char *port;
    } schemes[] = {{"native://", SLUICE_URL_NATIVE, false, "7070"},
                   {"http://", SLUICE_URL_HTTP, false, "7080"},
                   {"https://", SLUICE_URL_HTTP, true, "7080"},
                   {"grpc://", SLUICE_URL_GRPC, false, "7081"},
                   {"grpcs://", SLUICE_URL_GRPC, true, "7081"},
                   {"resp://", SLUICE_URL_RESP, false, "7379"}};
    const struct complaint to = {why, why_size};
    *url = (struct sluice_url){0};
    if (strncmp(text, "unix:", 5) == 0) {
        return parse_unix(text, text + 5, url, &to);
    }
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t size = strlen(schemes[i].prefix);
        if (strncmp(text, schemes[i].prefix, size) == 0) {
            url->scheme = schemes[i].scheme;
            url->tls = schemes[i].tls;
            return parse_host(text, text + size, schemes[i].port, url, &to);
        }
    }
    return refuse_scheme(text, &to);
}
