/* A YAML document as a tree whose nodes know their line and column, read from libyaml's events.
 *
 * Bounded throughout: depth, what aliases add, memory. Scalars stay text, quoted or not, so that
 * `no` and `0123` are names. Merge keys are resolved and repeated keys marked here; what the text
 * means is the reader's business.
 *
 * A file that breaks off in a syntax error leaves the tree of what came before: its unfinished
 * collections say `cut`, so that nobody complains about what they lack. */
#ifndef ENGINE_YAML_TREE_H
#define ENGINE_YAML_TREE_H

#include "base/arena.h"
#include "base/limits.h"
#include "base/status.h"

enum yaml_tree_kind { YAML_TREE_SCALAR, YAML_TREE_SEQUENCE, YAML_TREE_MAPPING };

struct yaml_tree_item;

struct yaml_tree_node {
    struct slice text;            /* a scalar's */
    struct yaml_tree_item *first; /* a collection's, in file order */
    struct yaml_tree_item *last;
    uint32_t count;  /* items */
    uint32_t line;   /* from 1 */
    uint32_t column; /* from 1, in bytes */
    uint32_t weight; /* nodes in it, itself and what aliases repeat included */
    uint8_t kind;    /* enum yaml_tree_kind */
    uint8_t height;  /* collections nested in it, itself included */
    bool plain;      /* a scalar without quotes */
    bool open;       /* its end has not come yet */
    bool cut;        /* its end never came */
};

/* One entry of a mapping, or of a sequence (key NULL). */
struct yaml_tree_item {
    struct yaml_tree_node *key;
    struct yaml_tree_node *value;
    struct yaml_tree_item *next;
    uint32_t first_line; /* where the same key stood before in this mapping; 0: nowhere */
};

struct yaml_tree_fault {
    uint32_t line;
    uint32_t column;
    struct yaml_tree_fault *next;
    char text[LIMITS_MESSAGE_BYTES_MAX]; /* one sentence; no byte of the file unescaped */
};

struct yaml_tree {
    struct arena arena;
    struct yaml_tree_node *root; /* NULL: no document, or nothing of one */
    bool cut;                    /* reading stopped; the last fault says why */
    struct yaml_tree_fault *faults;
    struct yaml_tree_fault *last_fault;
};

void yaml_tree_init(struct yaml_tree *tree);
void yaml_tree_deinit(struct yaml_tree *tree);

/* Reads `text`. STATUS_OK also where there are faults; STATUS_NO_MEMORY. */
STATUS_CHECKED enum status yaml_tree_parse(struct yaml_tree *tree, struct slice text);

#endif
