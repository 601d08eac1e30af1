/* Typed readers for the values of a limits file. Each says what was wrong, at the value. */
#ifndef ENGINE_LIMITS_FILE_READ_H
#define ENGINE_LIMITS_FILE_READ_H

#include "engine/limits_file_build.h"

#define LIMITS_FILE_READ_FIELDS 16

/* A mapping taken apart: items[i] is the entry of field i of the table, or NULL. */
struct limits_file_fields {
    const struct yaml_tree_item *items[LIMITS_FILE_READ_FIELDS];
    bool excused[LIMITS_FILE_READ_FIELDS]; /* its lack needs no word of its own */
};

/* `names` is NULL-terminated. Unknown and repeated fields are errors. False: no mapping (said so,
 * as a `what`). */
bool limits_file_read_fields(struct limits_file_build *build, const struct yaml_tree_node *node,
                             const char *what, const char *const *names,
                             struct limits_file_fields *out);

/* The text of a scalar, or false and "expected <what>". */
bool limits_file_read_text(struct limits_file_build *build, const struct yaml_tree_node *node,
                           const char *field, const char *what, struct slice *out);
bool limits_file_read_list(struct limits_file_build *build, const struct yaml_tree_node *node,
                           const char *field, const char *what);
bool limits_file_read_number(struct limits_file_build *build, const struct yaml_tree_node *node,
                             const char *field, uint64_t least, uint64_t most, uint64_t *out);
/* A window or a lease. */
bool limits_file_read_duration(struct limits_file_build *build, const struct yaml_tree_node *node,
                               const char *field, int64_t *out);
bool limits_file_read_bool(struct limits_file_build *build, const struct yaml_tree_node *node,
                           const char *field, bool *out);
bool limits_file_read_time(struct limits_file_build *build, const struct yaml_tree_node *node,
                           const char *field, int64_t *out);
/* The name of a request attribute; `key` and `route` are none. */
bool limits_file_read_attribute(struct limits_file_build *build, const struct yaml_tree_node *node,
                                const char *field, struct slice *out);
/* key, route or an attribute. */
bool limits_file_read_source(struct limits_file_build *build, const struct yaml_tree_node *node,
                             const char *field, struct policy_part *out);

/* A copy that lives as long as the set; {NULL, 0} without memory (and build->no_memory). */
struct slice limits_file_read_keep(struct limits_file_build *build, struct slice text);

#endif
