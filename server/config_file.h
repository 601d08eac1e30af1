/* The file of --config: a YAML mapping of option names to values; a list for an option that may be
 * repeated. */
#ifndef CONFIG_FILE_H
#define CONFIG_FILE_H

#include "base/arena.h"
#include "base/buf.h"

/* One value, in file order. */
struct config_file_value {
    struct config_file_value *next;
    const char *name; /* of the option */
    const char *text;
    const char *where; /* "sluiced.yaml:3" */
};

/* Reads the values into the arena. On failure *why holds one sentence with the place in it. */
STATUS_CHECKED enum status config_file_read(const char *path, struct arena *arena,
                                            struct config_file_value **out, struct buf *why);

#endif
