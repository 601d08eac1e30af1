/* The bytes of a limits file, or of all files of a directory. */
#ifndef ENGINE_LIMITS_FILE_SOURCE_H
#define ENGINE_LIMITS_FILE_SOURCE_H

#include "engine/limits_file.h"

struct limits_file_source {
    struct slice text;
    uint8_t *owned; /* text.data, to be freed; NULL: the caller's */
};

struct limits_file_sources {
    struct limits_file_source *items;
    const char **names; /* as messages give them */
    uint32_t count;
    uint32_t own; /* of them the limits file's; those behind are Envoy's */
};

/* A failure is one line in the report. Deinit in any case. */
STATUS_CHECKED enum status limits_file_source_read(const char *path,
                                                   struct limits_file_sources *out,
                                                   struct limits_file_report *report);
/* Adds the files of `path` behind those that are there. */
STATUS_CHECKED enum status limits_file_source_add_envoy(const char *path,
                                                        struct limits_file_sources *sources,
                                                        struct limits_file_report *report);
void limits_file_source_deinit(struct limits_file_sources *sources);

/* Says that a file passes LIMITS_FILE_BYTES_MAX. */
void limits_file_source_too_large(const char *name, struct limits_file_report *report);

#endif
