/* The bytes under a YAML document: how far they are text at all, and which line and byte column
 * a character index of libyaml stands for. */
#ifndef ENGINE_YAML_TREE_TEXT_H
#define ENGINE_YAML_TREE_TEXT_H

#include "base/slice.h"

/* A place that is moved forward with the reading, so that all places together cost one pass. */
struct yaml_tree_text_cursor {
    struct slice text;
    size_t index;      /* characters before it */
    size_t offset;     /* bytes before it */
    size_t line_start; /* offset of its line's first byte */
    uint32_t line;     /* from 1 */
};

void yaml_tree_text_cursor_init(struct yaml_tree_text_cursor *cursor, struct slice text);
void yaml_tree_text_cursor_seek(struct yaml_tree_text_cursor *cursor, size_t index);
void yaml_tree_text_cursor_seek_offset(struct yaml_tree_text_cursor *cursor, size_t offset);

static inline uint32_t yaml_tree_text_column(const struct yaml_tree_text_cursor *cursor)
{
    return (uint32_t)(cursor->offset - cursor->line_start) + 1;
}

/* Does only blank space with a tab in it stand before the cursor on its line? *tab_column is
 * where the tab is. */
bool yaml_tree_text_tab_indent(const struct yaml_tree_text_cursor *cursor, uint32_t *tab_column);

/* How many bytes from the start are valid UTF-8 and characters that YAML allows. */
size_t yaml_tree_text_readable(struct slice text);

/* Where the %TAG directives begin that are more than a limits file could need, or text.size.
 * libyaml compares each of them with all before it. */
size_t yaml_tree_text_directives(struct slice text);

#endif
