#include "stats_print.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define VALUE_BYTES 40u /* a number as the daemon writes it */

/* One line of the format. Comments have a type, samples a value. */
struct line {
    struct slice name;
    struct slice labels; /* between the braces */
    struct slice value;  /* of a comment: its text after the name */
    bool is_type;
    bool is_sample;
};

static struct slice up_to(struct slice text, char byte)
{
    const uint8_t *end = text.size == 0 ? NULL : memchr(text.data, byte, text.size);
    return slice_make(text.data, end == NULL ? text.size : (size_t)(end - text.data));
}

static struct slice after(struct slice text, size_t size)
{
    size = size < text.size ? size : text.size;
    return slice_make(text.data + size, text.size - size);
}

/* Where the labels end: a quoted value may hold a brace. */
static size_t labels_size(struct slice text)
{
    bool quoted = false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\\') {
            i++;
        } else if (text.data[i] == '"') {
            quoted = !quoted;
        } else if (text.data[i] == '}' && !quoted) {
            return i;
        }
    }
    return text.size;
}

static void read_sample(struct slice text, struct line *line)
{
    size_t size = 0;
    while (size < text.size && text.data[size] != '{' && text.data[size] != ' ') {
        size++;
    }
    line->name = slice_make(text.data, size);
    text = after(text, size);
    if (text.size > 0 && text.data[0] == '{') {
        text = after(text, 1);
        line->labels = slice_make(text.data, labels_size(text));
        text = after(text, line->labels.size + 1);
    }
    line->value = after(text, 1);
    line->is_sample = line->name.size > 0 && line->value.size > 0;
}

/* Takes the next line off the front; false: there is none. */
static bool next_line(struct slice *text, struct slice *whole, struct line *line)
{
    static const char type[] = "# TYPE ";
    *line = (struct line){.is_sample = false};
    if (text->size == 0) {
        return false;
    }
    *whole = up_to(*text, '\n');
    *text = after(*text, whole->size + 1);
    if (whole->size > 0 && whole->data[0] != '#') {
        read_sample(*whole, line);
    } else if (whole->size > sizeof(type) && memcmp(whole->data, type, sizeof(type) - 1) == 0) {
        struct slice rest = after(*whole, sizeof(type) - 1);
        line->name = up_to(rest, ' ');
        line->value = after(rest, line->name.size + 1);
        line->is_type = true;
    }
    return true;
}

/* A label's value: backslash, quote and newline are escaped as in JSON, so undone first. */
static void print_label_value(struct buf *out, struct slice value)
{
    struct buf plain;
    buf_init(&plain, 0);
    for (size_t i = 0; i < value.size; i++) {
        uint8_t byte = value.data[i];
        if (byte == '\\' && i + 1 < value.size) {
            byte = value.data[++i];
            byte = byte == 'n' ? '\n' : byte;
        }
        buf_append_byte(&plain, byte);
    }
    text_append_json_string(out, buf_slice(&plain));
    out->failed = out->failed || plain.failed;
    buf_deinit(&plain);
}

/* limit="a",outcome="allowed" */
static void print_labels(struct buf *out, struct slice labels)
{
    const char *between = "{";
    while (labels.size > 0) {
        struct slice name = up_to(labels, '=');
        struct slice rest = after(labels, name.size + 2);
        size_t size = 0;
        while (size < rest.size && rest.data[size] != '"') {
            size += rest.data[size] == '\\' ? 2 : 1;
        }
        size = size < rest.size ? size : rest.size;
        buf_append_text(out, between);
        text_append_json_string(out, name);
        buf_append_byte(out, ':');
        print_label_value(out, slice_make(rest.data, size));
        labels = after(rest, size + 2);
        between = ",";
    }
    buf_append_text(out, *between == '{' ? "{}" : "}");
}

void stats_print_json(struct buf *out, struct slice text)
{
    const char *between = "[";
    struct slice type = slice_text("untyped");
    struct slice whole;
    struct line line;
    while (next_line(&text, &whole, &line)) {
        type = line.is_type ? line.value : type;
        if (!line.is_sample) {
            continue;
        }
        buf_append_text(out, between);
        buf_append_text(out, "{\"name\":");
        text_append_json_string(out, line.name);
        buf_append_text(out, ",\"type\":");
        text_append_json_string(out, type);
        buf_append_text(out, ",\"labels\":");
        print_labels(out, line.labels);
        buf_append_text(out, ",\"value\":");
        buf_append_slice(out, line.value);
        buf_append_byte(out, '}');
        between = ",";
    }
    buf_append_text(out, *between == '[' ? "[]\n" : "]\n");
}

/* Both texts are of one daemon, which adds series but never moves them: so the search goes on
 * where the one before ended, and only a series that is new costs a whole round. */
static bool find_before(struct slice all, struct slice *at, const struct line *wanted,
                        struct slice *value)
{
    struct slice rest = *at;
    struct slice whole;
    struct line line;
    for (int round = 0; round < 2; round++) {
        while (next_line(&rest, &whole, &line)) {
            if (line.is_sample && slice_equal(line.name, wanted->name) &&
                slice_equal(line.labels, wanted->labels)) {
                *at = rest;
                *value = line.value;
                return true;
            }
        }
        rest = all;
    }
    return false;
}

static double number(struct slice value)
{
    char text[VALUE_BYTES] = "";
    size_t size = value.size < VALUE_BYTES - 1 ? value.size : VALUE_BYTES - 1;
    memcpy(text, value.data, size);
    return strtod(text, NULL);
}

void stats_print_changes(struct buf *out, struct slice text, struct slice before)
{
    struct slice at = before;
    struct slice value;
    struct slice whole;
    struct line line;
    while (next_line(&text, &whole, &line)) {
        if (!line.is_sample) {
            continue;
        }
        buf_append_slice(out, whole);
        if (find_before(before, &at, &line, &value) && !slice_equal(value, line.value)) {
            buf_printf(out, "  %+.12g", number(line.value) - number(value));
        }
        buf_append_byte(out, '\n');
    }
}
