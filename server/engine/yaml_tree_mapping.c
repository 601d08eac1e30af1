#include "engine/yaml_tree_mapping.h"

#include "engine/name_index.h"

/* Up to this many entries are compared with each other; more get an index. */
#define YAML_TREE_MAPPING_SMALL 8u

static bool yaml_tree_mapping_is_merge(const struct yaml_tree_item *item)
{
    return item->key->kind == YAML_TREE_SCALAR && item->key->plain &&
           slice_equal_text(item->key->text, "<<");
}

static void yaml_tree_mapping_mark_small(struct yaml_tree_node *mapping)
{
    for (struct yaml_tree_item *item = mapping->first; item != NULL; item = item->next) {
        if (item->key->kind != YAML_TREE_SCALAR) {
            continue;
        }
        for (struct yaml_tree_item *before = mapping->first; before != item;
             before = before->next) {
            if (before->key->kind == YAML_TREE_SCALAR &&
                slice_equal(before->key->text, item->key->text)) {
                item->first_line = before->key->line;
                break;
            }
        }
    }
}

static enum status yaml_tree_mapping_mark(struct yaml_tree_node *mapping,
                                          struct name_index *index)
{
    for (struct yaml_tree_item *item = mapping->first; item != NULL; item = item->next) {
        if (item->key->kind != YAML_TREE_SCALAR) {
            continue;
        }
        uint32_t before = NAME_INDEX_NONE;
        enum status status =
            name_index_add(index, 0, item->key->text, item->key->line, &before);
        if (status != STATUS_OK) {
            return status;
        }
        item->first_line = before == NAME_INDEX_NONE ? 0 : before;
    }
    return STATUS_OK;
}

static void yaml_tree_mapping_append(struct yaml_tree_node *mapping, struct yaml_tree_item *item)
{
    item->next = NULL;
    if (mapping->last == NULL) {
        mapping->first = item;
    } else {
        mapping->last->next = item;
    }
    mapping->last = item;
    mapping->count++;
}

static enum status yaml_tree_mapping_merge_one(struct yaml_tree *tree,
                                               struct yaml_tree_node *mapping,
                                               const struct yaml_tree_node *from,
                                               struct name_index *index)
{
    for (const struct yaml_tree_item *item = from->first; item != NULL; item = item->next) {
        uint32_t before = NAME_INDEX_NONE;
        if (item->key->kind == YAML_TREE_SCALAR) {
            enum status status =
                name_index_add(index, 0, item->key->text, item->key->line, &before);
            if (status != STATUS_OK) {
                return status;
            }
        }
        if (before != NAME_INDEX_NONE) {
            continue;
        }
        struct yaml_tree_item *copy = arena_alloc(&tree->arena, sizeof(*copy));
        if (copy == NULL) {
            return STATUS_NO_MEMORY;
        }
        *copy = (struct yaml_tree_item){.key = item->key, .value = item->value};
        yaml_tree_mapping_append(mapping, copy);
    }
    return STATUS_OK;
}

static enum status yaml_tree_mapping_merge(struct yaml_tree *tree,
                                           struct yaml_tree_node *mapping,
                                           const struct yaml_tree_node *value,
                                           struct name_index *index,
                                           struct yaml_tree_mapping_fault *fault)
{
    static const char expected[] = "<<: expected a mapping or a list of mappings to merge";
    if (value->kind == YAML_TREE_MAPPING) {
        return yaml_tree_mapping_merge_one(tree, mapping, value, index);
    }
    if (value->kind == YAML_TREE_SCALAR) {
        *fault = (struct yaml_tree_mapping_fault){.at = value, .text = expected};
        return STATUS_OK;
    }
    for (const struct yaml_tree_item *item = value->first; item != NULL; item = item->next) {
        if (item->value->kind != YAML_TREE_MAPPING) {
            *fault = (struct yaml_tree_mapping_fault){.at = item->value, .text = expected};
            return STATUS_OK;
        }
        enum status status = yaml_tree_mapping_merge_one(tree, mapping, item->value, index);
        if (status != STATUS_OK) {
            return status;
        }
    }
    return STATUS_OK;
}

/* Takes the first `<<` entry out of the list. */
static struct yaml_tree_item *yaml_tree_mapping_take_merge(struct yaml_tree_node *mapping)
{
    struct yaml_tree_item *before = NULL;
    for (struct yaml_tree_item *item = mapping->first; item != NULL; item = item->next) {
        if (!yaml_tree_mapping_is_merge(item)) {
            before = item;
            continue;
        }
        if (before == NULL) {
            mapping->first = item->next;
        } else {
            before->next = item->next;
        }
        if (mapping->last == item) {
            mapping->last = before;
        }
        mapping->count--;
        return item;
    }
    return NULL;
}

enum status yaml_tree_mapping_close(struct yaml_tree *tree, struct yaml_tree_node *mapping,
                                    struct yaml_tree_mapping_fault *fault)
{
    *fault = (struct yaml_tree_mapping_fault){.at = NULL};
    if (mapping->count <= YAML_TREE_MAPPING_SMALL) {
        yaml_tree_mapping_mark_small(mapping);
        bool merges = false;
        for (struct yaml_tree_item *item = mapping->first; item != NULL; item = item->next) {
            merges = merges || yaml_tree_mapping_is_merge(item);
        }
        if (!merges) {
            return STATUS_OK;
        }
    }
    struct name_index index;
    enum status status = name_index_init(&index, &tree->arena, mapping->count);
    if (status == STATUS_OK) {
        status = yaml_tree_mapping_mark(mapping, &index);
    }
    struct yaml_tree_item *merge =
        status == STATUS_OK ? yaml_tree_mapping_take_merge(mapping) : NULL;
    if (merge != NULL) {
        status = yaml_tree_mapping_merge(tree, mapping, merge->value, &index, fault);
    }
    while (merge != NULL && (merge = yaml_tree_mapping_take_merge(mapping)) != NULL) {
        *fault = (struct yaml_tree_mapping_fault){
            .at = merge->key, .text = "<< stands here twice; give it a list of mappings"};
    }
    return status;
}
