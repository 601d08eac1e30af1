/* Where a daemon is: native://HOST:PORT, native://[::1]:PORT, unix:PATH, unix://PATH. */
#ifndef SLUICE_URL_H
#define SLUICE_URL_H

#include "sluice.h"

#define SLUICE_URL_HOST_BYTES 256
#define SLUICE_URL_PATH_BYTES 108 /* a Unix socket's path, NUL included */
#define SLUICE_URL_PORT_DEFAULT "7070"

struct sluice_url {
    bool is_unix;
    char host[SLUICE_URL_HOST_BYTES]; /* without brackets */
    char port[6];
    char path[SLUICE_URL_PATH_BYTES];
};

/* On SLUICE_INVALID or SLUICE_UNSUPPORTED `why` (may be NULL) holds one sentence. */
enum sluice_status sluice_url_parse(const char *text, struct sluice_url *url, char *why,
                                    size_t why_size);

#endif
