/* Where a daemon is and what it is asked in: native://HOST:PORT, native://[::1]:PORT, unix:PATH,
 * unix://PATH (native, too); http:// https:// grpc:// grpcs:// resp:// likewise. */
#ifndef SLUICE_URL_H
#define SLUICE_URL_H

#include "sluice.h"

#define SLUICE_URL_HOST_BYTES 256
#define SLUICE_URL_PATH_BYTES 108 /* a Unix socket's path, NUL included */

enum sluice_url_scheme {
    SLUICE_URL_NATIVE,
    SLUICE_URL_HTTP,
    SLUICE_URL_GRPC,
    SLUICE_URL_RESP
};

struct sluice_url {
    enum sluice_url_scheme scheme;
    bool tls;
    bool is_unix;
    char host[SLUICE_URL_HOST_BYTES]; /* without brackets */
    char port[6];
    char path[SLUICE_URL_PATH_BYTES];
};

/* On SLUICE_INVALID or SLUICE_UNSUPPORTED `why` (may be NULL) holds one sentence. */
enum sluice_status sluice_url_parse(const char *text, struct sluice_url *url, char *why,
                                    size_t why_size);

#endif
