/* libyaml's events -> nodes. The event interface is used, not libyaml's own document loader,
 * because the scanner's work grows with the square of the nesting: reading stops at the first
 * collection that is too deep, before the scanner has looked much further. */
#include "engine/yaml_tree.h"

#include "base/text.h"
#include "engine/name_index.h"
#include "engine/yaml_tree_mapping.h"
#include "engine/yaml_tree_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#define YAML_TREE_CHUNK_BYTES ((size_t)256 * 1024)
/* A node and its place in a list are some ten times what the shortest scalar takes in a file. */
#define YAML_TREE_CEILING_BYTES ((size_t)16 * LIMITS_FILE_BYTES_MAX)

struct yaml_tree_builder {
    struct yaml_tree *tree;
    struct yaml_tree_text_cursor cursor;
    struct slice text; /* as far as it is readable */
    const char *unreadable; /* what is wrong with what follows; NULL: nothing does */
    struct yaml_tree_node *stack[LIMITS_FILE_DEPTH_MAX];
    struct yaml_tree_node *keys[LIMITS_FILE_DEPTH_MAX]; /* of a mapping, waiting for its value */
    uint32_t depth;
    struct name_index anchors;
    struct yaml_tree_node **anchored;
    uint32_t anchored_count;
    uint32_t anchored_capacity;
    uint64_t alias_nodes;
    uint32_t tab_line; /* the last line whose indent was looked at */
    uint32_t documents;
    bool done;
    enum status status;
};

void yaml_tree_init(struct yaml_tree *tree)
{
    *tree = (struct yaml_tree){.root = NULL};
    arena_init(&tree->arena, YAML_TREE_CHUNK_BYTES, YAML_TREE_CEILING_BYTES);
}

void yaml_tree_deinit(struct yaml_tree *tree)
{
    arena_deinit(&tree->arena);
    *tree = (struct yaml_tree){.root = NULL};
}

static void yaml_tree_no_memory(struct yaml_tree_builder *builder)
{
    builder->status = STATUS_NO_MEMORY;
    builder->done = true;
}

static void yaml_tree_fault(struct yaml_tree_builder *builder, uint32_t line, uint32_t column,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));

static void yaml_tree_fault(struct yaml_tree_builder *builder, uint32_t line, uint32_t column,
                            const char *format, ...)
{
    struct yaml_tree *tree = builder->tree;
    struct yaml_tree_fault *fault = arena_alloc(&tree->arena, sizeof(*fault));
    if (fault == NULL) {
        yaml_tree_no_memory(builder);
        return;
    }
    *fault = (struct yaml_tree_fault){.line = line, .column = column};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(fault->text, sizeof(fault->text), format, args);
    va_end(args);
    if (tree->last_fault == NULL) {
        tree->faults = fault;
    } else {
        tree->last_fault->next = fault;
    }
    tree->last_fault = fault;
}

/* Moves to a mark of libyaml. */
static void yaml_tree_seek(struct yaml_tree_builder *builder, size_t index)
{
    yaml_tree_text_cursor_seek(&builder->cursor, index);
}

/* A fault at the cursor after which nothing more is read. */
static void yaml_tree_stop(struct yaml_tree_builder *builder, const char *text)
{
    yaml_tree_fault(builder, builder->cursor.line, yaml_tree_text_column(&builder->cursor), "%s",
                    text);
    builder->tree->cut = true;
    builder->done = true;
}

