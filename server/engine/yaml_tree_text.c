#include "engine/yaml_tree_text.h"

#define YAML_TREE_TEXT_DIRECTIVES 64u

void yaml_tree_text_cursor_init(struct yaml_tree_text_cursor *cursor, struct slice text)
{
    *cursor = (struct yaml_tree_text_cursor){.text = text, .line = 1};
}

/* One character on. A line ends at LF, CR LF or a lone CR, as editors count. */
static void yaml_tree_text_step(struct yaml_tree_text_cursor *cursor)
{
    const uint8_t *data = cursor->text.data;
    size_t size = cursor->text.size;
    uint8_t byte = data[cursor->offset++];
    while (cursor->offset < size && (data[cursor->offset] & 0xc0) == 0x80) {
        cursor->offset++;
    }
    cursor->index++;
    bool pair = byte == '\r' && cursor->offset < size && data[cursor->offset] == '\n';
    if (byte == '\n' || (byte == '\r' && !pair)) {
        cursor->line++;
        cursor->line_start = cursor->offset;
    }
}

void yaml_tree_text_cursor_seek(struct yaml_tree_text_cursor *cursor, size_t index)
{
    if (index < cursor->index) {
        yaml_tree_text_cursor_init(cursor, cursor->text);
    }
    while (cursor->index < index && cursor->offset < cursor->text.size) {
        yaml_tree_text_step(cursor);
    }
}

void yaml_tree_text_cursor_seek_offset(struct yaml_tree_text_cursor *cursor, size_t offset)
{
    if (offset < cursor->offset) {
        yaml_tree_text_cursor_init(cursor, cursor->text);
    }
    while (cursor->offset < offset && cursor->offset < cursor->text.size) {
        yaml_tree_text_step(cursor);
    }
}

bool yaml_tree_text_tab_indent(const struct yaml_tree_text_cursor *cursor, uint32_t *tab_column)
{
    const uint8_t *line = cursor->text.data + cursor->line_start;
    size_t size = cursor->offset - cursor->line_start;
    bool found = false;
    for (size_t i = 0; i < size; i++) {
        if (line[i] != ' ' && line[i] != '\t') {
            return false;
        }
        if (line[i] == '\t' && !found) {
            found = true;
            *tab_column = (uint32_t)i + 1;
        }
    }
    return found;
}

/* Bytes of the character that starts at data[0], and which it is; 0: no valid UTF-8. */
static size_t yaml_tree_text_decode(const uint8_t *data, size_t size, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t lead = data[0];
    if (lead < 0x80) {
        *character = lead;
        return 1;
    }
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc0 || lead > 0xf4 || length > size) {
        return 0;
    }
    uint32_t value = lead & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((data[i] & 0xc0) != 0x80) {
            return 0;
        }
        value = value << 6 | (data[i] & 0x3fu);
    }
    *character = value;
    return value < least[length] || value > 0x10ffff ? 0 : length;
}

static bool yaml_tree_text_is_allowed(uint32_t character)
{
    if (character < 0x20) {
        return character == '\t' || character == '\n' || character == '\r';
    }
    if (character < 0xa0) {
        return character <= 0x7e || character == 0x85;
    }
    return character <= 0xd7ff || (character >= 0xe000 && character <= 0xfffd) ||
           character >= 0x10000;
}

size_t yaml_tree_text_readable(struct slice text)
{
    size_t at = 0;
    while (at < text.size) {
        uint32_t character = 0;
        size_t length = yaml_tree_text_decode(text.data + at, text.size - at, &character);
        if (length == 0 || !yaml_tree_text_is_allowed(character)) {
            return at;
        }
        at += length;
    }
    return at;
}

size_t yaml_tree_text_directives(struct slice text)
{
    static const char directive[] = "%TAG";
    uint32_t count = 0;
    size_t at = 0;
    while (at < text.size) {
        const uint8_t *found = memchr(text.data + at, '%', text.size - at);
        at = found == NULL ? text.size : (size_t)(found - text.data);
        bool starts_line = at == 0 || text.data[at - 1] == '\n' || text.data[at - 1] == '\r';
        if (starts_line && text.size - at >= sizeof(directive) - 1 &&
            memcmp(text.data + at, directive, sizeof(directive) - 1) == 0 &&
            ++count > YAML_TREE_TEXT_DIRECTIVES) {
            return at;
        }
        at++;
    }
    return text.size;
}
