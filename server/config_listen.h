/* The values of --listen: which protocols there are, and where they listen by default. */
#ifndef CONFIG_LISTEN_H
#define CONFIG_LISTEN_H

#include "config.h"

/* Takes "PROTOCOL=ADDRESS". False: *why says what was expected. */
bool config_listen_add(struct config *config, const char *text, struct buf *why);

/* Where no --listen is given. */
bool config_listen_defaults(struct config *config, struct buf *why);

#endif