static uint32_t yaml_tree_add_weight(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static struct yaml_tree_node *yaml_tree_make(struct yaml_tree_builder *builder,
                                             enum yaml_tree_kind kind, size_t index)
{
    struct yaml_tree_node *node = arena_zalloc(&builder->tree->arena, sizeof(*node));
    if (node == NULL) {
        yaml_tree_no_memory(builder);
        return NULL;
    }
    yaml_tree_seek(builder, index);
    node->kind = (uint8_t)kind;
    node->line = builder->cursor.line;
    node->column = yaml_tree_text_column(&builder->cursor);
    node->weight = 1;
    uint32_t tab_column = 0;
    if (node->line != builder->tab_line) {
        builder->tab_line = node->line;
        if (yaml_tree_text_tab_indent(&builder->cursor, &tab_column)) {
            yaml_tree_fault(builder, node->line, tab_column,
                            "a tab cannot indent; use spaces");
        }
    }
    return node;
}

/* Hangs a node where it belongs: the root, a sequence's next, a mapping's key or value. */
static void yaml_tree_attach(struct yaml_tree_builder *builder, struct yaml_tree_node *node)
{
    if (builder->depth == 0) {
        builder->tree->root = node;
        return;
    }
    uint32_t top = builder->depth - 1;
    struct yaml_tree_node *parent = builder->stack[top];
    if (parent->kind == YAML_TREE_MAPPING && builder->keys[top] == NULL) {
        builder->keys[top] = node;
        return;
    }
    struct yaml_tree_item *item = arena_alloc(&builder->tree->arena, sizeof(*item));
    if (item == NULL) {
        yaml_tree_no_memory(builder);
        return;
    }
    *item = (struct yaml_tree_item){.key = builder->keys[top], .value = node};
    builder->keys[top] = NULL;
    if (parent->last == NULL) {
        parent->first = item;
    } else {
        parent->last->next = item;
    }
    parent->last = item;
    parent->count++;
}

/* A finished node counts in what it stands in. */
static void yaml_tree_account(struct yaml_tree_builder *builder, const struct yaml_tree_node *node)
{
    if (builder->depth == 0) {
        return;
    }
    struct yaml_tree_node *parent = builder->stack[builder->depth - 1];
    parent->weight = yaml_tree_add_weight(parent->weight, node->weight);
    if (parent->height < node->height + 1) {
        parent->height = (uint8_t)(node->height + 1);
    }
}

static void yaml_tree_anchor(struct yaml_tree_builder *builder, const yaml_char_t *anchor,
                             struct yaml_tree_node *node)
{
    if (anchor == NULL) {
        return;
    }
    if (builder->anchored_count == builder->anchored_capacity) {
        uint32_t capacity = builder->anchored_capacity == 0 ? 64 : builder->anchored_capacity * 2;
        struct yaml_tree_node **grown =
            realloc(builder->anchored, sizeof(struct yaml_tree_node *) * capacity);
        if (grown == NULL) {
            yaml_tree_no_memory(builder);
            return;
        }
        builder->anchored = grown;
        builder->anchored_capacity = capacity;
    }
    struct arena *arena = &builder->tree->arena;
    struct slice written = slice_text((const char *)anchor);
    const char *name = arena_copy(arena, written);
    uint32_t existing = NAME_INDEX_NONE;
    if (name == NULL || name_index_add(&builder->anchors, 0, slice_make(name, written.size),
                                       builder->anchored_count, &existing) != STATUS_OK) {
        yaml_tree_no_memory(builder);
        return;
    }
    if (existing != NAME_INDEX_NONE) {
        builder->anchored[existing] = node; /* an anchor defined again means the later node */
        return;
    }
    builder->anchored[builder->anchored_count++] = node;
}

/* Tags of YAML's own types change nothing here; others would change what a value means. */
static void yaml_tree_check_tag(struct yaml_tree_builder *builder, const yaml_char_t *tag,
                                const struct yaml_tree_node *node)
{
    static const char own[] = "tag:yaml.org,2002:";
    if (tag == NULL || strcmp((const char *)tag, "!") == 0 ||
        strncmp((const char *)tag, own, sizeof(own) - 1) == 0) {
        return;
    }
    struct buf shown;
    buf_init(&shown, 0);
    text_append_escaped(&shown, slice_text((const char *)tag), 64);
    yaml_tree_fault(builder, node->line, node->column,
                    "the tag \"%.*s\" has no meaning in a limits file", (int)shown.size,
                    shown.data == NULL ? "" : (const char *)shown.data);
    buf_deinit(&shown);
}

static void yaml_tree_on_scalar(struct yaml_tree_builder *builder, const yaml_event_t *event)
{
    struct yaml_tree_node *node =
        yaml_tree_make(builder, YAML_TREE_SCALAR, event->start_mark.index);
    if (node == NULL) {
        return;
    }
    struct slice text = slice_make(event->data.scalar.value, event->data.scalar.length);
    const char *copy = arena_copy(&builder->tree->arena, text);
    if (copy == NULL) {
        yaml_tree_no_memory(builder);
        return;
    }
    node->text = slice_make(copy, text.size);
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    yaml_tree_check_tag(builder, event->data.scalar.tag, node);
    yaml_tree_attach(builder, node);
    yaml_tree_account(builder, node);
    yaml_tree_anchor(builder, event->data.scalar.anchor, node);
}

static void yaml_tree_on_start(struct yaml_tree_builder *builder, enum yaml_tree_kind kind,
                               size_t index, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (builder->depth == LIMITS_FILE_DEPTH_MAX) {
        yaml_tree_seek(builder, index);
        yaml_tree_stop(builder, "lists and mappings are nested more than 16 deep");
        return;
    }
    struct yaml_tree_node *node = yaml_tree_make(builder, kind, index);
    if (node == NULL) {
        return;
    }
    node->open = true;
    node->height = 1;
    yaml_tree_check_tag(builder, tag, node);
    yaml_tree_attach(builder, node);
    yaml_tree_anchor(builder, anchor, node);
    builder->keys[builder->depth] = NULL;
    builder->stack[builder->depth++] = node;
}

static void yaml_tree_finish(struct yaml_tree_builder *builder)
{
    struct yaml_tree_node *node = builder->stack[--builder->depth];
    node->open = false;
    struct yaml_tree_mapping_fault fault = {.at = NULL};
    if (node->kind == YAML_TREE_MAPPING &&
        yaml_tree_mapping_close(builder->tree, node, &fault) != STATUS_OK) {
        yaml_tree_no_memory(builder);
        return;
    }
    if (fault.at != NULL) {
        yaml_tree_fault(builder, fault.at->line, fault.at->column, "%s", fault.text);
    }
    yaml_tree_account(builder, node);
}

static void yaml_tree_on_alias(struct yaml_tree_builder *builder, const yaml_event_t *event)
{
    yaml_tree_seek(builder, event->start_mark.index);
    struct slice name = slice_text((const char *)event->data.alias.anchor);
    uint32_t at = name_index_find(&builder->anchors, 0, name);
    if (at == NAME_INDEX_NONE) {
        yaml_tree_stop(builder,
                       "no anchor of this name was set before; "
                       "text that begins with * needs quotes");
        return;
    }
    struct yaml_tree_node *node = builder->anchored[at];
    if (node->open) {
        yaml_tree_stop(builder, "an alias stands inside what it repeats");
        return;
    }
    builder->alias_nodes += node->weight;
    if (builder->alias_nodes > LIMITS_FILE_ALIAS_NODES_MAX) {
        yaml_tree_stop(builder, "anchors and aliases add more than 100000 values");
        return;
    }
    if (builder->depth + node->height > LIMITS_FILE_DEPTH_MAX) {
        yaml_tree_stop(builder, "lists and mappings are nested more than 16 deep by this alias");
        return;
    }
    yaml_tree_attach(builder, node);
    yaml_tree_account(builder, node);
}

static void yaml_tree_on_document(struct yaml_tree_builder *builder, const yaml_event_t *event)
{
    if (builder->documents++ > 0) {
        yaml_tree_seek(builder, event->start_mark.index);
        yaml_tree_stop(builder, "a second YAML document begins here; a limits file is one");
    }
}

/* What ends only because the readable text does has not ended at all. */
static bool yaml_tree_ends_unread(struct yaml_tree_builder *builder, const yaml_event_t *event)
{
    bool ends = event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT;
    if (!ends || builder->unreadable == NULL) {
        return false;
    }
    yaml_tree_seek(builder, event->start_mark.index);
    return builder->cursor.offset >= builder->text.size;
}

static void yaml_tree_on_event(struct yaml_tree_builder *builder, const yaml_event_t *event)
{
    if (yaml_tree_ends_unread(builder, event)) {
        builder->done = true;
        return;
    }
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        yaml_tree_on_scalar(builder, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        yaml_tree_on_start(builder, YAML_TREE_SEQUENCE, event->start_mark.index,
                           event->data.sequence_start.anchor, event->data.sequence_start.tag);
        break;
    case YAML_MAPPING_START_EVENT:
        yaml_tree_on_start(builder, YAML_TREE_MAPPING, event->start_mark.index,
                           event->data.mapping_start.anchor, event->data.mapping_start.tag);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        yaml_tree_finish(builder);
        break;
    case YAML_ALIAS_EVENT:
        yaml_tree_on_alias(builder, event);
        break;
    case YAML_DOCUMENT_START_EVENT:
        yaml_tree_on_document(builder, event);
        break;
    case YAML_STREAM_END_EVENT:
        builder->done = true;
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
}

/* libyaml gave up. Where it did so only because the text ends in something unreadable, that is
 * what gets said. */
static void yaml_tree_on_error(struct yaml_tree_builder *builder, const yaml_parser_t *parser)
{
    /* Some of libyaml's paths that find no memory forget to say so; all others name a problem. */
    if (parser->error == YAML_MEMORY_ERROR || parser->problem == NULL) {
        yaml_tree_no_memory(builder);
        return;
    }
    yaml_tree_seek(builder, parser->problem_mark.index);
    size_t offset = builder->cursor.offset;
    if (builder->unreadable != NULL && offset >= builder->text.size) {
        return;
    }
    char text[LIMITS_MESSAGE_BYTES_MAX];
    if (parser->context != NULL && strcmp(parser->context, "while scanning an alias") == 0) {
        yaml_tree_seek(builder, parser->context_mark.index);
        (void)snprintf(text, sizeof(text), "text that begins with * needs quotes");
    } else if (offset < builder->text.size && builder->text.data[offset] == '\t') {
        (void)snprintf(text, sizeof(text), "a tab cannot stand here; indent with spaces");
    } else {
        (void)snprintf(text, sizeof(text), "not valid YAML: %s%s%s", parser->problem,
                       parser->context == NULL ? "" : " ",
                       parser->context == NULL ? "" : parser->context);
    }
    yaml_tree_stop(builder, text);
}

/* The last item of a sequence or mapping that broke off may be half of what was meant: a scalar
 * on the line where reading stopped is not looked at, nor one that had not begun. */
static void yaml_tree_drop_half(struct yaml_tree_node *node, uint32_t line)
{
    struct yaml_tree_item *last = node->last;
    if (last == NULL || last->value->kind != YAML_TREE_SCALAR ||
        (last->value->line != line && last->value->text.size > 0)) {
        return;
    }
    struct yaml_tree_item *before = NULL;
    for (struct yaml_tree_item *item = node->first; item != last; item = item->next) {
        before = item;
    }
    if (before == NULL) {
        node->first = NULL;
    } else {
        before->next = NULL;
    }
    node->last = before;
    node->count--;
}

/* Collections whose end never came are closed as they stand. */
static void yaml_tree_cut(struct yaml_tree_builder *builder)
{
    if (builder->depth > 0 && builder->keys[builder->depth - 1] == NULL) {
        yaml_tree_drop_half(builder->stack[builder->depth - 1], builder->cursor.line);
    }
    while (builder->depth > 0 && builder->status == STATUS_OK) {
        builder->stack[builder->depth - 1]->cut = true;
        yaml_tree_finish(builder);
    }
}

static void yaml_tree_run(struct yaml_tree_builder *builder, yaml_parser_t *parser)
{
    while (!builder->done) {
        yaml_event_t event;
        if (yaml_parser_parse(parser, &event) == 0) {
            yaml_tree_on_error(builder, parser);
            builder->done = true;
            break;
        }
        yaml_tree_on_event(builder, &event);
        yaml_event_delete(&event);
    }
    if (builder->status == STATUS_OK && builder->unreadable != NULL && !builder->tree->cut) {
        yaml_tree_text_cursor_seek_offset(&builder->cursor, builder->text.size);
        yaml_tree_stop(builder, builder->unreadable);
    }
    /* A fault that stopped reading is the last one: those about unfinished ends would follow it. */
    struct yaml_tree_fault *last = builder->tree->last_fault;
    if (builder->tree->cut) {
        yaml_tree_cut(builder);
        last->next = NULL;
        builder->tree->last_fault = last;
    }
}

/* As much of the text as libyaml is shown; *why is what follows it, or NULL. */
static struct slice yaml_tree_readable(struct slice text, const char **why)
{
    size_t size = yaml_tree_text_readable(text);
    size_t directives = yaml_tree_text_directives(slice_make(text.data, size));
    *why = NULL;
    if (directives < size) {
        size = directives;
        *why = "more %TAG directives than a limits file may have";
    } else if (size < text.size) {
        *why = text.data[size] < 0x80 ? "a control character cannot stand in a limits file"
                                      : "not UTF-8 text";
    }
    return slice_make(text.data, size);
}

enum status yaml_tree_parse(struct yaml_tree *tree, struct slice text)
{
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};
    if (text.size >= sizeof(mark) && memcmp(text.data, mark, sizeof(mark)) == 0) {
        text = slice_make(text.data + sizeof(mark), text.size - sizeof(mark));
    }
    if (text.data == NULL) {
        text = slice_text("");
    }
    struct yaml_tree_builder builder = {.tree = tree};
    builder.text = yaml_tree_readable(text, &builder.unreadable);
    yaml_tree_text_cursor_init(&builder.cursor, text);
    yaml_parser_t parser;
    enum status status = name_index_init(&builder.anchors, &tree->arena, 0);
    if (status != STATUS_OK || yaml_parser_initialize(&parser) == 0) {
        return STATUS_NO_MEMORY;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, builder.text.data, builder.text.size);
    yaml_tree_run(&builder, &parser);
    yaml_parser_delete(&parser);
    free(builder.anchored);
    return builder.status;
}
