/* Typed readers for the values of an Envoy file, as lenient as the Go program's YAML library where
 * that harms nobody: an empty value is an absent one, and yes, on and True are true. */
#ifndef ENGINE_ENVOY_FILE_FIELDS_H
#define ENGINE_ENVOY_FILE_FIELDS_H

#include "engine/limits_file_read.h"

/* `names` is NULL-terminated. A field that belongs elsewhere is a warning, an unknown or repeated
 * one an error, and one without a value absent. False: no mapping (said so, as a `what`). */
bool envoy_file_fields_read(struct limits_file_build *build, const struct yaml_tree_node *node,
                            const char *what, const char *const *names,
                            struct limits_file_fields *out);

/* Text that stays as long as the set; absent: empty. False: it is none (said so). */
bool envoy_file_fields_text(struct limits_file_build *build, const struct yaml_tree_item *item,
                            const char *field, struct slice *out);

/* Absent: false. An error is said, and reads as false. */
bool envoy_file_fields_flag(struct limits_file_build *build, const struct yaml_tree_item *item,
                            const char *field);

#endif
