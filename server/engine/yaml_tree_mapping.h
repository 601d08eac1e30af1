/* What a mapping becomes once its end has come: repeated keys marked, merge keys resolved. */
#ifndef ENGINE_YAML_TREE_MAPPING_H
#define ENGINE_YAML_TREE_MAPPING_H

#include "engine/yaml_tree.h"

/* What is wrong with a merge key. */
struct yaml_tree_mapping_fault {
    const struct yaml_tree_node *at; /* NULL: nothing */
    const char *text;
};

/* Marks later entries of a repeated key with the line of the first, and puts what `<<` names
 * behind the mapping's own entries: own keys win, then the earlier mapping's. */
STATUS_CHECKED enum status yaml_tree_mapping_close(struct yaml_tree *tree,
                                                   struct yaml_tree_node *mapping,
                                                   struct yaml_tree_mapping_fault *fault);

#endif
