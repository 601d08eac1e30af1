/* Shows a token on a new connection and waits for what the daemon says to it. */
#ifndef SLUICE_LOGIN_H
#define SLUICE_LOGIN_H

#include "sluice.h"

struct sluice_login {
    int fd;
    bool is_resp; /* else native */
    const char *token;
    int64_t deadline_ns;
};

/* Else than SLUICE_OK: `message` has one sentence. */
enum sluice_status sluice_login(const struct sluice_login *login, char *message, size_t size);

#endif
