/* What keeps strangers out: the certificates and the file of tokens, and their being read again
 * when they change or at SIGHUP. A file that cannot be taken leaves what was in force. */
#ifndef SECRETS_H
#define SECRETS_H

#include "config.h"
#include "watch.h"
#include "wire/access.h"

struct secrets {
    const struct config *config;
    struct tls *tls;       /* NULL: no TLS */
    struct access *access; /* NULL: no tokens */
    struct watch watch;
};

/* Reads the files. On failure one line is on stderr. */
STATUS_CHECKED enum status secrets_open(struct secrets *secrets, const struct config *config);
/* After the last connection has gone. */
void secrets_close(struct secrets *secrets);

/* Begins to watch the files; secrets_stop ends it, and the loop has to run once more. */
void secrets_start(struct secrets *secrets, uv_loop_t *loop);
void secrets_stop(struct secrets *secrets);

void secrets_read_again(struct secrets *secrets);

/* Logs what whoever listens to other machines ought to know. */
void secrets_warn(const struct secrets *secrets);

#endif
